# /api/put: the status, the summary, the details.
POST /api/put {"metric":"e.h","timestamp":1356998400,"value":1,"tags":{"host":"a"}}
= 204
|
POST /api/put?summary [{"metric":"e.h","timestamp":1356998401,"value":"2.5","tags":{"host":"a"}},{"metric":"e.h","timestamp":"1356998402","value":3,"tags":{"host":"a"}}]
= 200
| {"success":2,"failed":0}
POST /api/put?details [{"metric":"e.h","timestamp":1356998403,"value":"bad","tags":{"host":"a"}},{"metric":"e.h","timestamp":1356998404,"value":4,"tags":{"host":"a"}},null]
= 400
| {"success":1,"failed":2,"errors":[{"datapoint":{"metric":"e.h","timestamp":1356998403,"value":"bad","tags":{"host":"a"}},"error":"Unable to parse value to a number"},{"datapoint":null,"error":"Unexpected null datapoint encountered in set."}]}
POST /api/put [{"metric":"e.h","timestamp":1356998405,"value":NaN,"tags":{"host":"a"}}]
= 400
~ "message":"One or more data points had errors"
POST /api/put?sync&sync_timeout=100&summary {"metric":"e.h","timestamp":1356998406,"value":6,"tags":{"host":"a"}}
= 200
| {"success":1,"failed":0,"timeouts":0}
GET /api/query?start=1356998340&end=1357002000&m=none:e.h
= 200
~ "dps":{"1356998400":1.0,"1356998401":2.5,"1356998402":3,"1356998404":4,"1356998406":6}

# The log names the first rejected point of each kind, and its client.
GET /logs
= 200
~ rejected a point of metric "e.h" from 127.0.0.1
~ : "Unable to parse value to a number"

# A body that is no JSON leaves nothing behind.
POST /api/put [{"metric":"e.none","timestamp":1356998400,"value":1,"tags":{"host":"a"}}
= 400
~ "message":"Unable to parse the given JSON"
POST /api/put 5
= 400
~ "message":"The JSON must start as an object or an array"
POST /api/put []
= 400
~ "message":"No datapoints found in content"
POST /api/put?sync_timeout=abc []
= 400
POST /api/put
= 400
~ "message":"Missing request content"
GET /api/put
= 405
GET /api/suggest?type=metrics&q=e.none
= 200
| []

# All documents of a body are stored, and counted in the answer.
POST /api/put {"metric":"hp.lines","timestamp":1356998400,"value":1,"tags":{"h":"a"}}\n{"metric":"hp.lines","timestamp":1356998401,"value":2,"tags":{"h":"a"}}\r\n\n{"metric":"hp.lines","timestamp":1356998402,"value":3,"tags":{"h":"a"}}\n
= 204
POST /api/put?summary {"metric":"hp.lines","timestamp":1356998403,"value":4,"tags":{"h":"a"}},{"metric":"hp.lines","timestamp":1356998404,"value":5,"tags":{"h":"a"}}
= 200
| {"success":2,"failed":0}
POST /api/put?sync&summary [{"metric":"hp.lines","timestamp":1356998405,"value":6,"tags":{"h":"a"}}]\n[{"metric":"hp.lines","timestamp":1356998406,"value":7,"tags":{"h":"a"}}]
= 200
| {"success":2,"failed":0}
POST /api/put?details {"metric":"hp.lines","timestamp":1356998407,"value":8,"tags":{"h":"a"}}\n{"metric":"hp.lines","timestamp":1356998408,"value":"x","tags":{"h":"a"}}\n{"metric":"hp.lines","timestamp":1356998409,"value":10,"tags":{"h":"a"}}
= 400
| {"success":2,"failed":1,"errors":[{"datapoint":{"metric":"hp.lines","timestamp":1356998408,"value":"x","tags":{"h":"a"}},"error":"Unable to parse value to a number"}]}
GET /api/query?start=1356998340&end=1357002000&m=none:hp.lines
= 200
~ "dps":{"1356998400":1,"1356998401":2,"1356998402":3,"1356998403":4,"1356998404":5,"1356998405":6,"1356998406":7,"1356998407":8,"1356998409":10}

# Text between or after documents that could hide a point is rejected, and nothing is stored.
POST /api/put {"metric":"hp.cut","timestamp":1356998400,"value":1,"tags":{"h":"a"}}\n{"metric":"hp.cut","timest
= 400
~ "message":"Unable to parse the given JSON"
POST /api/put {"metric":"hp.cut","timestamp":1356998400,"value":1,"tags":{"h":"a"}};{"metric":"hp.cut","timestamp":1356998401,"value":1,"tags":{"h":"a"}}
= 400
~ an object or array is expected after the first
GET /api/suggest?type=metrics&q=hp.cut
= 200
| []

# Other endpoints read one document, and reject two of them.
POST /api/annotation {"startTime":1356998400,"description":"one"}\n{"startTime":1356998401,"description":"two"}
= 400
~ more than one JSON document
POST /api/query {"start":1356998340,"end":1357002000,"queries":[{"aggregator":"none","metric":"hp.lines"}]}\n{"start":1356998340,"queries":[]}
= 400
~ more than one JSON document
POST /api/uid/assign {"metric":["hp.assign"]}{"metric":["hp.assigned"]}
= 400
GET /api/suggest?type=metrics&q=hp.assign
= 200
| []

# Requests that are rejected as a whole are logged, with client and reason, and counted.
GET /logs
~ rejected a write from 127.0.0.1
~ : "/api/put": 400 "Unable to parse the given JSON: 
!~ One or more data points had errors
with Content-Encoding: zstd
POST /api/put x
= 415
with Origin: http://elsewhere.example
POST /api/put {"metric":"hp.origin","timestamp":1356998400,"value":1,"tags":{"h":"a"}}
= 403
POST /api/v2/put {"metric":"hp.origin","timestamp":1356998400,"value":1,"tags":{"h":"a"}}
= 501
POST /api/puts {"metric":"hp.origin","timestamp":1356998400,"value":1,"tags":{"h":"a"}}
= 404
PUT /api/rollup {"metric":"hp.origin","timestamp":1356998400,"value":1,"tags":{"h":"a"}}
= 405
GET /logs
~ : "/api/put": 415 "Unsupported Content-Encoding: Only gzip and deflate are taken, not zstd"
~ : "/api/put": 403 "
~ : "/api/v2/put": 501 "Requested API version is greater
GET /metrics
~ halite_put_requests_rejected_total{reason="encoding"} 1
~ halite_put_requests_rejected_total{reason="forbidden"} 1
~ halite_put_requests_rejected_total{reason="path"} 3
~ halite_put_requests_rejected_total{reason="unavailable"} 0
GET /api/stats
~ {"metric":"tsd.put.rejected",

# The largest long is none to OpenTSDB's JSON: the body is rejected, as with a larger one.
POST /api/put?details [{"metric":"hp.max","timestamp":9223372036854775807,"value":1,"tags":{"h":"a"}},{"metric":"hp.max","timestamp":1356998400,"value":1,"tags":{"h":"a"}}]
= 400
~ Unable to parse the given JSON
POST /api/put?details [{"metric":"hp.max","timestamp":9223372036854775806,"value":1,"tags":{"h":"a"}},{"metric":"hp.max","timestamp":1356998400,"value":1,"tags":{"h":"a"}}]
= 400
~ "failed":1
~ "success":1
