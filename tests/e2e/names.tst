# Names: suggest, lookup, assign, rename.
> put n.cpu 1356998400 1 host=web01 dc=lga
> put n.cpu 1356998400 1 host=web02 dc=sjc
> put n.mem 1356998400 1 host=web01
> version
<~ built at revision
<~ Built on
GET /api/suggest?type=metrics&q=n.
= 200
| ["n.cpu","n.mem"]
GET /api/suggest?type=tagv&q=web&max=1
= 200
| ["web01"]
GET /api/suggest?type=tagv&q=WEB
= 200
| []
GET /api/search/lookup?m=n.cpu{host=web02}
= 200
~ "results":[{"tsuid":"000001000001000003000002000004","metric":"n.cpu","tags":{"host":"web02","dc":"sjc"}}],"startIndex":0,"totalResults":1}
GET /api/search/lookup?m={host=*}
= 200
~ "totalResults":3
GET /api/search/lookup?m=n.cpu{dc=lga,dc=sjc}
= 200
~ "totalResults":2
GET /api/search/lookup?m=n.none
= 404
~ "details":"No such name for 'metrics': 'n.none'"
GET /api/uid/assign?metric=n.new,n.cpu
= 400
| {"metric":{"n.new":"000003"},"metric_errors":{"n.cpu":"Name already exists with UID: 000001"}}

# A renamed metric keeps its points, and a put of the old name makes a new one.
GET /api/uid/rename?metric=n.cpu&name=n.cpu2
= 200
| {"result":"true"}
GET /api/query?start=1356998400&end=1356998500&m=sum:n.cpu2{host=web01}
= 200
~ "dps":{"1356998400":1}
> put n.cpu 1356998400 5 host=web01 dc=lga
> version
<~ built at revision
<~ Built on
GET /api/query?start=1356998400&end=1356998500&m=sum:n.cpu
= 200
~ "dps":{"1356998400":5}
GET /api/query?start=1356998400&end=1356998500&m=sum:n.cpu2{host=web01}
= 200
~ "dps":{"1356998400":1}
