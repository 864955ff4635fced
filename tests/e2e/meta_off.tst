# Without the meta switches a series has metadata when a request made some.
POST /api/put [{"metric":"m.a","timestamp":1356998400,"value":1,"tags":{"host":"x"}},{"metric":"m.a","timestamp":1356998400,"value":2,"tags":{"host":"y"}}]
= 204
GET /api/uid/uidmeta?uid=000001&type=metric
= 200
~ {"uid":"000001","type":"METRIC","name":"m.a"
GET /api/uid/tsmeta?tsuid=000001000001000001
= 404
| {"error":{"code":404,"message":"Could not find Timeseries meta data"}}
GET /api/uid/tsmeta?m=m.a
= 200
| []
POST /api/uid/tsmeta {"tsuid":"000001000001000001","notes":"n"}
= 400
~ "message":"Requested TSMeta did not exist"
POST /api/uid/tsmeta?m=m.a{host=x} {"notes":"n"}
= 400
~ Could not find TSMeta, specify \"create=true\" to create a new one.
POST /api/uid/tsmeta?m=m.a{host=x}&create=true {"notes":"n"}
= 200
~ "notes":"n"
GET /api/uid/tsmeta?m=m.a
= 200
~ [{"tsuid":"000001000001000001","metric"
!~ 000001000001000002
POST /api/uid/tsmeta {"tsuid":"000001000001000001","units":"ms"}
= 200
~ "notes":"n"
~ "units":"ms"
