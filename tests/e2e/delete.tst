! tsd.http.query.allow_delete=true
# What is asked for goes, what stands beside it stays.
> put d.m 1356998400 1 host=a
> put d.m 1356998410 2 host=a
> put d.m 1356998420 3 host=a
> put d.m 1356998410 4 host=b
> version
<~ built at revision
<~ Built on
DELETE /api/query?start=1356998405&end=1356998415&m=sum:d.m{host=a}
= 200
~ "dps":{"1356998410":2}
GET /api/query?start=1356998400&end=1356998500&m=none:d.m
= 200
~ "dps":{"1356998400":1,"1356998420":3}
~ "dps":{"1356998410":4}
POST /api/query {"start":1356998400,"end":1356998500,"delete":true,"queries":[{"aggregator":"none","metric":"d.m"}]}
= 200
~ "dps":{"1356998400":1,"1356998420":3}
GET /api/query?start=1356998400&end=1356998500&m=none:d.m
= 200
| []
