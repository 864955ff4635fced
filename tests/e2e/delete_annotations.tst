! disk tsd.http.query.allow_delete=true
# The annotations of what is deleted go with it, by the same range; global ones stay.
> put d.m 1356998400 1 host=a
> put d.m 1356998410 2 host=a
> put d.m 1356998410 4 host=b
> put d.m 1356998400 5 host=c
> put d.other 1356998410 6 host=a
> version
<~ built at revision
<~ Built on
POST /api/annotation/bulk [{"tsuid":"000001000001000001","startTime":1356998404,"description":"a4"},{"tsuid":"000001000001000001","startTime":1356998405,"description":"a5"},{"tsuid":"000001000001000001","startTime":1356998415999,"description":"a15"},{"tsuid":"000001000001000001","startTime":1356998417,"description":"a17"}]
= 200
POST /api/annotation/bulk [{"tsuid":"000001000001000002","startTime":1356998410,"description":"b10"},{"tsuid":"000001000001000003","startTime":1356998410,"description":"c10"},{"tsuid":"000002000001000001","startTime":1356998410,"description":"other"},{"startTime":1356998410,"description":"global"}]
= 200
DELETE /api/query?start=1356998405&end=1356998416&m=sum:d.m{host=a|b}
= 200
~ "annotations":[{"tsuid":"000001000001000001","description":"a5"
~ "description":"b10"
GET /api/annotation?start_time=1356998405&tsuid=000001000001000001
= 404
GET /api/annotation?start_time=1356998415999&tsuid=000001000001000001
= 404
GET /api/annotation?start_time=1356998410&tsuid=000001000001000002
= 404
GET /api/annotation?start_time=1356998404&tsuid=000001000001000001
= 200
GET /api/annotation?start_time=1356998417&tsuid=000001000001000001
= 200
kill
GET /api/annotation?start_time=1356998405&tsuid=000001000001000001
= 404
GET /api/annotation?start_time=1356998410&tsuid=000001000001000003
= 200
GET /api/query?start=1356998405&end=1356998416&m=sum:d.m{host=b}
| []
# Also of a series that has points in its hour, but none in the range; shown or not.
DELETE /api/query?start=1356998405&end=1356998416&m=sum:d.m{host=c}&no_annotations
= 200
~ "dps":{}
!~ c10
GET /api/annotation?start_time=1356998410&tsuid=000001000001000003
= 404
GET /api/query?start=1356998400&end=1356998416&m=sum:d.m{host=c}
~ "dps":{"1356998400":5}
# The whole of the metric, series by series.
POST /api/query {"start":1356998400,"end":1356998500,"delete":true,"queries":[{"aggregator":"none","metric":"d.m"},{"aggregator":"sum","metric":"d.m"}]}
= 200
~ "a4"
GET /api/query?start=1356998400&end=1356998500&m=none:d.m
= 200
| []
GET /api/annotation?start_time=1356998417&tsuid=000001000001000001
= 404
GET /api/annotation?start_time=1356998410&tsuid=000002000001000001
= 200
GET /api/annotation?start_time=1356998410
= 200
~ "description":"global"
