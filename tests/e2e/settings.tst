! tsd.core.auto_create_metrics=false tsd.http.header_tag=X-Tag
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
