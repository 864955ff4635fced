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
PUT /api/search/lookup?m=n.cpu
= 400
~ "message":"Unsupported method: PUT"
DELETE /api/search/tsmeta?query=x
= 400
~ "message":"Unsupported method: DELETE"
GET /api/search/uidmeta
= 400
~ Missing parameter <code>query</code>
POST /api/search/annotation {"query":"x","limit":3}
= 400
~ "details":"Searching has not been enabled on this TSD"
GET /api/search/lookup?m=n.cpu&method_override=put
= 400
~ "message":"Unsupported method: PUT"
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

# Odd queries.
GET /api/uid/assign?metric=,
= 400
~ "message":"Missing values to assign UIDs"
GET /api/uid/assign/x?tagk=n.more&method_override=put
= 200
~ {"tagk":{"n.more":
POST /api/uid/assign {"tagv":[1,2.5,true]} and no more
= 200
~ "2.5":"
POST /api/uid/assign {"TAGK":["n.upper"],"bogus":["a b"]}
= 400
~ {"TAGK":{"n.upper":"
~ "bogus_errors":{"a b":"Invalid bogus (\"a b\"): illegal character:  "}
POST /api/uid/assign {"metric":["n.cpu","!","!","n.cpu"]}
= 400
| {"metric":{},"metric_errors":{"n.cpu":"Name already exists with UID: 000004","!":"Invalid metric (\"!\"): illegal character: !"}}
POST /api/uid/assign {"metric":[["a"]]}
= 400
~ "message":"Unable to parse the given JSON"
POST /api/uid/rename {"bogus":"a","name":"b"}
= 400
| {"result":"false","error":"Unknown type name"}
POST /api/uid/rename {"METRIC":"n.mem","name":5}
= 200
POST /api/uid/rename {"metric":"","name":"q"}
= 400
| {"result":"false","error":"Invalid metric: empty string"}
POST /api/uid/rename {"metric":"5","name":null}
= 400
~ "message":"Missing necessary values to rename UID"
POST /api/uid/rename {"metric":{},"name":"x"}
= 400
~ "message":"Unable to parse the given JSON"
# Of several kinds the last one of a HashMap.
GET /api/uid/rename?metric=5&tagk=n.more&tagv=web01&name=n.other
= 200
GET /api/suggest?type=tagk&q=n.
= 200
| ["n.other","n.upper"]
DELETE /api/uid
= 501
POST /api/suggest {"type":"metrics","bogus":{}}
= 400
~ "message":"Unable to parse the given JSON"
POST /api/search/lookup {"metric":"n.cpu","limit":null,"startIndex":3,"query":"shown"}
= 200
~ "query":"shown"
~ "limit":0
~ "startIndex":3,"totalResults":1}
POST /api/search/lookup {"metric":"n.cpu","tags":[{"key":"host","value":"web01","x":1}]}
= 400
POST /api/search/lookup {"metric":{}}
= 400

# With counts: any part of a name, the most series first.
> put c.cpu 1356998400 1 host=web01 dc=lga
> put c.cpu 1356998400 1 host=web02 dc=sjc
> put c.cpu 1356998400 1 host=web03 dc=lga
> put c.mem 1356998400 1 host=web01
> version
<~ built at revision
<~ Built on
GET /api/suggest?type=metrics&q=C.CPU&counts
= 200
| [{"name":"c.cpu","series":3}]
GET /api/suggest?type=metrics&q=c.&counts
= 200
| [{"name":"c.cpu","series":3},{"name":"c.mem","series":1}]
GET /api/suggest?type=tagk&metric=c.cpu&counts
= 200
| [{"name":"dc","series":3},{"name":"host","series":3}]
GET /api/suggest?type=tagv&metric=c.cpu&tagk=dc&counts
= 200
| [{"name":"lga","series":2},{"name":"sjc","series":1}]
GET /api/suggest?type=tagv&metric=c.cpu&tagk=host&q=b0&max=2&counts
= 200
| [{"name":"web01","series":1},{"name":"web02","series":1}]
GET /api/suggest?type=tagv&metric=c.cpu&tagk=host&tags=dc=lga|none|lga&counts
= 200
| [{"name":"web01","series":1},{"name":"web03","series":1}]
GET /api/suggest?type=tagv&metric=c.cpu&tagk=host&tags=dc=*,host=web02&counts
= 200
| [{"name":"web02","series":1}]
GET /api/suggest?type=tagk&metric=c.cpu&tags=dc=none&counts
= 200
| []
POST /api/suggest {"type":"tagv","metric":"c.cpu","tagk":"dc","q":"j","counts":true}
= 200
| [{"name":"sjc","series":1}]
GET /api/suggest?type=tagk&metric=n.none&counts
= 200
| []
GET /api/suggest?type=tagk&counts
= 400
~ "message":"Counts of tags need a 'metric'"
GET /api/suggest?type=tagv&metric=c.cpu&counts
= 400
~ "message":"Counts of values need a 'tagk'"
GET /api/suggest?type=tagk&metric=c.cpu&tags=dc=*,dc=*,dc=*,dc=*,dc=*,dc=*,dc=*,dc=*,dc=*,dc=*,dc=*,dc=*,dc=*,dc=*,dc=*,dc=*,dc=*,dc=*,dc=*,dc=*,dc=*,dc=*,dc=*,dc=*,dc=*,dc=*,dc=*,dc=*,dc=*,dc=*,dc=*,dc=*&counts
= 400
~ "message":"32 tags or more"
GET /api/suggest?type=tagk&metric=c.cpu&tags=dc&counts
= 400
~ "message":"'tags' must be as in host=web01,dc=ams|fra"

# Series per metric, values per key; and what came in the last 24 hours.
GET /api/cardinality?max=1
= 200
| {"series":8,"metrics":6,"top":[{"name":"c.cpu","series":3}]}
GET /api/cardinality?max=2&growth
= 200
~ "top":[{"name":"c.cpu","series":3,"new":3},{"name":"n.cpu2","series":2,"new":2}],"growing":[{"name":"c.cpu","series":3,"new":3},{
GET /api/cardinality?metric=c.cpu&growth
= 200
| {"metric":"c.cpu","series":3,"new":3,"tags":[{"name":"host","series":3,"values":3,"top":[{"name":"web01","series":1},{"name":"web02","series":1},{"name":"web03","series":1}]},{"name":"dc","series":3,"values":2,"top":[{"name":"lga","series":2},{"name":"sjc","series":1}]}]}
GET /api/cardinality?metric=c.cpu&max=1
~ "values":3,"top":[{"name":"web01","series":1}]},{"name":"dc","series":3,"values":2,"top":[{"name":"lga","series":2}]}]}
GET /api/cardinality?metric=c.none
= 404
~ No such name for 'metrics': 'c.none'
GET /api/cardinality?max=x
= 400
~ Unable to parse 'max' as a number
POST /api/cardinality {}
= 405
