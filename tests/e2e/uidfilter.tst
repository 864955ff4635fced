! disk tsd.uidfilter.enable=true tsd.uidfilter.plugin=net.opentsdb.uid.UniqueIdWhitelistFilter tsd.uidfilter.whitelist.metric_patterns=^sys[.],[a-z]$ tsd.uidfilter.whitelist.tagk_patterns=host|dc tsd.uidfilter.whitelist.tagv_patterns=^[a-z0-9]+$
# A new name gets an id if all patterns of its kind are found in it.
> put sys.m 1356998400 1 host=a
> put bad.m 1356998400 1 host=a
< put: illegal argument: Failed to assign an ID for kind='metrics' name='bad.m': Blocked by UID filter.
> put sys.M 1356998400 1 host=a
<~ kind='metrics' name='sys.M': Blocked by UID filter.
> put sys.m 1356998400 1 user=a
<~ kind='tagk' name='user': Blocked by UID filter.
> put sys.m 1356998400 1 host=B
<~ kind='tagv' name='B': Blocked by UID filter.
> put sys.n 1356998400 1 thehosts=b dc=x
POST /api/put?details [{"metric":"sys.o","timestamp":1356998400,"value":1,"tags":{"host":"c"}},{"metric":"other","timestamp":1356998400,"value":1,"tags":{"host":"c"}},{"metric":"sys.o","timestamp":1356998400,"value":1,"tags":{"host":"C"}}]
= 400
~ "success":1,"failed":2
~ kind='metrics' name='other': Blocked by UID filter.
~ kind='tagv' name='C': Blocked by UID filter.
GET /api/uid/assign?metric=sys.p,by.hand
= 400
~ "metric":{"sys.p":"
~ Blocked by UID filter.
GET /api/suggest?type=metrics
= 200
| ["sys.m","sys.n","sys.o","sys.p"]
GET /api/suggest?type=tagk
| ["dc","host","thehosts"]
GET /api/suggest?type=tagv
| ["a","b","c","x"]
GET /logs
~ rejected a point of metric "bad.m" from 127.0.0.1
GET /api/stats
~ {"metric":"tsd.uid.rejected-assignments",

# Names that have an id keep it, whatever the patterns say now.
restart
> put sys.m 1356998401 2 host=a
> put bad.m 1356998401 1 host=a
<~ Blocked by UID filter.
GET /api/query?start=1356998340&end=1357002000&m=none:sys.m
= 200
~ "dps":{"1356998400":1,"1356998401":2}
