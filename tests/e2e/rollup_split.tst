! disk tsd.query.limits.data_points.default=12 tsd.rollups.enable=true tsd.rollups.split_query.enable=true tsd.http.query.allow_delete=true tsd.rollups.config={"aggregationIds":{"sum":0,"count":1},"intervals":[{"table":"a","preAggregationTable":"b","interval":"1m","rowSpan":"1h","defaultInterval":true},{"table":"c","preAggregationTable":"d","interval":"1h","rowSpan":"1d","delaySla":"1s"},{"table":"e","preAggregationTable":"f","interval":"1d","rowSpan":"1n","delaySla":"60y"},{"table":"g","preAggregationTable":"h","interval":"10m","rowSpan":"6h"}]}
# Rollups lie long before now, points long after; of each, one on the wrong side.
> rollup 1h-sum s.m 1356998400 100 host=a
> rollup 1h-sum s.m 1356998400 10 host=b
> rollup 1h-count s.m 1356998400 10 host=a
> rollup 1h-count s.m 1356998400 10 host=b
> rollup 1h-sum s.m 4000003200 999 host=a
> rollup 1d-sum s.m 1356998400 77 host=a
> rollup 10m-sum s.m 1356998400 5 host=a
> put s.m 1356998400 1 host=a
> put s.m 4000003201 2 host=a
> put s.m 4000003202 3 host=a
> put s.m 4000003202 40 host=c
> put s.only 4000003202 7 host=a
> rollup 1h-sum s.sums 1356998400 9 host=a
> rollup 2h-sum s.m 1356998400 1 host=a
< rollup: No such rollup: No rollups configured for the interval: 2h
GET /api/query?start=1356998400&end=4000010000&m=sum:1h-sum:s.m&show_query
~ "rollupTable":"raw"
~ "dps":{"1356998400":110.0,"4000003200":45.0}
GET /api/query?start=1356998400&end=4000010000&m=sum:1h-avg:s.m%7Bhost=*%7D&show_tsuids
| [{"metric":"s.m","tags":{"host":"a"},"aggregateTags":[],"tsuids":["000001000001000001","000001000001000001"],"annotations":[],"dps":{"1356998400":10.0,"4000003200":2.5}},{"metric":"s.m","tags":{"host":"b"},"aggregateTags":[],"tsuids":["000001000001000002"],"annotations":[],"dps":{"1356998400":1.0}},{"metric":"s.m","tags":{"host":"c"},"aggregateTags":[],"tsuids":["000001000001000003"],"annotations":[],"dps":{"4000003200":40.0}}]
# Each part names the keys on which its series differ.
GET /api/query?start=1356998400&end=4000010000&m=sum:1h-sum:s.m%7Bhost=a|b%7D&arrays
~ "dps":[[1356998400,100.0],[4000003200,5.0]]
GET /api/query?start=1356998400&end=4000010000&m=sum:1h-sum:s.m
~ "aggregateTags":["host","host"]
# One group each.
GET /api/query?start=1356998400&end=4000010000&m=none:1h-sum:s.m
~ {"metric":"s.m","tags":{"host":"a"},"aggregateTags":[],"annotations":[],"dps":{"1356998400":100.0,"4000003200":5.0}},{"metric":"s.m","tags":{"host":"b"},"aggregateTags":[],"annotations":[],"dps":{"1356998400":10.0}},{"metric":"s.m","tags":{"host":"c"}
# The range ends before rollups may be missing: rollups alone.
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-sum:s.m&show_query
~ "rollupTable":"1h"
~ "dps":{"1356998400":110.0}
# All of it lies where they may be missing: points alone.
GET /api/query?start=1356998400&end=1357009200&m=sum:1d-sum:s.m&show_query
~ "rollupTable":"raw"
~ "dps":{"1356998400":1.0}
# An interval that is never late is not split.
GET /api/query?start=1356998400&end=4000010000&m=sum:10m-sum:s.m
~ "dps":{"1356998400":5.0}}
# One of both alone; each falls back, or does not, as ever.
GET /api/query?start=1356998400&end=4000010000&m=sum:1h-sum:s.only
~ "dps":{"4000003200":7.0}
GET /api/query?start=1356998400&end=4000010000&m=sum:1h-sum:s.sums
~ "dps":{"1356998400":9.0}
GET /api/query?start=1356998400&end=4000010000&m=sum:1h-avg:rollup_fallback_raw:s.sums
~ "dps":{}
GET /api/query?start=1356998400&end=4000010000&m=sum:1h-sum:rollup_raw:s.m
~ "dps":{"1356998400":1.0,"4000003200":45.0}
# Notes are those of the points' rows.
POST /api/annotation {"tsuid":"000001000001000001","startTime":1356998400,"description":"early"}
= 200
POST /api/annotation {"tsuid":"000001000001000001","startTime":4000003300,"description":"late"}
= 200
GET /api/query?start=1356998400&end=4000010000&m=sum:1h-sum:s.m
~ "description":"late"
!~ "description":"early"
# Expressions see one series.
GET /api/query/gexp?start=1356998400&end=4000010000&exp=scale(sum:1h-sum:s.m,2)
~ "dps":{"1356998400":220.0,"4000003200":90.0}
POST /api/query/exp {"time":{"start":"1356998400","end":"4000010000","aggregator":"sum","downsampler":{"interval":"1h","aggregator":"sum"}},"metrics":[{"id":"a","metric":"s.m"}],"expressions":[{"id":"e","expr":"a+1"}]}
~ "dps":[[1356998400000,111.0],[4000003200000,46.0]]
# Of each what was read is deleted, in its part of the range.
DELETE /api/query?start=1356998400&end=4000010000&m=sum:1h-sum:s.m
= 200
GET /api/query?start=1356998400&end=4000010000&m=sum:s.m
~ "dps":{"1356998400":1}
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-sum:s.m
| []
GET /api/query?start=1356998400&end=1357009200&m=sum:1h-count:s.m
~ "dps":{"1356998400":20.0}

# Where the first part falls back to points, annotations of both parts go.
> put s.old 1356998400 1 host=a
> put s.old 1356998400 2 host=d
> put s.old 4000003202 3 host=a
> version
<~ built
<~ Built
POST /api/annotation/bulk [{"tsuid":"000004000001000001","startTime":1356998410,"description":"early"},{"tsuid":"000004000001000004","startTime":1356998410,"description":"early d"},{"tsuid":"000004000001000001","startTime":4000003300,"description":"late"}]
= 200
DELETE /api/query?start=1356998400&end=4000010000&m=sum:1h-sum:rollup_fallback_raw:s.old
= 200
~ "dps":{"1356998400":3.0,"4000003200":3.0}
GET /api/annotation?start_time=1356998410&tsuid=000004000001000001
= 404
GET /api/annotation?start_time=1356998410&tsuid=000004000001000004
= 404
GET /api/annotation?start_time=4000003300&tsuid=000004000001000001
= 404

# The limits of a query count for both parts: 9 rollups, 8 points.
repeat 9 rollup 1h-sum s.both 135699840# 1 host=a#
repeat 8 put s.both 400000320# 1 host=a
> version
<~ built
GET /api/query?start=1356998400&end=4000010000&m=sum:1h-sum:s.both
= 413
~ limit of 12 data points
