! halite.auth.file=@/auth
file auth anonymous read,write
file auth user root admin $5$rounds=1000$abcdefgh$Gii2tKXx.RIufipdtrtWua9Ke9PHIjVVkgJE0flho/.
POST /api/put {"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"a"}}
= 204
> put m 1356998401 2 host=a
> auth root wrong
< AUTH_FAIL\r
> dropcaches
< AUTH_FAIL\r
> auth root root
< AUTH_SUCCESS\r
> dropcaches
< Caches dropped.
fin
GET /api/query?start=1356998400&end=1356998500&m=sum:m
= 200
~ "1356998401":2
GET /dropcaches
= 401
DELETE /api/stats/query?id=1
= 401
GET /api/cardinality
= 200
with Authorization: Basic cm9vdDpyb290
GET /dropcaches
= 200
with Authorization: Basic cm9vdDpyb290
DELETE /api/stats/query?id=1
= 404
# Wrong credentials are worse than none.
with Authorization: Basic cm9vdDp3cm9uZw==
GET /api/suggest?type=metrics
= 401
