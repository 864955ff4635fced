! disk tsd.rollups.enable=true tsd.rollups.config={"aggregationIds":{"zimsum":0,"mimmin":1,"mimmax":2,"count":3},"intervals":[{"table":"a","preAggregationTable":"b","interval":"1m","rowSpan":"1h","defaultInterval":true},{"table":"c","preAggregationTable":"d","interval":"1h","rowSpan":"1d"}]}
# What is acknowledged can be read: rollups of zimsum, mimmin and mimmax are those of sum,
# min and max, by each of their names.
> rollup 1h-zimsum z.m 1356998400 12 host=a
> rollup 1h-mimmin z.m 1356998400 1 host=a
> rollup 1h-mimmax z.m 1356998400 9 host=a
> rollup 1h-count z.m 1356998400 3 host=a
> rollup 1h-ZIMSUM z.m 1357002000 20 host=a
> rollup 1h-zimsum:sum z.m 1356998400 7 dc=x
# The aggregator must be configured, though it would be stored as one that is.
> rollup 1h-sum z.m 1356998400 5 host=a
< rollup: illegal argument: No ID found mapping to aggregator: sum
# The default interval stands for the points themselves.
> rollup 1m-zimsum z.m 1356998400 5 host=a
< rollup: illegal argument: The interval 1m is the default interval: its values are the points themselves, and are stored by /api/put
> rollup 1m-zimsum:sum z.m 1356998400 5 host=a
<~ rollup: illegal argument: The interval 1m is the default interval
POST /api/rollup?details {"metric":"z.m","timestamp":1356998400,"value":1,"tags":{"host":"a"},"interval":"1m","aggregator":"count"}
= 400
~ "error":"The interval 1m is the default interval: its values are the points themselves, and are stored by /api/put"
POST /api/rollup?summary {"metric":"z.j","timestamp":1356998400,"value":33,"tags":{"host":"a"},"interval":"1h","aggregator":"mimmax"}
= 200
~ "success":1
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-zimsum:z.m
= 200
~ "dps":{"1356998400":12.0,"1357002000":20.0}
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-sum:z.m
= 200
~ "dps":{"1356998400":12.0,"1357002000":20.0}
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-mimmin:z.m
= 200
~ "dps":{"1356998400":1.0}
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-max:z.m
= 200
~ "dps":{"1356998400":9.0}
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-avg:z.m
= 200
~ "1356998400":4.0
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-sum:pre-agg:z.m
= 200
~ "dps":{"1356998400":7.0}
GET /api/query?start=1356998400&end=1357009200&m=max:1h-max:z.j
= 200
~ "dps":{"1356998400":33.0}
