! tsd.http.request.cors_domains=* tsd.http.query.allow_delete=true halite.local=none
# '*' opens reading, and nothing else; and no client is local here.
POST /api/put {"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"a"}}
= 204
with Origin: http://evil.example
GET /api/suggest?type=metrics
= 200
| ["m"]
with Origin: http://evil.example
POST /api/query {"start":1356998400,"end":1356998500,"queries":[{"metric":"m","aggregator":"sum"}]}
= 200
with Origin: http://evil.example
POST /api/query {"start":1356998400,"end":1356998500,"delete":true,"queries":[{"metric":"m","aggregator":"sum"}]}
= 403
with Origin: http://evil.example
DELETE /api/query?start=1356998400&end=1356998500&m=sum:m
= 403
with Origin: http://evil.example
POST /api/put {"metric":"m","timestamp":1356998400,"value":2,"tags":{"host":"a"}}
= 403
~ (* lets them read only)
with Origin: http://evil.example
POST /api/uid/assign {"metric":["evil"]}
= 403
with Origin: http://evil.example
POST /api/tool {"words":["uid","assign","metrics","evil"]}
= 403
with Origin: http://evil.example
POST /api/backup?to=/nowhere/at/all
= 403
with Origin: http://evil.example
GET /dropcaches
= 403
with Origin: http://evil.example
GET /diediedie
= 403
# Programs of this machine are as all others.
POST /api/tool {"words":["uid","assign","metrics","evil"]}
= 403
~ Only this machine may run tools
GET /api/dropcaches
= 403
POST /api/backup?to=/nowhere/at/all
= 403
GET /diediedie
= 400
> dropcaches
< dropcaches: only this machine may do that
> diediedie
< diediedie: only this machine may do that
GET /api/query?start=1356998400&end=1356998500&m=sum:m
= 200
~ "1356998400":1
