! disk --sync=off tsd.core.meta.enable_realtime_ts=true tsd.core.meta.enable_tsuid_tracking=true
# What people say about names and series: made, changed, deleted; and it lasts.
POST /api/put [{"metric":"m.a","timestamp":1356998400,"value":1,"tags":{"host":"x"}},{"metric":"m.a","timestamp":1356998460,"value":2,"tags":{"host":"x"}},{"metric":"m.a","timestamp":1356998400,"value":1,"tags":{"host":"y","dc":"q"}}]
= 204

# Names.
GET /api/uid/uidmeta?uid=000001&type=metric
= 200
~ {"uid":"000001","type":"METRIC","name":"m.a","description":"","notes":"","created":
~ ,"custom":null,"displayName":""}
!~ "created":0,
POST /api/uid/uidmeta {"uid":"000001","type":"metric","displayName":"A","custom":{"owner":"me"},"created":77}
= 200
| {"uid":"000001","type":"METRIC","name":"m.a","description":"","notes":"","created":77,"custom":{"owner":"me"},"displayName":"A"}
POST /api/uid/uidmeta {"uid":"000001","type":"metric","notes":"n","created":99}
= 200
| {"uid":"000001","type":"METRIC","name":"m.a","description":"","notes":"n","created":77,"custom":{"owner":"me"},"displayName":"A"}
POST /api/uid/uidmeta {"uid":"000001","type":"metric","notes":"","name":"other"}
= 304
POST /api/uid/uidmeta {"uid":"000001"}
= 400
| {"error":{"code":400,"message":"Missing type","details":"Missing type"}}
GET /api/uid/uidmeta?uid=1&type=metric
= 400
~ Wrong id.length = 1 which is != 3 required for 'metrics'
GET /api/uid/uidmeta?uid=0000ff&type=TAGV&method_override=delete
= 204
GET /api/uid/uidmeta?uid=0000ff&type=TAGV
= 404
~ "details":"No such unique ID for 'tagv': [0, 0, -1]"
PUT /api/uid/uidmeta {"uid":"000001","type":"tagk","description":"where"}
= 200
DELETE /api/uid/uidmeta?uid=000001&type=tagk
= 204
GET /api/uid/uidmeta?uid=000001&type=tagk
= 200
| {"uid":"000001","type":"TAGK","name":"host","description":"","notes":"","created":0,"custom":null,"displayName":""}

# Null empties a member, and is shown.
POST /api/uid/uidmeta {"uid":"000001","type":"tagv","displayName":"D","notes":"n","custom":{"a":"b"}}
= 200
POST /api/uid/uidmeta {"uid":"000001","type":"tagv","displayName":null,"custom":{"a":null},"created":""}
= 200
~ "notes":"n",
~ "custom":{"a":null},"displayName":null}
PUT /api/uid/uidmeta {"uid":"000001","type":"tagv","description":"d"}
= 200
~ "custom":null,"displayName":""}

