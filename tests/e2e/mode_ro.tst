! tsd.mode=ro tsd.http.query.allow_delete=true
# It reads; what would write is not there.
GET /api/suggest?type=metrics
= 200
| []
POST /api/put {"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"a"}}
= 404
~ "message":"Endpoint not found"
POST /api/annotation {"startTime":1356998400}
= 404
GET /api/uid/assign?metric=m
= 404
> put m 1356998400 1 host=a
< unknown command: put.  Try `help'.
# Clients that write are named in the log.
GET /logs
~ rejected a write from 127.0.0.1
~ : "/api/put": 404 "Endpoint not found
~ rejected a line from 127.0.0.1
GET /metrics
~ halite_put_requests_rejected_total{reason="path"} 2
~ halite_telnet_lines_rejected_total{reason="unknown_command"} 1
POST /api/query {"start":1356998400,"end":1356998500,"delete":true,"queries":[{"metric":"m","aggregator":"sum"}]}
= 400
~ Deleting data is not enabled
GET /
= 200
GET /api/version
= 200
GET /logs
= 200
GET /health
= 200
POST /api/tool {"words":["scan","--import"]}
= 200
POST /api/tool {"words":["scan","--delete","1356998400","sum","m"]}
= 400
~ scan: this server reads only
POST /api/tool {"words":["mkmetric","made"]}
= 400
POST /api/tool/import
= 400
# Retention would drop points.
PUT /api/retention {"policies":"* 30d"}
= 400
~ retention: this server reads only
PUT /api/retention?dry_run {"policies":"* 30d"}
= 200
~ "dryRun":true
DELETE /api/retention
= 400
GET /api/retention
= 200
~ "source":"settings"
