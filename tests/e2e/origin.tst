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
# An image or a link sends only where its page is from.
with Referer: http://evil.example/page
GET /api/uid/assign?metric=x
= 403
with Referer: http://evil.example/page
GET /api/uid/rename?metric=m&name=x
= 403
with Referer: http://evil.example/page
GET /api/annotation?start_time=1356998400&method_override=delete
= 403
with Referer: http://evil.example/page
GET /api/retention?method_override=delete
= 403
with Referer: http://evil.example/page
GET /dropcaches
= 403
with Referer: http://evil.example/page
GET /logs?level=DEBUG
= 403
with Referer: http://evil.example/page
GET /api/suggest?type=metrics
= 200
# Clients of a proxy on this machine are not local.
with X-Forwarded-For: 203.0.113.9
POST /api/tool {"words":["uid","assign","metrics","x"]}
= 403
~ not through a proxy (the request has X-Forwarded-For)
with Forwarded: for=203.0.113.9
POST /api/backup?to=/nowhere/at/all
= 403
with Via: 1.1 proxy
GET /api/dropcaches
= 403
with X-Real-IP: 203.0.113.9
GET /diediedie
= 400
~ not through a proxy
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
