! disk tsd.rollups.enable=true tsd.http.query.allow_delete=true tsd.rollups.config={"aggregationIds":{"sum":0,"count":1,"max":2,"dev":3},"intervals":[{"table":"a","preAggregationTable":"b","interval":"1m","rowSpan":"1h","defaultInterval":true},{"table":"c","preAggregationTable":"d","interval":"1h","rowSpan":"1d"},{"table":"e","preAggregationTable":"f","interval":"10m","rowSpan":"6h"}]}
# A rollup is at the start of its interval; the last write wins.
> rollup 1h-sum r.m 1356998417 1 host=a
> rollup 1h-sum r.m 1356998400 100 host=a
> rollup 1h-count r.m 1356998400 8 host=a
> rollup 1h-sum r.m 1357002000 50.5 host=a
> rollup 1h-COUNT r.m 1357002000 4 host=a
> rollup 10m-sum r.ten 1356998400 7 host=a
> rollup 10m-sum r.ten 1356999000 8 host=a
> put r.m 1356998400 3 host=a
> put r.ten 1356998400 1 host=a
> put r.raw 1356998400 5 host=a
> put r.raw 1357000200 6 host=a
> rollup 1h-max:max r.m 1356998400 9 dc=x
> rollup max r.m 1356998430 9 dc=x
# What is rejected, and how.
> rollup 2h-sum r.m 1356998400 1 host=a
< rollup: No such rollup: No rollups configured for the interval: 2h
POST /api/rollup?summary {"metric":"r.two","timestamp":1356998400,"value":1,"tags":{"host":"a"},"interval":"1h","aggregator":"sum"}\n{"metric":"r.two","timestamp":1357002000,"value":2,"tags":{"host":"a"},"interval":"1h","aggregator":"sum"}
= 200
| {"success":2,"failed":0}
> rollup 1h-min r.m 1356998400 1 host=a
< rollup: illegal argument: No ID found mapping to aggregator: min
> rollup 1h-sum:avg r.m 1356998400 1 host=a
< rollup: illegal argument: Derived group by aggregations are not allowed avg with metric r.m {_aggregate=AVG, host=a}
> rollup 1h-dev r.m 1356998400 1 host=a
< rollup: illegal argument: Derived rollup aggregations are not allowed DEV with metric r.m {host=a}
> rollup 1h-sum:nosuch r.m 1356998400 1 host=a
< rollup: illegal argument: Invalid group by aggregator nosuch with metric r.m {_aggregate=NOSUCH, host=a}
> rollup 1h-sum:max r.m 1356998400 1 _aggregate=SUM
< rollup: illegal argument: Given tag value for _aggregate of SUM did not match the group by aggregator of max for r.m {_aggregate=SUM}
> rollup 1h-sum r.m 1356998400000 1 host=a
< rollup: illegal argument: bad timestamp=1356998400000 when trying to add value=[1]/0 to metric=r.m, tags={host=a}
> rollup 1h-sum r.m 1356998400 1 host
< rollup: illegal argument: invalid tag: host
> rollup 1h-sum::max r.m 1356998400 1.5 host=a
< rollup: illegal argument: Cannot write a group by data point without specifying the aggregation function. Metric=r.m tags={host=a}
> rollup max::max r.m 1356998400 1.5 host=a
<~ rollup: illegal argument: Cannot write a group by data point
> rollup -h-sum r.m 1356998400 1 host=a
< rollup: HBase error: Interval cannot be null for a non-group by point
> rollup - r.m 1356998400 1 host=a
< rollup: HBase error: Interval cannot be null for a non-group by point
> rollup -avg r.m 1356998400 1 host=a
< rollup: illegal argument: Derived rollup aggregations are not allowed AVG with metric r.m {host=a}
# Colons at the end do not count.
> rollup 1h-sum:: r.colons 1356998400 1 host=a
> rollup : r.m 1356998400 1 host=a
< rollup: illegal argument: Missing interval or aggregator
POST /api/rollup?details {"metric":"r.m","timestamp":1356998400,"value":1,"tags":{"host":"a"},"interval":"2h","aggregator":"sum"}
= 400
| {"success":0,"failed":1,"errors":[{"datapoint":{"metric":"r.m","timestamp":1356998400,"value":"1","tags":{"host":"a"},"interval":"2h","aggregator":"sum"},"error":"Unexpected exception"}]}
POST /api/rollup [{"metric":"r.j","timestamp":1356998400,"value":1,"tags":{"host":"a"},"interval":"1h","aggregator":"sum"},{"metric":"r.j","timestamp":1356998400,"value":"2","tags":{"host":"a"},"groupByAggregator":"sum"}]
= 204
# None of it shows where names and series are listed.
GET /api/search/lookup?m=r.m
= 200
~ "totalResults":1}
GET /api/suggest?type=tagk
| ["_aggregate","dc","host"]
GET /api/query/last?timeseries=r.m
~ "value":"3"
GET /api/query?start=1356998300&end=1357009200&m=none:r.m
| [{"metric":"r.m","tags":{"host":"a"},"aggregateTags":[],"dps":{"1356998400":3}}]
# The same before and after the end of the daemon.
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-sum:r.m
~ "dps":{"1356998400":100.0,"1357002000":50.5}
kill
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-sum:r.m
~ "dps":{"1356998400":100.0,"1357002000":50.5}
restart
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-sum:r.m&show_query
~ "rollupTable":"1h"
~ "dps":{"1356998400":100.0,"1357002000":50.5}
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-avg:r.m
~ "dps":{"1356998400":12.5,"1357002000":12.625}
GET /api/query?start=1356998400&end=1357009200&m=sum:2h-avg:r.m
~ "dps":{"1356998400":12.541666666666666}
GET /api/query?start=1356998400&end=1357009200&m=sum:2h-count:r.m%7Bhost=*%7D
~ "dps":{"1356998400":12.0}
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-sum-zero:r.m
~ "dps":{"1356998400":100.0,"1357002000":50.5,"1357005600":0.0,"1357009200":0.0}
GET /api/query?start=1356998400&end=1357009200&tsuid=sum:1h-sum:000001000001000001
~ "dps":{"1356998400":100.0,"1357002000":50.5}
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-sum:rollup_raw:r.m&show_query
~ "rollupTable":"raw"
~ "dps":{"1356998400":3.0}
# Nothing there: the next best, or points, at the interval that was tried last.
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-sum:r.ten
| []
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-sum:rollup_fallback:r.ten&show_query
~ "rollupTable":"10m"
~ "dps":{"1356998400":15.0}
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-sum:rollup_fallback_raw:r.ten
~ "dps":{"1356998400":1.0}
GET /api/query?start=1356998400&end=1357009200&m=sum:2h-sum:rollup_fallback_raw:r.raw&show_query
~ "rollupTable":"raw"
~ "dps":{"1356998400":11.0}
GET /api/query?start=1356998400&end=1357009200&m=sum:2h-sum:rollup_fallback:r.raw
~ "dps":{"1356998400":5.0,"1357000200":6.0}
# A dry run reads no row: which rollups would be read, and a coarser one that reads less.
GET /api/query?start=1356998400&end=1357084800&m=sum:1h-avg:r.m&explain
= 200
~ "rollupTable":"1h","way":"hints",
~ "reads":"points","series":1,"seriesOfMetric":4,
GET /api/query?start=1356998400&end=1357084800&m=sum:5m-sum:r.ten&explain
~ "rollupTable":"raw",
~ "cheaper":{"downsample":"10m-sum","rollupTable":"10m",
GET /api/query?start=1356998400&end=1357084800&m=sum:1h-sum:rollup_fallback:r.ten&explain
~ "rollupTable":"10m",
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-min:r.m&explain
= 400
~ "message":"No ID found mapping to aggregator: min"
# Pre-aggregates.
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-max:pre-agg:r.m
~ "tags":{"_aggregate":"MAX","dc":"x"},"aggregateTags":[],"dps":{"1356998400":9.0}
GET /api/query?start=1356998400&end=1357009200&m=sum:pre-agg:r.m
~ "dps":{"1356998430":9}
GET /api/query?start=1356998400&end=1357009200&m=sum:r.m%7B_aggregate=MAX%7D
~ "dps":{"1356998430":9}
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-min:r.m
= 400
~ "message":"No ID found mapping to aggregator: min"
GET /api/query?start=1356998400&end=1357009200&m=sum:500ms-sum:r.m
= 400
~ "message":"Interval cannot be null or empty"
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-min:nosuch
= 400
~ "message":"No such name for 'metrics': 'nosuch'"
# Annotations lie among points, and are shown beside these alone.
POST /api/annotation {"tsuid":"000001000001000001","startTime":1356998410,"description":"deploy"}
= 200
GET /api/query?start=1356998400&end=1357009200&m=sum:r.m
~ "description":"deploy"
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-sum:r.m
~ "dps":{"1356998400":100.0
!~ annotations
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-avg:rollup_fallback:r.m{host=*}
!~ annotations
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-sum:rollup_fallback_raw:r.m
~ "dps":{"1356998400":100.0
!~ annotations
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-sum:rollup_raw:r.m
~ "description":"deploy"
POST /api/annotation {"tsuid":"000002000001000001","startTime":1356998410,"description":"ten"}
= 200
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-sum:rollup_fallback_raw:r.ten
~ "description":"ten"
GET /api/query/gexp?start=1356998400&end=1357009200&exp=scale(sum:1h-sum:r.m,2)
!~ deploy
# What was read is deleted, exactly; points and annotations stay.
DELETE /api/query?start=1356998401&end=1357002000&m=sum:1h-avg:r.m
= 200
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-sum:r.m
~ "dps":{"1356998400":100.0}
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-count:r.m
~ "dps":{"1356998400":8.0}
GET /api/query?start=1356998400&end=1357009200&m=sum:r.m
~ "description":"deploy"
~ "dps":{"1356998400":3}
# A metric keeps its rollups under another name.
POST /api/uid/rename {"metric":"r.m","name":"r.n"}
= 200
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-sum:r.n
~ "dps":{"1356998400":100.0}

# Counts that no 64 bits hold are Java's longs: the largest one, and their sums wrap.
> rollup 1h-sum r.huge 1356998400 4611686018427387904 host=a
> rollup 1h-count r.huge 1356998400 1e300 host=a
> rollup 1h-sum r.huge 1357002000 4611686018427387904 host=a
> rollup 1h-count r.huge 1357002000 9223372036854775807 host=a
> version
<~ built at revision
<~ Built on
GET /api/query?start=1356998400&end=1357005599&m=sum:1h-avg:r.huge
= 200
~ "dps":{"1356998400":0.5,"1357002000":0.5}
GET /api/query?start=1356998400&end=1357005599&m=sum:2h-avg:r.huge
= 200
~ "dps":{"1356998400":-4.611686018427388E18}
