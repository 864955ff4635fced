# /api/query: the forms of query and answer.
> put q.m 1356998400 1 host=web01 dc=lga
> put q.m 1356998400 2 host=web02 dc=lga
> put q.m 1356998460 2.5 host=web01 dc=lga
> put q.ms 1356998400100 1 host=web01
> put q.ms 1356998400900 2 host=web01
> version
<~ built at revision
<~ Built on
GET /api/query?start=1356998400&end=1356998500&m=sum:q.m{host=web01}
= 200
| [{"metric":"q.m","tags":{"host":"web01","dc":"lga"},"aggregateTags":[],"dps":{"1356998400":1.0,"1356998460":2.5}}]
GET /api/query?start=1356998400&end=1356998450&m=sum:q.m
= 200
~ "tags":{"dc":"lga"},"aggregateTags":["host"],"dps":{"1356998400":
GET /api/query?start=1356998400&end=1356998500&m=sum:1m-avg-null:q.m{host=web02}
= 200
~ "dps":{"1356998400":2.0,"1356998460":null}
GET /api/query?start=1356998400&end=1356998500&m=sum:1m-avg-nan:q.m{host=web02}
= 200
~ "dps":{"1356998400":2.0,"1356998460":"NaN"}

# A second is one key, with the last value; arrays and milliseconds have all.
GET /api/query?start=1356998400&end=1356998500&m=sum:q.ms
= 200
~ "dps":{"1356998400":2}
GET /api/query?start=1356998400&end=1356998500&m=sum:q.ms&arrays
= 200
~ "dps":[[1356998400,1],[1356998400,2]]
GET /api/query?start=1356998400&end=1356998500&m=sum:q.ms&ms
= 200
~ "dps":{"1356998400100":1,"1356998400900":2}

# What is shown on demand.
POST /api/query {"start":1356998400,"end":1356998500,"showQuery":true,"showTSUIDs":true,"showStats":true,"showSummary":true,"queries":[{"aggregator":"max","metric":"q.m","downsample":"1m-max","filters":[{"type":"wildcard","tagk":"host","filter":"*1","groupBy":true}]}]}
= 200
~ "query":{"aggregator":"max","metric":"q.m","tsuids":null,"downsample":"1m-max","rate":false,"filters":[{"tagk":"host","filter":"*1","group_by":true,"type":"wildcard"}]
~ "tags":{"host":"wildcard(*1)"}
~ "tsuids":["
~ "stats":{"queryIndex":0
~ ,"serializationTime":
~ {"statsSummary":{

# Rejected.
GET /api/query?start=1356998400&m=sum:q.none
= 400
~ {"error":{"code":400,"message":"No such name for 'metrics': 'q.none'","details":"No such name for 'metrics': 'q.none'"}}
GET /api/query?start=1356998400&m=sum:q.m{host=web09}
= 400
~ No such name for 'tagv': 'web09'
# Of several the one that comes first in a Java HashSet.
GET /api/query?start=1356998400&m=sum:q.m{host=191|no.such}
= 400
~ "message":"No such name for 'tagv': 'no.such'"
GET /api/query?start=1356998400&m=sum:q.m{host=no.such|web01|191}
= 400
~ "message":"No such name for 'tagv': 'no.such'"
GET /api/query?start=1356998500&end=1356998400&m=sum:q.m
= 400
~ End time [1356998400000] must be greater than
POST /api/query {"start":1356998400,"queries":[]}
= 400
~ Missing queries
DELETE /api/query?start=1356998400&m=sum:q.m
= 400
~ "message":"Bad request","details":"Deleting data is not enabled (tsd.http.query.allow_delete=false)"

# Nothing in the range is no fault.
GET /api/query?start=1300000000&end=1300000100&m=sum:q.m
= 200
| []

# An empty literal is rejected before names are looked up.
GET /api/query?start=1356998400&m=sum:q.m{host=|no.such}
= 400
~ "message":"Missing UID name"
# A TSUID of a length that no series has is one that is not there.
GET /api/query?start=1356998400&tsuid=sum:0000010000
= 200
| []
POST /api/query {"start":1356998400,"queries":[{"aggregator":"sum","tsuids":["00000x"]}]}
= 400
~ Invalid TSUID: 00000x
GET /api/query?start=1356998400&tsuid=sum:000001
= 400
~ UID was empty

# Every filter's tag key is shown, and not_key beside another filter on its key lets no series through.
POST /api/put [{"metric":"many.filters","timestamp":1356998400,"value":1,"tags":{"fa":"1","fb":"2"}},{"metric":"many.filters","timestamp":1356998400,"value":1,"tags":{"fb":"2"}}]
= 204
GET /api/query?start=1356998400&end=1356998401&show_query&m=sum:many.filters{}{fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fa=wildcard(*),fb=*}
~ "filterTagKs":["AAAD","AAAE"]
GET /api/query?start=1356998400&end=1356998401&m=sum:many.filters{}{fa=1,fa=not_key()}
| []
GET /api/query?start=1356998400&end=1356998401&m=sum:many.filters{}{fa=not_key()}
~ "tags":{"fb":"2"}
# With explicit tags the hour behind the range is read, too: its buckets need room.
repeat 1000 put explicit.m 135700###0 ### host=a
> put
<~ put: illegal argument
GET /api/query?start=1357002000&end=1357002020&m=sum:10s-p90:explicit_tags:explicit.m%7Bhost=*%7D
| [{"metric":"explicit.m","tags":{"host":"a"},"aggregateTags":[],"dps":{"1357002000":200.0,"1357002010":201.0,"1357002020":202.0}}]
GET /api/query?start=1357002000&end=1357002020&m=sum:10s-sum:explicit_tags:explicit.m%7Bhost=*%7D
| [{"metric":"explicit.m","tags":{"host":"a"},"aggregateTags":[],"dps":{"1357002000":200.0,"1357002010":201.0,"1357002020":202.0}}]

# Thinned answers: the extremes of each bucket at their own times, after rates and aggregation.
POST /api/put [{"metric":"thin.m","timestamp":1356998400,"value":5,"tags":{"h":"a"}},{"metric":"thin.m","timestamp":1356998410,"value":1,"tags":{"h":"a"}},{"metric":"thin.m","timestamp":1356998420,"value":9,"tags":{"h":"a"}},{"metric":"thin.m","timestamp":1356998430,"value":4,"tags":{"h":"a"}},{"metric":"thin.m","timestamp":1356998490,"value":2,"tags":{"h":"a"}},{"metric":"thin.m","timestamp":1356998400,"value":0,"tags":{"h":"b"}},{"metric":"thin.m","timestamp":1356998490,"value":90,"tags":{"h":"b"}}]
= 204
GET /api/query?start=1356998400&end=1356998500&m=sum:60s-minmax:thin.m%7Bh=a%7D
| [{"metric":"thin.m","tags":{"h":"a"},"aggregateTags":[],"dps":{"1356998410":1,"1356998420":9,"1356998490":2}}]
GET /api/query?start=1356998400&end=1356998500&m=sum:60s-m4:thin.m%7Bh=a%7D
| [{"metric":"thin.m","tags":{"h":"a"},"aggregateTags":[],"dps":{"1356998400":5,"1356998410":1,"1356998420":9,"1356998430":4,"1356998490":2}}]
GET /api/query?start=1356998400&end=1356998500&m=sum:60s-minmax:thin.m
| [{"metric":"thin.m","tags":{},"aggregateTags":["h"],"dps":{"1356998400":5,"1356998430":34,"1356998490":92}}]
GET /api/query?start=1356998400&end=1356998500&m=sum:60s-minmax:rate:thin.m%7Bh=a%7D
| [{"metric":"thin.m","tags":{"h":"a"},"aggregateTags":[],"dps":{"1356998420":0.8,"1356998430":-0.5,"1356998490":-0.03333333333333333}}]
POST /api/query {"start":1356998400,"end":1356998500,"useCalendar":true,"queries":[{"aggregator":"none","metric":"thin.m","downsample":"0all-minmax-none"}]}
~ "tags":{"h":"a"},"aggregateTags":[],"dps":{"1356998410":1,"1356998420":9}},{"metric":"thin.m","tags":{"h":"b"},"aggregateTags":[],"dps":{"1356998400":0,"1356998490":90}}]
GET /api/query?start=1356998400&m=sum:60s-minmax-nan:thin.m
= 400
~ minmax keeps points as they are: no fill policy but 'none' goes with it
GET /api/query?start=1356998400&m=sum:60s-m4:percentiles[50]:thin.m
= 400
~ Histograms have no extremes: 'minmax' and 'm4' do not go with percentiles or buckets
GET /api/query?start=1356998400&m=minmax:thin.m
= 400
~ No such aggregation function: minmax
GET /api/query/gexp?start=1356998400&exp=scale(sum:60s-minmax:thin.m,2)
= 400
~ 'minmax' and 'm4' do not go with expressions
POST /api/query/exp {"time":{"start":1356998400,"aggregator":"sum","downsampler":{"interval":"1m","aggregator":"minmax"}},"metrics":[{"id":"a","metric":"thin.m"}],"expressions":[{"id":"e","expr":"a"}]}
= 400

# A dry run: the plan, and what it reads at most.
GET /api/query?start=1356998400&end=1356998500&m=sum:thin.m%7Bh=a%7D&explain
= 200
~ {"queries":[{"index":0,"metric":"thin.m","rollupTable":"raw","way":"
~ "reads":"points","series":1,"seriesOfMetric":2,"hours":1,"rows":1,"seeks":1,"price":
~ }],"series":1,"rows":1,"seeks":1,"price":
GET /api/query?start=1356998400&end=1357084800&m=sum:10m-p90:thin.m&m=sum:10m-max:thin.m&explain
= 200
~ "reads":"points","series":2,"seriesOfMetric":2,"hours":25,"rows":50,
~ "reads":"buckets","series":2,"seriesOfMetric":2,"hours":25,"rows":50,
~ "cheaper":{"downsample":"1h-max","rollupTable":"raw",
~ "reads":"summaries","series":2
POST /api/query?explain {"start":1356998400,"end":1357084800,"delete":true,"queries":[{"aggregator":"sum","metric":"thin.m","downsample":"2h-sum"}]}
= 200
~ "reads":"summaries","series":2,
GET /api/query?start=1356998400&m=sum:thin.none&explain
= 400
~ No such name for 'metrics': 'thin.none'
GET /api/query?start=1356998400&m=sum:thin.m%7Bh=none%7D&explain
= 400
~ No such name for 'tagv': 'none'

# Columns: times and values apart; a group that has the times of the one before has values alone.
GET /api/query?start=1356998400&end=1356998500&m=sum:60s-sum:thin.m%7Bh=*%7D&columns
| [{"metric":"thin.m","tags":{"h":"a"},"aggregateTags":[],"times":[1356998400,1356998460],"values":[19.0,2.0]},{"metric":"thin.m","tags":{"h":"b"},"aggregateTags":[],"values":[0.0,90.0]}]
POST /api/query?columns {"start":1356998400,"end":1356998500,"msResolution":true,"queries":[{"aggregator":"none","metric":"thin.m","downsample":"60s-minmax"}]}
| [{"metric":"thin.m","tags":{"h":"a"},"aggregateTags":[],"times":[1356998410000,1356998420000,1356998490000],"values":[1,9,2]},{"metric":"thin.m","tags":{"h":"b"},"aggregateTags":[],"times":[1356998400000,1356998490000],"values":[0,90]}]
GET /api/query?start=1356998400&end=1356998460&m=sum:thin.m%7Bh=b%7D&m=sum:60s-avg-null:thin.m%7Bh=b%7D&columns&show_summary&global_annotations
~ "times":[1356998400],"values":[0]},{"metric":"thin.m",
~ "values":[0.0,90.0]},{"statsSummary":
GET /api/query/gexp?start=1356998400&end=1356998460&exp=scale(sum:thin.m%7Bh=a%7D,2)&columns
~ "times":[1356998400,1356998410,1356998420,1356998430],"values":[10,2,18,8]}]

# A series whose points all lie behind the range, but within the hours that are read, has a first
# rate, and takes part with it.
POST /api/put [{"metric":"behind.m","timestamp":1356998400,"value":1,"tags":{"h":"a"}},{"metric":"behind.m","timestamp":1356998460,"value":3,"tags":{"h":"a"}},{"metric":"behind.m","timestamp":1356999000,"value":5,"tags":{"h":"b"}},{"metric":"behind.m","timestamp":1356999060,"value":7,"tags":{"h":"b"}}]
= 204
GET /api/query?start=1356998400&end=1356998500&m=count:rate:behind.m
~ "dps":{"1356998460":2.0}}]
GET /api/query?start=1356998400&end=1356998500&m=count:behind.m
~ "dps":{"1356998400":1,"1356998460":1}}]

