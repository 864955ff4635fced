# npm's "opentsdb": points in ms by telnet, then a query whose flags count by
# their presence, "=false" or not.
repeat 20 put e.npm.mem 13569984##000 1.## nid=7
fin
GET /api/query?ms=true&arrays=true&show_tsuids=false&no_annotations=true&global_annotations=false&start=1356998340000&end=1356998500000&m=sum:10s-avg:e.npm.mem%7Bnid=*%7D
= 200
~ "tags":{"nid":"7"}
~ "tsuids":["
~ "dps":[[1356998400000,1.045],[1356998410000,1.145]]
!~ "annotations"
GET /api/query?ms=true&arrays=true&show_tsuids=false&no_annotations=true&global_annotations=false&start=1356998340000&end=1356998500000&m=max:rate:e.npm.mem
= 200
~ [1356998401000,0.01
!~ [1356998400000,

# What else it can ask.
GET /api/suggest?type=metrics&max=1000000000&q=
= 200
| ["e.npm.mem"]
GET /api/aggregators
= 200
~ "zimsum"
GET /api/config
= 200
~ "tsd.mode":"rw"
GET /api/version
= 200
~ "version":"
GET /api/dropcaches
= 200
~ "status":"200"
GET /api/query?start=1356998340000&end=1356998500000&m=sum:e.npm.none%7Bnid=*%7D
= 400
~ "message":"No such name for 'metrics': 'e.npm.none'"
