! disk --sync=off
# What was acknowledged outlives the daemon, however it ends.
> put e.d 1356998400 1 host=a
> put e.d 1356998401 2 host=b
> version
<~ halite
<~ uilt
POST /api/put {"metric":"e.d","timestamp":1356998402,"value":3,"tags":{"host":"a"}}
= 204
kill
GET /api/query?start=1356998340&end=1357002000&m=none:e.d
= 200
~ "1356998400":1
~ "1356998401":2
~ "1356998402":3
> put e.d 1356998403 4 host=a
> put e.d 1356998401 7 host=b
fin
restart
GET /api/query?start=1356998340&end=1357002000&m=none:e.d%7Bhost=b%7D
= 200
~ "1356998401":7
GET /api/query?start=1356998340&end=1357002000&m=none:e.d%7Bhost=a%7D
~ "1356998403":4
# What is counted is what was deleted, without what the WAL adds.
POST /api/annotation {"startTime":1356998400,"description":"x"}
= 200
POST /api/annotation {"startTime":1356998401,"description":"y"}
= 200
DELETE /api/annotation/bulk {"startTime":1356998400,"endTime":1356998500,"global":true}
= 200
~ "totalDeleted":2
kill
GET /api/annotation?start_time=1356998400
= 404
