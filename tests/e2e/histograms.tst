! disk --sync=off tsd.core.histograms.config={"net.opentsdb.core.SimpleHistogramDecoder":0} tsd.http.query.allow_delete=true
POST /api/histogram?details [{"metric":"e.g","timestamp":1356998400,"tags":{"host":"a"},"buckets":{"0,10":5,"10,20":10,"20,50":3}},{"metric":"e.g","timestamp":1356998400,"tags":{"host":"b"},"overflow":2,"buckets":{"0,10":"4","10,20":0.0}}]
= 200
| {"success":2,"failed":0,"errors":[]}
POST /api/histogram {"metric":"e.g","timestamp":1356998460,"tags":{"host":"b"},"id":0,"value":"AAEAAAAAQSAAAAUBAg=="}
= 204
|
> histogram e.g 1356998400500 10,20=1:u=3 host=a
> version
<~ halite
<~ uilt
GET /api/query?start=1356998400&end=1356998500&m=sum:percentiles[50,99.9]:e.g{host=*}&ms
= 200
~ {"metric":"e.g_pct_50.0","tags":{"host":"a"},"aggregateTags":[],"dps":{"1356998400000":15.0,"1356998400500":15.0}},{"metric":"e.g_pct_99.9","tags":{"host":"a"},"aggregateTags":[],"dps":{"1356998400000":35.0,"1356998400500":15.0}}
~ {"metric":"e.g_pct_50.0","tags":{"host":"b"},"aggregateTags":[],"dps":{"1356998400000":5.0,"1356998460000":5.0}}

# The same after a crash.
kill
GET /api/query?start=1356998400&end=1356998500&m=sum:show-histogram-buckets:1m-sum:e.g
= 200
~ {"metric":"e.g_UNDERFLOW","tags":{},"aggregateTags":["host"],"dps":{"1356998400":3,"1356998460":1}}
~ {"metric":"e.g_0.0_10.0","tags":{},"aggregateTags":["host"],"dps":{"1356998400":9,"1356998460":5}}
~ {"metric":"e.g_10.0_20.0","tags":{},"aggregateTags":["host"],"dps":{"1356998400":11,"1356998460":0}}
~ {"metric":"e.g_20.0_50.0","tags":{},"aggregateTags":["host"],"dps":{"1356998400":3,"1356998460":0}}
~ {"metric":"e.g_OVERFLOW","tags":{},"aggregateTags":["host"],"dps":{"1356998400":2,"1356998460":2}}

# The last write wins; points and histograms do not see each other.
POST /api/histogram {"metric":"e.g","timestamp":1356998460,"tags":{"host":"b"},"buckets":{"20,50":1}}
= 204
> put e.g 1356998460 7 host=b
> version
<~ halite
<~ uilt
GET /api/query?start=1356998460&end=1356998500&m=none:percentiles[50]:e.g
= 200
~ "tags":{"host":"b"},"aggregateTags":[],"dps":{"1356998460":35.0}
GET /api/query?start=1356998400&end=1356998500&m=sum:e.g
= 200
~ "tags":{"host":"b"},"aggregateTags":[],"dps":{"1356998460":7}
!~ pct

# A query of histograms deletes histograms and annotations, in its range alone.
POST /api/annotation/bulk [{"tsuid":"000001000001000001","startTime":1356998410,"description":"in"},{"tsuid":"000001000001000001","startTime":1356998460,"description":"behind"}]
= 200
DELETE /api/query?start=1356998400&end=1356998459&m=sum:percentiles[50]:e.g{host=a}
= 200
GET /api/annotation?start_time=1356998410&tsuid=000001000001000001
= 404
DELETE /api/annotation?start_time=1356998460&tsuid=000001000001000001
= 204
GET /api/query?start=1356998400&end=1356998500&m=none:percentiles[50]:e.g
= 200
!~ "host":"a"
~ "tags":{"host":"b"},"aggregateTags":[],"dps":{"1356998400":5.0,"1356998460":35.0}
GET /api/query?start=1356998400&end=1356998500&m=sum:e.g
~ "1356998460":7

# Blanks may be doubled in lines, too.
> histogram  e.blanks  1356998400  10,20=1:u=3  host=a
> histogram  1356998400 10,20=1:u=3 host=a
< histogram: illegal argument: empty metric name
GET /api/query?start=1356998400&end=1356998500&m=sum:percentiles[50]:e.blanks
= 200
~ "dps":{"1356998400":15.0}

