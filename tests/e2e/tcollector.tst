# tcollector asks for the version before it sends, and each minute; any answer
# will do, but it must come.
> version
<~ halite
<~ uilt

# A batch holds up to 10,000 lines, in time order for no one.
repeat 10000 put e.tc.many 13569##### 1##### host=a iface=eth0
> put e.tc.late 1356998460 2 host=a
> put e.tc.late 1356998400 1 host=a
> put e.tc.late 1356998430 3 host=a
# Its own numbers come with two spaces.
> put e.tc.lines 1356998400 10000  host=a
> version
<~ halite
<~ uilt
GET /api/query?start=1356899000&end=1357002000&m=sum:0all-count:e.tc.many
= 200
~ :10000.0}
GET /api/query?start=1356899000&end=1357002000&m=sum:0all-sum:e.tc.many
~ :1.049995E9}
GET /api/query?start=1356998340&end=1357002000&m=none:e.tc.late
= 200
~ "dps":{"1356998400":1,"1356998430":3,"1356998460":2}

# A batch that failed is sent again: the same points, once.
repeat 10000 put e.tc.many 13569##### 1##### host=a iface=eth0
fin
GET /api/query?start=1356899000&end=1357002000&m=sum:0all-count:e.tc.many
~ :10000.0}
GET /api/query?start=1356998340&end=1357002000&m=none:e.tc.lines
~ "tags":{"host":"a"}
~ "dps":{"1356998400":10000}

# With --http all is one array of floats, on a connection that is closed.
POST /api/put?details [{"metric": "e.tc.web", "timestamp": 1356998400, "value": 7.0, "tags": {"host": "a", "mount": "/", "type": "ext4"}}]
= 200
| {"success":1,"failed":0,"errors":[]}
GET /api/query?start=1356998340&end=1357002000&m=none:e.tc.web%7Bmount=/%7D
= 200
~ "dps":{"1356998400":7.0}
