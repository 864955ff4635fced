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
