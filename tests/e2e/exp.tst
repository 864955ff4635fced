# /api/query/exp: expressions over metrics, and over one another.
> put e.a 1356998400 1 host=a
> put e.a 1356998460 2 host=a
> put e.a 1356998400 11 host=b
> put e.b 1356998400 2.5 host=b
> put e.b 1356998460 5 host=b
> version
<~ 
<~ Built on
# A union has a column for each set of tags; a missing series counts as 0, a
# missing point as the metric's fill.
POST /api/query/exp {"time":{"start":"1356998400","end":"1356998500","aggregator":"sum"},"filters":[{"id":"f","tags":[{"type":"wildcard","tagk":"host","filter":"*","groupBy":true}]}],"metrics":[{"id":"a","metric":"e.a","filter":"f","fillPolicy":{"policy":"scalar","value":7}},{"id":"b","metric":"e.b","filter":"f"}],"expressions":[{"id":"e","expr":"a + b"}],"outputs":[{"id":"e","alias":"sum"}]}
= 200
| {"outputs":[{"id":"e","alias":"sum","dps":[[1356998400000,1.0,13.5],[1356998460000,2.0,12.0]],"dpsMeta":{"firstTimestamp":1356998400000,"lastTimestamp":1356998460000,"setCount":2,"series":2},"meta":[{"index":0,"metrics":["timestamp"]},{"index":1,"metrics":["e.a"],"commonTags":{"host":"a"},"aggregatedTags":[]},{"index":2,"metrics":["e.a"],"commonTags":{"host":"b"},"aggregatedTags":[]}]}],"query":{"name":null,"time":{"start":"1356998400","end":"1356998500","timezone":null,"downsampler":null,"aggregator":"sum","rate":false},"filters":[{"id":"f","tags":[{"tagk":"host","filter":"*","group_by":true,"type":"wildcard"}],"explicitTags":false}],"metrics":[{"metric":"e.a","id":"a","filter":"f","aggregator":null,"timeOffset":null,"fillPolicy":{"policy":"scalar","value":7.0}},{"metric":"e.b","id":"b","filter":"f","aggregator":null,"timeOffset":null,"fillPolicy":null}],"expressions":[{"id":"e","expr":"a + b","join":{"operator":"union","useQueryTags":false,"includeAggTags":true},"fillPolicy":null}],"outputs":[{"id":"e","alias":"sum"}]}}
# An intersection has those that all operands have.
POST /api/query/exp {"time":{"start":"1356998400","end":"1356998500","aggregator":"sum"},"filters":[{"id":"f","tags":[{"type":"wildcard","tagk":"host","filter":"*","groupBy":true}]}],"metrics":[{"id":"a","metric":"e.a","filter":"f"},{"id":"b","metric":"e.b","filter":"f"}],"expressions":[{"id":"e","expr":"a > b ? a : b","join":{"operator":"intersection"}},{"id":"e2","expr":"e * 2"}],"outputs":[{"id":"e2"}]}
= 200
~ {"outputs":[{"id":"e2","dps":[[1356998400000,22.0],[1356998460000,10.0]],"dpsMeta":
~ "metrics":["e.a","e.b"],"commonTags":{"host":"b"}
# Nothing with nothing is empty; a series with nothing is no intersection.
POST /api/query/exp {"time":{"start":"1256998400","end":"1256998500","aggregator":"sum"},"metrics":[{"id":"a","metric":"e.a"},{"id":"b","metric":"e.b"}],"expressions":[{"id":"e","expr":"a + b","join":{"operator":"intersection"}}]}
= 200
~ "outputs":[{"id":"e","dps":[],
# A series that another of the same key hides still has its times.
POST /api/query/exp {"time":{"start":"1356998400","end":"1356998500","aggregator":"none"},"metrics":[{"id":"a","metric":"e.a"},{"id":"b","metric":"e.a"}],"expressions":[{"id":"e","expr":"a + b","join":{"operator":"intersection","useQueryTags":true}}]}
= 200
~ "dps":[[1356998400000,22.0],[1356998460000,0.0]]
# A metric by itself; two that ask the same.
POST /api/query/exp {"time":{"start":"1356998400","end":"1356998500","aggregator":"squareSum","downsampler":{"interval":"0all","aggregator":"sum"}},"metrics":[{"id":"a","metric":"e.a"},{"id":"b","metric":"e.a"}]}
= 200
~ {"outputs":[{"id":"a","dps":[[1356998400000,130.0]],
~ {"id":"b","dps":[[1356998400000,130.0]],
# Two whose filters differ only in what they group by are two.
POST /api/query/exp {"time":{"start":"1356998400","end":"1356998500","aggregator":"sum"},"filters":[{"id":"each","tags":[{"type":"wildcard","tagk":"host","filter":"*","groupBy":true}]},{"id":"all","tags":[{"type":"wildcard","tagk":"host","filter":"*","groupBy":false}]}],"metrics":[{"id":"b","metric":"e.a","filter":"all"},{"id":"a","metric":"e.a","filter":"each"}]}
= 200
~ {"id":"a","dps":[[1356998400000,1.0,11.0],[1356998460000,2.0,0.0]],
~ {"id":"b","dps":[[1356998400000,12.0],[1356998460000,2.0]],
POST /api/query/exp {"time":{"start":"1356998400","end":"1356998500","aggregator":"sum"},"filters":[{"id":"each","tags":[{"type":"wildcard","tagk":"host","filter":"*","groupBy":true}]},{"id":"all","tags":[{"type":"wildcard","tagk":"host","filter":"*","groupBy":false}]}],"metrics":[{"id":"b","metric":"e.a","filter":"each"},{"id":"a","metric":"e.a","filter":"all"}]}
= 200
~ {"id":"a","dps":[[1356998400000,12.0],[1356998460000,2.0]],
~ {"id":"b","dps":[[1356998400000,1.0,11.0],[1356998460000,2.0,0.0]],
# What cannot be.
POST /api/query/exp {"time":{"start":"1356998400","aggregator":"sum"},"metrics":[{"id":"a","metric":"e.a"}],"expressions":[{"id":"e","expr":"a +"}]}
= 400
~ "message":"Invalid expression at index 0","details":"Cannot parse the expression \"a +\": a value is missing at character 4"
POST /api/query/exp {"time":{"start":"1356998400","aggregator":"sum"},"metrics":[{"id":"a","metric":"e.a"}],"expressions":[{"id":"e","expr":"a + x"}]}
= 400
~ Expression [a + x] was missing input x
POST /api/query/exp {"time":{"start":"1356998400","end":"1356998500","aggregator":"sum"},"metrics":[{"id":"a","metric":"e.a"}],"expressions":[{"id":"e","expr":"a + e2"},{"id":"e2","expr":"a + e"}]}
= 400
~ Circular reference found: e2
POST /api/query/exp {"time":{"start":"1356998400","end":"1356998500","aggregator":"sum"},"metrics":[{"id":"a","metric":"nosuch"}]}
= 400
~ No such name for 'metrics': 'nosuch'
POST /api/query/exp {"time":{"start":"1356998400","end":"1356998500","aggregator":"none"},"metrics":[{"id":"a","metric":"e.a"},{"id":"b","metric":"e.b"}],"expressions":[{"id":"e","expr":"(a + b","join":{"operator":"intersection"}}]}
= 400
~ a '(' without ')'
GET /api/query/exp
= 400
~ Incoming data was null or empty
# What is wrong is told as OpenTSDB tells it, and why in the details.
POST /api/query/exp {"time":{"start":"x","aggregator":"sum"},"metrics":[{"id":"a","metric":"e.x"}]}
= 400
| {"error":{"code":400,"message":"Invalid time","details":"Invalid time: x. Invalid character 'x' in x"}}
POST /api/query/exp {"time":{"start":"1356998400","end":"2013/13","aggregator":"sum"},"metrics":[{"id":"a","metric":"e.x"}]}
= 400
~ "message":"Invalid time"
POST /api/query/exp {"time":{"start":"1356998400","aggregator":"sum","downsampler":{"interval":"1x","aggregator":"sum"}},"metrics":[{"id":"a","metric":"e.x"}]}
= 400
~ "message":"Invalid time","details":"Invalid duration (suffix): 1x. A duration is
POST /api/query/exp {"time":{"start":"1356998400","aggregator":"SUM"},"metrics":[{"id":"a","metric":"e.x"}]}
= 400
~ "message":"No such aggregation function: SUM"
POST /api/query/exp {"time":{"start":"1356998400","aggregator":"sum"},"metrics":[{"metric":"e.x"},{"metric":"e.x"}]}
= 400
~ "message":"duplicated metric id: null"
POST /api/query/exp {"time":{"start":"1356998400","aggregator":"sum"},"metrics":[{"id":"a","metric":"no.such","timeOffset":""}]}
= 400
~ No such name for 'metrics': 'no.such'

# Infinite numbers fail a query only when something needs them.
> put e.inf 1356998410 1.7e308 host=a
> put e.inf 1356998410 1.7e308 host=b
> put e.fin 1356998410 1 host=a
> version
<~ built at revision
<~ Built on
POST /api/query/exp {"time":{"start":"1356998400","end":"1356998500","aggregator":"sum"},"metrics":[{"id":"a","metric":"e.inf"},{"id":"b","metric":"e.fin"}],"expressions":[{"id":"e","expr":"b + 1"},{"id":"f","expr":"a + b"}],"outputs":[{"id":"e"}]}
= 200
~ "dps":[[1356998410000,2.0]]
POST /api/query/exp {"time":{"start":"1356998400","end":"1356998500","aggregator":"sum"},"metrics":[{"id":"a","metric":"e.inf"},{"id":"b","metric":"e.fin"}],"expressions":[{"id":"f","expr":"a + b"}]}
= 400
~ Got Infinity
POST /api/query/exp {"time":{"start":"1356998400","end":"1356998500","aggregator":"sum"},"metrics":[{"id":"a","metric":"e.inf"}]}
= 400
~ Got Infinity
