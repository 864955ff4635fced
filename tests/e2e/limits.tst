! tsd.query.limits.data_points.default=3 tsd.query.limits.data_points.allow_override=true tsd.query.limits.bytes.default=100
# What a sub-query may read, and who may have more.
repeat 4 put l.few 135699840# 1 host=a
repeat 8 put l.many 135699840# 1 host=a
> version
<~ built
GET /api/query?start=1356998400&end=1356998402&m=sum:l.few
= 413
| {"error":{"code":413,"message":"Sorry, you have attempted to fetch more than our limit of 3 data points. Please try filtering using more tags or decrease your time range."}}
POST /api/query {"start":1356998400,"end":1356998420,"overrideDataPointLimit":true,"queries":[{"aggregator":"sum","metric":"l.few"},{"aggregator":"max","metric":"l.few"}]}
= 200
~ "1356998403":1
# The bytes may not be lifted here.
POST /api/query {"start":1356998400,"end":1356998420,"overrideDataPointLimit":true,"overrideByteLimit":true,"queries":[{"aggregator":"sum","metric":"l.many"}]}
= 413
~ Sorry, you have attempted to fetch more than our maximum amount of 0MB from storage.

# A query that was too much is in the log as it was, with its client.
GET /logs
= 200
~ 413 for 127.0.0.1:
~ attempted to fetch more than our limit of 3 data points
~ "metric":"l.few"

# What the queries cost is told afterwards.
with Cookie: secret
with X-WEBAUTH-USER: me
with X-Forwarded-For: 203.0.113.9
with X-Api-Key: secret
with X-Forwarded-Access-Token: secret
GET /api/query?start=1356998400&m=sum:l.none
= 400
GET /api/stats/query
= 200
~ "running":[]
~ "rowsFromMemory":1
~ "emittedDPs":8
~ "X-WEBAUTH-USER":"me"
~ "X-Forwarded-For":"203.0.113.9"
~ "Cookie":"*******"
~ "X-Api-Key":"*******"
~ "X-Forwarded-Access-Token":"*******"
!~ secret
~ "httpResponse":{"code":413}
~ "httpResponse":{"code":400}
~ "exception":"No such name for 'metrics': 'l.none'"
