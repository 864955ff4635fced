! tsd.core.histograms.config={"net.opentsdb.core.SimpleHistogramDecoder":0} tsd.rollups.enable=true tsd.rollups.config={"aggregationIds":{"sum":0,"count":1},"intervals":[{"table":"a","preAggregationTable":"b","interval":"1m","rowSpan":"1h","defaultInterval":true},{"table":"c","preAggregationTable":"d","interval":"1h","rowSpan":"1d"}]}
# Functions and expressions over what is no plain point.
POST /api/histogram {"metric":"h.m","timestamp":1356998400,"tags":{"host":"a"},"buckets":{"0,10":5,"10,20":7},"underflow":0,"overflow":1}
= 204
POST /api/histogram {"metric":"h.m","timestamp":1356998460,"tags":{"host":"a"},"buckets":{"0,10":50,"10,20":17},"underflow":0,"overflow":1}
= 204
POST /api/rollup [{"metric":"r.m","timestamp":1356998400,"value":100,"tags":{"host":"a"},"interval":"1h","aggregator":"sum"},{"metric":"r.m","timestamp":1357002000,"value":200,"tags":{"host":"a"},"interval":"1h","aggregator":"sum"},{"metric":"r.m","timestamp":1356998400,"value":10,"tags":{"host":"a"},"interval":"1h","aggregator":"count"},{"metric":"r.m","timestamp":1357002000,"value":40,"tags":{"host":"a"},"interval":"1h","aggregator":"count"}]
= 204
GET /api/query/gexp?start=1356998400&end=1356998500&exp=scale(sum:percentiles[50]:h.m,2)
| [{"metric":"h.m_pct_50.0","tags":{"host":"a"},"aggregateTags":[],"dps":{"1356998400":30.0,"1356998460":10.0}}]
GET /api/query/gexp?start=1356998400&end=1356998500&exp=movingAverage(sum:percentiles[50]:h.m,2)
~ "dps":{"1356998400":0.0,"1356998460":10.0}
# Of several series the metric is the histogram itself.
GET /api/query/gexp?start=1356998400&end=1356998500&exp=sum(sum:percentiles[50]:h.m,sum:percentiles[90]:h.m)
~ [{"metric":"h.m","tags":{"host":"a"}
~ "dps":{"1356998400":30.0,"1356998460":20.0}
GET /api/query/gexp?start=1356998400&end=1356998500&exp=highestMax(sum:show-histogram-buckets:h.m,1)
~ [{"metric":"h.m_0.0_10.0","tags":{"host":"a"},"aggregateTags":[],"dps":{"1356998400":5,"1356998460":50}}]
GET /api/query/gexp?start=1356998400&end=1356998500&exp=scale(sum:h.m,2)
| []
GET /api/query/gexp?start=1356998400&end=1357009500&exp=scale(sum:1h-sum:r.m,2)
~ "dps":{"1356998400":200.0,"1357002000":400.0}
GET /api/query/gexp?start=1356998400&end=1357009500&exp=divide(sum:1h-sum:r.m,sum:1h-count:r.m)
~ "dps":{"1356998400":10.0,"1357002000":5.0}
POST /api/query/exp {"time":{"start":"1356998400","end":"1357009500","aggregator":"sum","downsampler":{"interval":"1h","aggregator":"avg"}},"metrics":[{"id":"a","metric":"r.m"}],"expressions":[{"id":"e","expr":"a*2"}]}
~ "dps":[[1356998400000,20.0],[1357002000000,10.0]]
POST /api/query/exp {"time":{"start":"1356998400","end":"1357009500","aggregator":"sum"},"metrics":[{"id":"a","metric":"h.m"}],"expressions":[{"id":"e","expr":"a*2"}]}
~ "dps":[]
