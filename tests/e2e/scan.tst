! halite.query.scan=range
# halite.query.scan: the way of reading is chosen by hand; the answer is the same.
> put s.m 1356998400 1 host=web01 dc=lga
> put s.m 1356998400 2 host=web02 dc=lga
> version
<~ built at revision
<~ Built on
POST /api/query {"start":1356998400,"end":1356998500,"showStats":true,"queries":[{"aggregator":"sum","metric":"s.m","filters":[{"type":"literal_or","tagk":"host","filter":"web01","groupBy":false}]}]}
= 200
~ "dps":{"1356998400":1
~ "plan":"range; series 1 of 2