# Several documents in a body.
POST /api/histogram?summary {"metric":"e.two","timestamp":1356998400,"tags":{"host":"b"},"buckets":{"20,50":1}}\n{"metric":"e.two","timestamp":1356998401,"tags":{"host":"b"},"buckets":{"20,50":1}}
= 200
| {"success":2,"failed":0}

# What is rejected.
POST /api/histogram?details [{"metric":"e.g","timestamp":1356998400,"tags":{"host":"a"},"id":9,"value":"AAAA"},null,{"metric":"e.g","timestamp":1356998400,"tags":{"host":"a"},"buckets":{"0,x":1}},{"metric":"e.g","timestamp":1356998400,"tags":{"ho st":"a"},"buckets":{"0,1":1}}]
= 400
~ {"success":0,"failed":4,"errors":[{"datapoint":{"metric":"e.g","timestamp":1356998400,"value":"AAAA","tags":{"host":"a"},"id":9,"underflow":0,"overflow":0},"error":"No codec found mapped to ID 9"},{"datapoint":null,"error":"Unexpected null datapoint encountered in set."},{"datapoint":{"metric":"e.g","timestamp":1356998400,"tags":{"host":"a"},"id":0,"buckets":{"0,x":1},"underflow":0,"overflow":0},"error":"Unable to parse value to a number"}
~ Invalid tag name with value [a] (\"ho st\"): illegal character:
POST /api/histogram [{"metric":"e.no","timestamp":1356998400,"tags":{"host":"a"},"buckets":{"0,1":1}},{"metric":"e.no","tags":5}]
= 400
~ "message":"Unable to parse the given JSON"
POST /api/histogram [{"metric":"e.no","timestamp":1356998400,"tags":{"host":"a"},"buckets":{"0,1":1}}
= 400
~ "details":"the text ends too early, at byte 81"
POST /api/histogram [{"metric":"e.no","timestamp":1356998400,"tags":{"host":"a"},"buckets":{"0,1":1}},,{}]
= 400
~ "details":"an object is expected, at byte 82"
POST /api/histogram [{"metric":"e.no","buckets":{"0,1":[]}}]
= 400
~ "details":"an object or array stands where
POST /api/histogram {"metric":"e.no","buckets":5}
= 400
~ "details":"an object is expected, at byte 27"
POST /api/histogram {"metric":"e.no","id":"x"}
= 400
~ "details":"a count is not a whole number
POST /api/histogram?details {"metric":"e.g","timestamp":1356998400,"tags":{"host":"a"},"overflow":null,"buckets":{"0,\u0022":1 , "0,1":null}}
= 400
~ "id":0,"buckets":{"0,\"":1,"0,1":0},"underflow":0,"overflow":0},"error":"Unable to parse value to a number"
POST /api/histogram [ ]
= 400
~ "message":"No datapoints found in content"
GET /api/suggest?type=metrics&q=e.no
| []
GET /api/histogram
= 405
> histogram e.g 1356998400 0,10=x host=a
> histogram e.g 1356998400 9 AAAA host=a
< histogram: HBase error: No codec found mapped to ID 9
> histogram e.g 1356998400 0 AAEAAAAAAAAA host=a
< histogram: HBase error: Buffer underflow.
> histogram e.g 1356998400 0,10=1 host
< histogram: illegal argument: invalid tag: host
> histogram e.g x 0,10=1 host=a
< histogram: invalid value: Invalid character 'x' in x
> histogram e.g 99999999999999 0,10=1 host=a
<~ when trying to add value=[0, 0, 1, 0, 0, 0, 0, 65, 32, 0, 0, 1, 0, 0]/0 to metric=e.g, tags={host=a}
> histogram e.g 1356998400
< histogram: illegal argument: not enough arguments (need least 5, got 2)
GET /api/histogram
= 405
PUT /api/histogram {}
= 405

# A bucket without an upper bound; NaN is none.
POST /api/histogram?details {"metric":"e.open","timestamp":1356998400,"tags":{"host":"a"},"buckets":{"0,10":3,"10,Infinity":2}}
= 200
~ "success":1
> histogram e.open 1356998460 0,10=3:10,+Infinity=4 host=a
fin
GET /api/query?start=1356998400&end=1356998500&m=sum:show-histogram-buckets:e.open
= 200
~ {"metric":"e.open_10.0_Infinity","tags":{"host":"a"},"aggregateTags":[],"dps":{"1356998400":2,"1356998460":4}}
POST /api/histogram?details {"metric":"e.open","timestamp":1356998400,"tags":{"host":"a"},"buckets":{"0,10":3,"10,NaN":2}}
= 400