# Series.
POST /api/uid/tsmeta {"tsuid":"000001000001000001","units":null,"max":null,"min":""}
= 200
!~ "units":
~ ,"retention":0,"max":0.0,"min":0.0,"displayName":
DELETE /api/uid/tsmeta {"tsuid":"000001000001000001"}
= 204
POST /api/uid/tsmeta?m=m.a{host=x}&create=true {"units":""}
= 200
GET /api/uid/tsmeta?tsuid=000001000001000001
= 200
~ {"tsuid":"000001000001000001","metric":{"uid":"000001","type":"METRIC","name":"m.a","description":"","notes":"n","created":77,
~ "units":"","retention":0,"max":"NaN","min":"NaN","displayName":"","dataType":"","lastReceived":1356998460,"totalDatapoints":2}
GET /api/uid/tsmeta?m=m.a{dc=q}
= 200
~ [{"tsuid":"000001000001000002000002000003",
~ "lastReceived":1356998400,"totalDatapoints":1}]
POST /api/uid/tsmeta?m=m.a{dc=q,host=y} {"units":"ms","max":100.5,"min":"-1","retention":30,"custom":{}}
= 200
~ "custom":{},"units":"ms","retention":30,"max":100.5,"min":-1.0,
GET /api/uid/tsmeta?tsuid=000001000001000001&max=0.1&method_override=post
= 200
~ "max":0.10000000149011612,"min":"NaN"
POST /api/uid/tsmeta {"tsuid":"000001000001000001"}
= 304
POST /api/uid/tsmeta?m=m.a{host=y} {"notes":"not yet"}
= 400
~ Could not find TSMeta, specify \"create=true\" to create a new one.
POST /api/uid/tsmeta?m=m.a{host=y}&create=true {"notes":"not yet"}
= 200
~ "notes":"not yet","created":0,"units":"","retention":0,"max":"NaN","min":"NaN","displayName":"","dataType":"","lastReceived":0,"totalDatapoints":0}
DELETE /api/uid/tsmeta {"tsuid":"000001000001000001"}
= 204
POST /api/uid/tsmeta {"tsuid":"000001000001000001","notes":"back"}
= 400
~ Requested TSMeta did not exist

kill
GET /api/uid/tsmeta?tsuid=000001000001000001
= 404
| {"error":{"code":404,"message":"Could not find Timeseries meta data"}}
restart
GET /api/uid/uidmeta?uid=000001&type=metrics
= 200
| {"uid":"000001","type":"METRIC","name":"m.a","description":"","notes":"n","created":77,"custom":{"owner":"me"},"displayName":"A"}
GET /api/uid/tsmeta?m=m.a
= 200
!~ 000001000001000001
~ [{"tsuid":"000001000001000002","metric"
~ "units":"ms","retention":30,"max":100.5,"min":-1.0,"displayName":"","dataType":"","lastReceived":1356998400,"totalDatapoints":1}]
POST /api/uid/tsmeta?m=m.a{host=x}&create=true {"notes":"back"}
= 200
~ "notes":"back","created":0,
~ "totalDatapoints":2}

# What has no end, no sense, or no name.
GET /api/uid/tsmeta?tsuid=zz
= 400
GET /api/uid/tsmeta?m=none{a=b}
= 404
~ "message":"Unable to find one of the UIDs","details":"No such name for 'metrics': 'none'"
GET /api/uid/tsmeta?m=m.a{host=none}
= 400
~ "message":"At least one of the Deferreds failed, first exception:","details":"At
GET /api/uid/tsmeta?m=m.a{none=x}
= 400
~ "message":"At least one of the Deferreds failed, first exception:"
GET /api/uid/tsmeta?m=m.a{host=x
= 400
POST /api/uid/tsmeta {"tsuid":"000001","notes":"n"}
= 400
~ "message":"TSUID is too short, may be missing tags","details":"TSUID is too short
POST /api/uid/tsmeta {"tsuid":"0000010000010000","notes":"n"}
= 400
~ "message":"The TSUID appears to be malformed, improper tag width"
PUT /api/uid/tsmeta {"tsuid":"000001000001zz0001","notes":"n"}
= 400
~ "message":"contains illegal character for hexBinary: zz0001"
GET /api/uid/tsmeta?tsuid=xyz
= 400
~ "message":"contains illegal character for hexBinary: 0xyz"
POST /api/uid/tsmeta {"tsuid":"000001000001000001","max":"much"}
= 400
~ "details":"'max' must be a number"
GET /api/uid/tsmeta?retention=x&method_override=put
= 400
~ Unable to parse 'retention' value
DELETE /api/uid/tsmeta {"tsuid":""}
= 400
~ "details":"Missing UID"

# Deleting does not ask whether there is such an id.
DELETE /api/uid/uidmeta?uid=0001&type=metric
= 204
DELETE /api/uid/uidmeta?uid=zz&type=metric
= 400
POST /api/uid/tsmeta?m=m.a&create=true {"notes":"x"}
= 400
~ Could not find TSMeta
