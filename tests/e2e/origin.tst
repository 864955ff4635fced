! tsd.http.query.allow_delete=true
# Pages of other sites change nothing.
with Origin: http://evil.example
POST /api/put {"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"a"}}
= 403
~ "message":"Pages of other sites may not do that"
with Origin: null
POST /api/put {"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"a"}}
= 403
with Origin: http://x.evil.example
POST /api/put {"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"a"}}
= 403
with Origin: http://localhost:81
GET /dropcaches
= 403
with Sec-Fetch-Site: cross-site
GET /dropcaches
= 403
with Sec-Fetch-Site: same-site
GET /diediedie
= 403
with Sec-Fetch-Site: cross-site
GET /api/uid/assign?metric=x
= 403
with Sec-Fetch-Site: cross-site
GET /api/annotation?start_time=1356998400&method_override=POST&description=x
= 403
# What only reads is as it was: the browser keeps it from the page.
with Origin: http://evil.example
GET /api/suggest?type=metrics
= 200
| []
with Origin: http://evil.example
POST /api/query {"start":1356998400,"end":1356998500,"queries":[]}
= 400
with Sec-Fetch-Site: cross-site
DELETE /api/query?start=1356998400&end=1356998500&m=sum:m
= 403
# Our own, whoever undid TLS for us; typed by hand; and what is no browser.
with Origin: http://localhost
POST /api/put {"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"a"}}
= 204
with Origin: https://LOCALHOST:443
POST /api/put {"metric":"m","timestamp":1356998400,"value":2,"tags":{"host":"a"}}
= 204
with Sec-Fetch-Site: same-origin
GET /dropcaches
= 200
with Sec-Fetch-Site: none
GET /dropcaches
= 200
POST /api/put {"metric":"m","timestamp":1356998400,"value":3,"tags":{"host":"a"}}
= 204
with Origin: http://evil.example
POST /api/query {"start":1356998400,"end":1356998500,"delete":true,"queries":[{"metric":"m","aggregator":"sum"}]}
= 403
GET /api/query?start=1356998400&end=1356998500&m=sum:m
= 200
~ "1356998400":3
