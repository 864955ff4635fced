! halite.auth.file=@/auth tsd.http.query.allow_delete=true
file auth # who may come in
file auth user grafana read $5$rounds=1000$abcdefgh$XIppta5rT8zJUu4vAOKQXrwq9uY4Ijlz6VjyOmkx5i4
file auth user jane read,write $5$rounds=1000$abcdefgh$VTY61cl13PAPtXzlNzG3cKT90e.LoA1xyJQGturQf2A
file auth user root admin $5$rounds=1000$abcdefgh$Gii2tKXx.RIufipdtrtWua9Ke9PHIjVVkgJE0flho/.
file auth token agent write sha256:a3ee786b5707c27d42570785081ec17f5c7db9262a01366af362a1aa61a420b9
# A request without credentials is anonymous on every path.
GET /api/suggest?type=metrics
= 401
| {"error":{"code":401,"message":"Unauthorized","details":"This needs a password or a token"}}
GET /API/v1/Suggest?type=metrics
= 401
GET /stats
= 401
HEAD /metrics
= 401
POST /api/put {"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"a"}}
= 401
GET /diediedie
= 401
GET /health
= 200
GET /api/status
= 200
GET /api/nosuch
= 404
# Wrong ones.
with Authorization: Basic Z3JhZmFuYTpTZWNyZXQ=
GET /api/suggest?type=metrics
= 401
~ These credentials are not good
with Authorization: Basic bm9ib2R5OnNlY3JldA==
GET /api/suggest?type=metrics
= 401
with Authorization: Bearer let-me-inn
GET /api/suggest?type=metrics
= 401
with Authorization: Basic YWdlbnQ6bGV0LW1lLWlu
GET /api/suggest?type=metrics
= 401
with Authorization: Digest username="grafana"
GET /api/suggest?type=metrics
= 401
with Authorization: Basic Z3JhZmFuYTpzZWNyZXQ=
with Authorization: Basic Z3JhZmFuYTpzZWNyZXQ=
GET /api/suggest?type=metrics
= 401
# A reader reads.
with Authorization: Basic Z3JhZmFuYTpzZWNyZXQ=
GET /api/suggest?type=metrics
= 200
| []
with authorization: basic   Z3JhZmFuYTpzZWNyZXQ=
GET /api/suggest?type=metrics
= 200
with Authorization: Basic Z3JhZmFuYTpzZWNyZXQ=
POST /api/put {"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"a"}}
= 403
| {"error":{"code":403,"message":"Forbidden","details":"This needs the role write"}}
with Authorization: Basic Z3JhZmFuYTpzZWNyZXQ=
GET /api/annotation?start_time=1356998400&method_override=POST&description=x
= 403
with Authorization: Basic Z3JhZmFuYTpzZWNyZXQ=
GET /api/annotation?start_time=1356998400&method_override=DELETE
= 403
~ role admin
with Authorization: Basic Z3JhZmFuYTpzZWNyZXQ=
GET /api/uid/assign?metric=x
= 403
with Authorization: Basic Z3JhZmFuYTpzZWNyZXQ=
GET /dropcaches
= 403
with Authorization: Basic Z3JhZmFuYTpzZWNyZXQ=
GET /logs
= 403
# A writer writes, and no more.
with Authorization: Bearer let-me-in
POST /api/put {"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"a"}}
= 204
with Authorization: Bearer let-me-in
GET /api/query?start=1356998400&end=1356998500&m=sum:m
= 403
with Authorization: Basic amFuZTp0d28gd29yZHM=
GET /api/query?start=1356998400&end=1356998500&m=sum:m
= 200
~ "1356998400":1
# What is deleted by a member of the body, or by a method, needs the role too.
with Authorization: Basic amFuZTp0d28gd29yZHM=
POST /api/query {"start":1356998400,"end":1356998500,"delete":true,"queries":[{"metric":"m","aggregator":"sum"}]}
= 403
~ Deleting needs the role admin
with Authorization: Basic amFuZTp0d28gd29yZHM=
DELETE /api/query?start=1356998400&end=1356998500&m=sum:m
= 403
with Authorization: Basic cm9vdDpyb290
DELETE /api/query?start=1356998400&end=1356998500&m=sum:m
= 200
with Authorization: Basic cm9vdDpyb290
GET /api/query?start=1356998400&end=1356998500&m=sum:m
= 200
| []
with Authorization: Basic cm9vdDpyb290
GET /dropcaches
= 200
# Telnet: a line does nothing before "auth".
> version
< AUTH_FAIL\r
> put t 1356998400 1 host=a
< AUTH_FAIL\r
> auth
< AUTH_FAIL\r
> auth let-me-inn
< AUTH_FAIL\r
> auth grafana Secret
< AUTH_FAIL\r
> help
< available commands: stats dropcaches version exit help put rollup histogram diediedie auth 
> auth grafana secret
< AUTH_SUCCESS\r
> put t 1356998400 1 host=a
< put: Unauthorized command
> put t 1356998400 1 host=a\nput t 1356998401 1 host=a
< put: Unauthorized command
< put: Unauthorized command
> diediedie
< diediedie: Unauthorized command
> version
<~ built at revision
<~ Built on
fin
> auth let-me-in\r\nput t 1356998400 5 host=a
< AUTH_SUCCESS\r
> stats
< stats: Unauthorized command
> auth jane two words
< AUTH_SUCCESS\r
fin
with Authorization: Basic amFuZTp0d28gd29yZHM=
GET /api/query?start=1356998400&end=1356998500&m=sum:t
= 200
~ "1356998400":5
# It is counted.
with Authorization: Basic Z3JhZmFuYTpzZWNyZXQ=
GET /api/stats
= 200
~ tsd.rpc.forbidden
# Who guesses is not listened to.
with Authorization: Basic Z3JhZmFuYTpndWVzczE=
GET /api/suggest?type=metrics
with Authorization: Basic Z3JhZmFuYTpndWVzczI=
GET /api/suggest?type=metrics
with Authorization: Basic Z3JhZmFuYTpndWVzczM=
GET /api/suggest?type=metrics
with Authorization: Basic Z3JhZmFuYTpndWVzczQ=
GET /api/suggest?type=metrics
with Authorization: Basic Z3JhZmFuYTpndWVzczU=
GET /api/suggest?type=metrics
with Authorization: Basic Z3JhZmFuYTpndWVzczY=
GET /api/suggest?type=metrics
with Authorization: Basic Z3JhZmFuYTpndWVzczc=
GET /api/suggest?type=metrics
with Authorization: Basic Z3JhZmFuYTpndWVzczg=
GET /api/suggest?type=metrics
with Authorization: Basic Z3JhZmFuYTpndWVzczk=
GET /api/suggest?type=metrics
with Authorization: Basic Z3JhZmFuYTpndWVzczEw
GET /api/suggest?type=metrics
with Authorization: Basic Z3JhZmFuYTpndWVzczEx
GET /api/suggest?type=metrics
with Authorization: Basic Z3JhZmFuYTpndWVzczEy
GET /api/suggest?type=metrics
with Authorization: Basic Z3JhZmFuYTpndWVzczEz
GET /api/suggest?type=metrics
with Authorization: Basic Z3JhZmFuYTpndWVzczE0
GET /api/suggest?type=metrics
= 429
# ... while those who are known come in.
with Authorization: Basic Z3JhZmFuYTpzZWNyZXQ=
GET /api/suggest?type=metrics
= 200
