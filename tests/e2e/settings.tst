! tsd.core.auto_create_metrics=false tsd.http.header_tag=X-Tag halite.telnet.line_bytes=1024
# What is not known stays unknown.
> put e.new 1356998400 1 host=a
< put: unknown metric: No such name for 'metrics': 'e.new'
POST /api/put?details {"metric":"e.new","timestamp":1356998400,"value":1,"tags":{"host":"a"}}
= 400
~ "error":"Unknown metric"

# The header's tag is added to each point, and must be one.
POST /api/uid/assign {"metric":["e.known"]}
= 200
with X-Tag: dc=lga
POST /api/put [{"metric":"e.known","timestamp":1356998400,"value":1,"tags":{"host":"a"}},{"metric":"e.known","timestamp":1356998401,"value":2,"tags":{"dc":"x"}}]
= 204
with X-Tag: lga
POST /api/put {"metric":"e.known","timestamp":1356998400,"value":1,"tags":{"host":"a"}}
= 400
~ invalid tag: lga
GET /api/query?start=1356998340&end=1357002000&m=none:e.known
= 200
~ "dc":"lga"
!~ "dc":"x"

# A line that is too long is answered once, and the next one is read.
> put e.known 1356998400 1 host=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
< line too long: skipped, the limit is 1024 bytes
GET /logs
~ : it is longer than halite.telnet.line_bytes allows
GET /metrics
~ halite_telnet_lines_rejected_total{reason="too_long"} 1
> put e.known 1356998402 3 host=a
fin
GET /api/query?start=1356998340&end=1357002000&m=none:e.known%7Bhost=a%7D
~ "1356998402":3

# The log's level as it is.
GET /api/config
~ "halite.log.level":"info"
GET /logs?level=DEBUG
= 200
GET /api/config
~ "halite.log.level":"debug"
