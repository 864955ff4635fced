# OpenTSDB's names, here or not.
GET /api/stats
= 200
~ {"metric":"tsd.datapoints.added",
~ "tags":{"type":"all","class":"TSDB","host":
!~ "fqdn"
~ {"metric":"tsd.http.latency_50pct",
~ {"metric":"tsd.http.latency_95pct",
~ "tags":{"type":"http_plugin",
~ {"metric":"tsd.jvm.thread.count",
~ {"metric":"tsd.uid.filter.rejected",
~ {"metric":"tsd.compaction.count",
~ {"metric":"tsd.compaction.queue.size",
~ "tags":{"type":"variant",
~ {"metric":"tsd.hbase.latency_50pct",
~ "tags":{"method":"put","class":"IncomingDataPoints",
~ "tags":{"method":"scan","class":"TsdbQuery",
POST /api/stats
= 200
# No point yet; a minute of the same answer begins with the first one.
GET /api/stats/range
= 200
| {"age":0}
GET /api/stats/jvm
= 200
~ "memory":{"objectsPendingFinalization":0,
GET /api/stats/threads
= 200
~ "state":"RUNNABLE"
GET /api/stats/region_clients
= 200
| []
> status
< ok
GET /api/status
= 200
| {"status":"ok"}
> stats
<~ tsd.rpc.received

# The log, and how much it tells.
GET /logs
= 200
~ listening on
GET /logs?json
= 200
~ listening on
GET /logs?level=DEBUG
= 200
| Set the log level to DEBUG on 1 loggers.
GET /logs?level=LOUD
= 400
~ Invalid level: &quot;LOUD&quot;
GET /logs?level=INFO
= 200
GET /api/stats/query/x
= 200
~ "completed":
GET /api/config/Filters/x
= 200
~ literal_or
GET /logs?json&level=bogus
= 200
GET /logs?level=INFO&logger=ROOT
= 200
GET /logs?level=INFO&logger=nosuch
= 400
~ Invalid logger: 
# What each salt bucket of a query cost.
conn 1
> put st.m 1356998400 1 host=a
> put st.m 1356998460 2 host=b
> put
<~ put: illegal argument
GET /api/query?start=1356998400&end=1356998500&m=sum:st.m&show_summary
= 200
~ "dpsPostFilter":2,"dpsDecoded":2,
~ "dpsPreFilter":2,"dpsPostFilter":2,"rowsPreFilter":2,"rowsPostFilter":2,"successfulScan":16,"maxScannerTime":
~ "maxQueryScanTime":
~ "avgQueryScanTime":
~ "maxAggregationTime":
~ "avgAggregationTime":
~ "maxSerializationTime":
~ "avgSerializationTime":
~ ,"serializationTime":
~ "emittedDPs":2,"rowsPreFilter":2,"rowsPostFilter":2,"dpsPreFilter":2,"successfulScan":16,
~ "scannerStats":{"scannerIdx_00":{"scannerId":"salt bucket 0","scannerTime":
~ "scannerIdx_15":{
GET /api/stats/range
= 200
~ {"oldest":1356998400000,"newest":1356998460000,"age":
> put st.m 1357998460 2 host=b
> put
<~ put: illegal argument
GET /api/stats/range
= 200
~ {"oldest":1356998400000,"newest":1356998460000,"age":
GET /api/stats/query
~ "dpsPreFilter":2,"dpsPostFilter":2,"rowsPreFilter":2,"rowsPostFilter":2,"successfulScan":16,"maxScannerTime":
# The slowest of the last hour, with their plans; and none runs that could be stopped.
GET /api/stats/query?slowest
= 200
~ {"running":[],"slowest":[{"query":{"start":"1356998400",
~ "id":
~ "seeks":
~ "plan":"range; series 2 of 2;
DELETE /api/stats/query?id=12345
= 404
~ "message":"No query runs with the id 12345"
DELETE /api/stats/query?id=x
= 400
~ "message":"Unable to parse 'id' as a number"
DELETE /api/stats/query
= 400
~ Missing parameter
DELETE /api/stats
= 405
DELETE /api/stats/range
= 405
