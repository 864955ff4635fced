! tsd.core.enable_ui=false
# The pages are not there, /api and what load balancers ask for are.
GET /
= 404
GET /version
= 404
GET /logs
= 404
GET /q?start=1356998400&m=sum:m&ascii
= 404
GET /diediedie
= 404
GET /favicon.ico
= 404
GET /s/x
= 404
GET /health
= 200
| {"status":"ok"}
GET /api/version
= 200
POST /api/put {"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"a"}}
= 204
GET /api/suggest?type=metrics
= 200
| ["m"]
