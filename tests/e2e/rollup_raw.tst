! tsd.rollups.enable=true tsd.rollups.tag_raw=true tsd.rollups.block_derived=false tsd.rollups.agg_tag_key=agg tsd.rollups.config={"aggregationIds":{"sum":0,"avg":1,"dev":2},"intervals":[{"table":"a","preAggregationTable":"b","interval":"1m","rowSpan":"1h","defaultInterval":true},{"table":"c","preAggregationTable":"d","interval":"1d","rowSpan":"1y"}]}
# Rollups of single series are tagged as such; a filter on that tag for anything
# else asks for pre-aggregates.
> rollup 1d-sum w.m 1356998400 1 host=a
> rollup 1d-sum w.m 1357084799 2 host=a
> rollup 1d-sum:sum w.m 1356998400 3 host=a
> rollup 1d-sum w.m 1356998400 1 agg=SUM
< rollup: illegal argument: Given tag value for agg of SUM did not match the group by aggregator of null for w.m {agg=SUM}
> rollup 1d-dev:dev w.m 1356998400 4 host=a
> rollup 1d-avg:avg w.m 1356998400 4 host=a
< rollup: illegal argument: Rollups of avg are not read: an average is computed from the rollups of sum and count
> version
<~ halite
<~ uilt
GET /api/query?start=1356998400&end=1357099200&m=sum:1d-sum:w.m
| [{"metric":"w.m","tags":{"agg":"RAW","host":"a"},"aggregateTags":[],"dps":{"1356998400":2.0}}]
GET /api/query?start=1356998400&end=1357099200&m=sum:1d-sum:w.m%7Bagg=RAW%7D
~ "dps":{"1356998400":2.0}
GET /api/query?start=1356998400&end=1357099200&m=sum:1d-sum:w.m%7Bagg=SUM%7D
~ "dps":{"1356998400":3.0}
# An average needs counts; there are none.
GET /api/query?start=1356998400&end=1357099200&m=sum:1d-avg:w.m
= 400
~ "message":"No ID found mapping to aggregator: count"
