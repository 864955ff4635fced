! tsd.http.request.cors_domains=http://friend.example
with Origin: http://friend.example
POST /api/put {"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"a"}}
= 204
with Origin: http://friend.example
with Sec-Fetch-Site: cross-site
GET /api/uid/assign?metric=x
= 200
# A friend may change things, but is not of this machine.
with Origin: http://friend.example
with Sec-Fetch-Site: cross-site
GET /api/dropcaches
= 403
~ Only this machine may drop caches, and no page of another site
with Origin: http://evil.example
POST /api/put {"metric":"n","timestamp":1356998400,"value":1,"tags":{"host":"a"}}
= 200
~ CORS domain not allowed
with Sec-Fetch-Site: cross-site
GET /dropcaches
= 403
GET /api/suggest?type=metrics
= 200
| ["m","x"]
