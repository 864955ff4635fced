! disk --sync=off tsd.search.enable=true tsd.core.meta.enable_realtime_ts=true tsd.core.meta.enable_tsuid_tracking=true
# Searching names, metadata and annotations.
POST /api/put [{"metric":"s.cpu","timestamp":1356998400,"value":1,"tags":{"host":"web01"}},{"metric":"s.cpu","timestamp":1356998460,"value":2,"tags":{"host":"web02","dc":"lga"}},{"metric":"s.mem","timestamp":1356998400,"value":1,"tags":{"host":"db01"}}]
= 204
POST /api/uid/uidmeta {"uid":"000001","type":"metric","notes":"Busy, or not"}
= 200
POST /api/uid/tsmeta?m=s.mem{host=db01} {"units":"bytes","custom":{"owner":"carol"}}
= 200
POST /api/annotation {"startTime":1356998410,"tsuid":"000001000001000001","description":"deploy two","custom":{"who":"carol"}}
= 200
POST /api/annotation {"startTime":1356998420,"description":"for all"}
= 200

GET /api/search/tsuids?query=metric:cpu
= 200
~ {"type":"TSUIDS","query":"metric:cpu","metric":"*","limit":25,"results":["000001000001000001","000001000001000002000002000003"],"time":
~ ,"startIndex":0,"totalResults":2}
GET /api/search/tsuids?query=s.*&limit=1&start_index=1
= 200
~ "results":["000001000001000002000002000003"]
~ "startIndex":1,"totalResults":3}
GET /api/search/tsuids?query=host:web*%20-dc:*
= 200
~ "results":["000001000001000001"]
POST /api/search/tsmeta_summary {"query":"owner:CAROL units:byte*","limit":3}
= 200
~ "type":"TSMETA_SUMMARY","query":"owner:CAROL units:byte*","metric":"*","limit":3,"results":[{"tsuid":"000002000001000004","metric":"s.mem","tags":{"host":"db01"}}]
GET /api/search/tsmeta?query=db01
= 200
~ "results":[{"tsuid":"000002000001000004","metric":{"uid":"000002","type":"METRIC","name":"s.mem",
~ "custom":{"owner":"carol"},"units":"bytes",
~ "totalDatapoints":1}],"time":
GET /api/search/uidmeta?query=notes:busy
= 200
~ "results":[{"uid":"000001","type":"METRIC","name":"s.cpu",
~ "totalResults":1}
GET /api/search/uidmeta?query=type:tagv%20web*
= 200
~ "totalResults":2}
GET /api/search/annotation?query=deploy
= 200
~ "results":[{"tsuid":"000001000001000001","description":"deploy two","notes":"","custom":{"who":"carol"},"startTime":1356998410,"endTime":0}]
GET /api/search/annotation?query=*
= 200
~ "totalResults":2}

# Series without points are found, deleted metadata is not.
POST /api/uid/tsmeta?m=s.mem{host=web01}&create=true {"notes":"planned"}
= 200
DELETE /api/uid/tsmeta?tsuid=000001000001000001
= 204
restart
GET /api/search/tsuids?query=host:web01
= 200
~ "results":["000002000001000001"]
GET /api/search/tsuids?query=nothing
= 200
~ "results":[],"time":

GET /api/search/tsuids
= 400
~ Missing parameter <code>query</code>
GET /api/search/tsuids?query=a%20OR%20b
= 400
~ "message":"OR is not understood in a search: all terms must hold"
GET /api/search/tsuids?query=a&limit=x
= 400
~ Unable to convert 'limit' to a valid number
POST /api/search/tsuids {"query":{}}
= 400
~ "details":"'query' must be a text"
GET /api/search/words?query=a
= 400
~ "details":"Unknown type: words"
