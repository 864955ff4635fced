! halite.query.answer_bytes=64K tsd.http.query.allow_delete=true
# Other answers have the same limit.
repeat 3000 put la.many 1356998400 1 host=a-name-of-many-characters-so-that-it-takes-room-#
> version
<~ built
<~ Built
GET /api/suggest?type=tagv&max=100000
= 413
~ "message":"The answer is larger than 65536 bytes"
GET /api/search/lookup?m=la.many&limit=0
= 413
GET /api/suggest?type=tagv&max=3
= 200
GET /api/search/lookup?m=la.many
= 200
# A query ends as soon as its answer is too large: no sub-query is read behind that.
> put la.m 1356998400 1 host=a
> put la.m 1357002000 2 host=b
> version
<~ built
GET /api/query?start=1356998400&end=1357041600&m=none:1s-avg-zero:la.m%7Bhost=a%7D&m=none:la.m%7Bhost=b%7D
= 413
| {"error":{"code":413,"message":"The answer is larger than 65536 bytes. Please ask for less time, fewer series or coarser points."}}
GET /api/stats/query
= 200
~ "rowsPreFilter":1,
~ "emittedDPs":0,
# What has no answer deletes nothing.
DELETE /api/query?start=1356998400&end=1357041600&m=none:1s-avg-zero:la.m%7Bhost=a%7D
= 413
GET /api/query?start=1356998400&end=1357041600&m=none:la.m%7Bhost=a%7D
~ "dps":{"1356998400":1}
GET /api/query?start=1356998400&end=1357041600&m=none:1h-avg-zero:la.m%7Bhost=a%7D&m=none:la.m%7Bhost=b%7D
= 200
~ "1357002000":2
