! disk tsd.query.skip_unresolved_tagvs=true tsd.core.meta.enable_realtime_ts=true tsd.core.meta.enable_tsuid_tracking=true
# A series of which a name was deleted is left out of answers, and counted; the other
# series of its metric are answered.
> put n.m 1356998400 1 host=a
> put n.m 1356998400 2 host=old
> put n.m 1356998400 4 host=b dc=x
> put n.k 1356998400 8 host=a gone=a
> put n.k 1356998400 16 host=a
> put n.d 1356998400 32 host=a
> version
<~ built at revision
<~ Built on
GET /api/query?start=1356998400&end=1356998500&m=sum:1m-sum:n.m
= 200
~ "dps":{"1356998400":7.0}
POST /api/tool {"words":["uid","delete","tagv","old"]}
= 200
POST /api/tool {"words":["uid","delete","tagk","gone"]}
= 200
POST /api/tool {"words":["uid","delete","metric","n.d"]}
= 200
GET /api/query?start=1356998400&end=1356998500&m=sum:n.m{host=*}&show_stats
= 200
~ "tags":{"host":"a"},"aggregateTags":[],"dps":{"1356998400":1}
~ "dps":{"1356998400":4}
~ "seriesWithoutName":1
!~ "dps":{"1356998400":2}
restart
GET /api/query?start=1356998400&end=1356998500&m=sum:n.m{host=*}&show_summary
= 200
~ "tags":{"host":"a"},"aggregateTags":[],"dps":{"1356998400":1}
~ "seriesWithoutName":1
!~ "dps":{"1356998400":2}
GET /api/query?start=1356998400&end=1356998500&m=none:n.m
= 200
~ "dps":{"1356998400":1}
~ "dps":{"1356998400":4}
!~ "dps":{"1356998400":2}
GET /api/query?start=1356998400&end=1356998500&m=sum:1m-sum:n.m
= 200
~ "dps":{"1356998400":5.0}
GET /api/query?start=1356998400&end=1356998500&m=sum:n.m{dc=*}{host=not_literal_or(a)}
= 200
~ "dps":{"1356998400":4}
# Filters that need the values' names: a deleted one passes none of them.
GET /api/query?start=1356998400&end=1356998500&m=sum:n.m{host=not_literal_or(a)}
= 200
~ "tags":{"host":"b","dc":"x"},"aggregateTags":[],"dps":{"1356998400":4}
!~ "dps":{"1356998400":2}
GET /api/query?start=1356998400&end=1356998500&m=sum:n.m{}{host=regexp(.*)}
= 200
~ "dps":{"1356998400":5}
GET /api/query?start=1356998400&end=1356998500&m=sum:n.m{host=o*}
= 200
| []
GET /api/query?start=1356998400&end=1356998500&m=sum:n.m{}{host=iliteral_or(A|OLD)}
= 200
~ "dps":{"1356998400":1}
GET /api/query?start=1356998400&end=1356998500&m=sum:n.k
= 200
~ "tags":{"host":"a"},"aggregateTags":[],"dps":{"1356998400":16}
GET /api/query?start=1356998400&end=1356998500&tsuid=none:000001000001000001,000001000001000002
= 200
~ "dps":{"1356998400":1}
!~ "dps":{"1356998400":2}
GET /api/query?start=1356998400&end=1356998500&tsuid=sum:000001000001000002
= 200
| []
GET /api/query?start=1356998400&end=1356998500&tsuid=sum:000003000001000001
= 200
| []
GET /api/query?start=1356998400&end=1356998500&m=sum:n.d
= 400
~ No such name for 'metrics': 'n.d'
GET /q?start=1356998400&end=1356998500&m=sum:n.m{host=*}&ascii
= 200
~ n.m 1356998400 1 host=a
!~ n.m 1356998400 2
GET /api/query/gexp?start=1356998400&end=1356998500&exp=scale(sum:n.m{host=*},10)
= 200
~ "dps":{"1356998400":10}
!~ "dps":{"1356998400":20}
POST /api/query/exp {"time":{"start":"1356998400","end":"1356998500","aggregator":"sum"},"filters":[{"id":"f","tags":[{"type":"wildcard","tagk":"host","filter":"*","groupBy":true}]}],"metrics":[{"id":"a","metric":"n.m","filter":"f"}]}
= 200
~ "dps":[[1356998400000,1.0,4.0]]
GET /api/query/last?timeseries=n.m&resolve
= 200
~ "value":"1","tags":{"host":"a"}
~ "value":"4"
!~ "value":"2"
GET /api/query/last?timeseries=n.m
= 200
!~ "value":"2"
GET /api/query/last?tsuids=000001000001000001,000001000001000002&resolve
= 200
~ "value":"1"
!~ "value":"2"
GET /api/search/lookup?m=n.m
= 200
~ "totalResults":2
GET /api/uid/tsmeta?m=n.m
= 200
~ "tsuid":"000001000001000001"
!~ "tsuid":"000001000001000002"
GET /api/cardinality?metric=n.k
= 200
~ "tags":[{"name":"host","series":2,"values":1,"top":[{"name":"a","series":2}]}]}
# tsd.query.skip_unresolved_tagvs holds for these two, too.
GET /api/query/last?timeseries=n.m{host=nosuch}
= 200
| []
GET /api/query/last?timeseries=n.m{nosuch=a}
= 400
~ No such name for 'tagk': 'nosuch'
GET /api/search/lookup?m=n.m{host=nosuch}
= 200
~ "totalResults":0
GET /api/search/lookup?m=n.m{host=nosuch,host=a}
= 200
~ "totalResults":1
# A name that was deleted may be given again, to another id.
> put n.m 1356998460 64 host=old
> version
<~ built at revision
<~ Built on
GET /api/query?start=1356998400&end=1356998500&m=sum:n.m{host=old}
= 200
~ "dps":{"1356998460":64}
