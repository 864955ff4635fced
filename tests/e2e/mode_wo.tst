! tsd.mode=wo tsd.stats.canonical=true
# It writes; what would read is not there.
POST /api/put {"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"a"}}
= 204
> put m 1356998401 2 host=a
GET /api/uid/assign?metric=n
= 200
GET /api/query?start=1356998400&m=sum:m
= 404
~ "message":"Endpoint not found"
GET /api/query/last?timeseries=m
= 404
GET /api/suggest?type=metrics
= 404
GET /suggest?type=metrics
= 404
GET /api/search/lookup?m=m
= 404
GET /q?start=1356998400&m=sum:m&ascii
= 404
GET /
= 404
GET /api/version
= 200
GET /stats
= 200
~ tsd.datapoints.added
~ type=all class=TSDB fqdn=
!~ host=
GET /health
= 200
POST /api/tool {"words":["query","1356998400","sum","m"]}
= 400
~ query: this server writes only
POST /api/tool {"words":["scan","--import"]}
= 400
POST /api/tool {"words":["mkmetric","made"]}
= 200