# Tags of a group: common where all agree that have the tagk, which not all need.
> put tags.m 1356998400 1 a=1 b=1 c=1
> put tags.m 1356998400 1 a=1 b=2 c=1
> put tags.m 1356998400 1 a=1 b=3 c=1
> put tags.m 1356998400 1 a=1 b=2 c=2
> put tags.m 1356998400 1 a=1 b=2 d=1
> put tags.two 1356998400 1 a=1 b=1 c=1
> put tags.two 1356998400 1 a=1 b=2 c=1
> put tags.two 1356998400 1 a=1 b=2 d=1
> put tags.last 1356998400 1 a=1 b=1 c=1
> put tags.last 1356998400 1 a=1 b=1 c=2
> put tags.last 1356998400 1 a=1 b=2 c=2
> put tags.last 1356998400 1 a=2 b=2 c=2
> version
<~ built at revision
<~ Built on
GET /api/query?start=1356998400&end=1356998500&m=sum:tags.m
= 200
| [{"metric":"tags.m","tags":{"a":"1","d":"1"},"aggregateTags":["b","c"],"dps":{"1356998400":5}}]
GET /api/query?start=1356998400&end=1356998500&m=sum:tags.two
= 200
| [{"metric":"tags.two","tags":{"a":"1","c":"1","d":"1"},"aggregateTags":["b"],"dps":{"1356998400":3}}]
GET /api/query?start=1356998400&end=1356998500&m=sum:tags.last
= 200
| [{"metric":"tags.last","tags":{},"aggregateTags":["a","b","c"],"dps":{"1356998400":4}}]
