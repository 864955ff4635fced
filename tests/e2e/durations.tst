! disk tsd.http.query.allow_delete=true tsd.core.tag.allow_specialchars=:(){},
# A duration is a whole number and one of OpenTSDB's units, wherever one is read; by
# its last letter 5min is five months, and a deletion takes what is 100 days old.
> put d.m 1356998400 1 host=a
> put d.m 1356998400.5 2 host=b
> put d.m 1356998400.25 3 host=web01:8082
> version
<~ built at revision
<~ Built on
DELETE /api/query?start=99min-ago&m=sum:d.m
= 400
~ "message":"Invalid duration (suffix): 99min. A duration is a whole number and one of the units ms, s, m, h, d, w, n (30 days) or y (365 days), as in 90s or 2h"
DELETE /api/query?start=99years-ago&m=sum:d.m
= 400
~ Invalid duration (suffix): 99years. A duration is
DELETE /api/query?start=2013/01/01&end=7days-ago&m=sum:d.m
= 400
~ Invalid duration (suffix): 7days. A duration is
DELETE /api/annotation/bulk?start_time=5min-ago&global=true
= 400
~ Invalid duration (suffix): 5min. A duration is
GET /api/annotations?start_time=1month-ago
= 400
~ Invalid duration (suffix): 1month. A duration is
POST /api/query {"start":"1h30m-ago","queries":[{"aggregator":"sum","metric":"d.m"}]}
= 400
~ Invalid duration (suffix): 1h30m. A duration is
POST /api/query {"start":"1.5h-ago","queries":[{"aggregator":"sum","metric":"d.m"}]}
= 400
~ Invalid duration (suffix): 1.5h. A duration is
GET /api/query?start=5-ago&m=sum:d.m
= 400
~ Invalid duration, must have an integer and unit: 5. A duration is
GET /api/query?start=1356998400&end=1356998500&m=sum:5min-avg:d.m
= 400
~ Invalid duration (suffix): 5min. A duration is
GET /q?start=1day-ago&m=sum:d.m&ascii
= 400
~ Invalid duration (suffix): 1day. A duration is
GET /api/query/gexp?start=2weeks-ago&exp=scale(sum:d.m,2)
= 400
~ Invalid duration (suffix): 2weeks. A duration is
GET /api/query/gexp?start=1356998400&end=1356998500&exp=timeShift(sum:d.m,'1h30m')
= 400
~ unknown time unit=h30m'. The units are ms, s, m, h, d, w, n (30 days), y (365 days), and their names
GET /api/query/gexp?start=1356998400&end=1356998500&exp=movingAverage(sum:d.m,'1.5h')
= 400
~ Unknown time unit=.5h in window='1.5h'. The units are
POST /api/query/exp {"time":{"start":"10secs-ago","aggregator":"sum"},"metrics":[{"id":"a","metric":"d.m"}]}
= 400
~ Invalid duration (suffix): 10secs. A duration is
POST /api/query/exp {"time":{"start":"1356998400","aggregator":"sum","downsampler":{"interval":"2hours","aggregator":"sum"}},"metrics":[{"id":"a","metric":"d.m"}]}
= 400
~ Invalid duration (suffix): 2hours. A duration is
PUT /api/retention {"policies":"d.* 30days"}
= 400
~ Invalid duration (suffix): 30days. A duration is
GET /api/query?start=1356998400&end=1356998500&m=none:d.m{host=a}
= 200
~ "dps":{"1356998400":1}
# One or two decimals are tenths and hundredths of a second, in puts and queries.
GET /api/query?start=1356998400.3&end=1356998401&m=none:d.m&ms
= 200
~ "dps":{"1356998400500":2}
!~ "dps":{"1356998400250":3}
GET /api/query?start=1356998400.25&end=1356998400.4&m=none:d.m&ms
= 200
~ "dps":{"1356998400250":3}
!~ 500":2
POST /api/query?arrays {"start":1356998400.5,"end":"1356998400.50","msResolution":true,"queries":[{"aggregator":"none","metric":"d.m"}]}
= 400
~ End time [1356998400500] must be greater than the start time [1356998400500]
POST /api/put?details [{"metric":"d.j","timestamp":1356998402.5,"value":1,"tags":{"h":"a"}},{"metric":"d.j","timestamp":"1356998403.25","value":2,"tags":{"h":"a"}}]
= 200
~ "success":2
GET /api/query?start=1356998402&end=1356998404&m=sum:d.j&ms
= 200
~ "dps":{"1356998402500":1,"1356998403250":2}
> put d.m 13569984.0051 1 host=a
< put: invalid value: Invalid time: 13569984.0051. A fraction of a second has 1 to 3 digits
# Colons, commas and braces nest.
GET /api/query?start=1356998400&end=1356998500&m=sum:d.m{host=web01:8082}
= 200
~ "tags":{"host":"web01:8082"},"aggregateTags":[],"dps":{"1356998400":3}
GET /api/query?start=1356998400&end=1356998500&m=sum:1m-sum:d.m{}{host=regexp((?:web|db)[0-9]{2,3}:.*)}
= 200
~ "host":"web01:8082"
GET /api/query/gexp?start=1356998400&end=1356998500&exp=scale(sum:d.m{host=web01:8082},2)
= 200
~ "dps":{"1356998400":6}
GET /q?start=1356998400&end=1356998500&m=sum:d.m{host=regexp(.{4,9}:8082)}&ascii
= 200
~ d.m 1356998400 3 host=web01:8082
GET /api/query/last?timeseries=d.m{host=web01:8082}&resolve
= 200
~ "value":"3","tags":{"host":"web01:8082"}
> put d:c 1356998400 7 host=(a,b)
> version
<~ built at revision
<~ Built on
GET /api/query?start=1356998400&end=1356998500&m=sum:1m-sum:d:c{host=(a,b)}
= 200
~ "metric":"d:c","tags":{"host":"(a,b)"},"aggregateTags":[],"dps":{"1356998400":7.0}
GET /api/query/gexp?start=1356998400&end=1356998500&exp=sum(sum:d:c{host=(a,b)},sum:d:c)
= 200
~ "dps":{"1356998400":14
# Where names may have parentheses, what is before them is a filter type or part of the value.
> put d.p 1356998400 9 host=Ponte(TO)
> version
<~ built at revision
<~ Built on
GET /api/query?start=1356998400&end=1356998500&m=sum:d.p{host=Ponte(TO)}
= 200
~ "dps":{"1356998400":9}
POST /api/query {"start":1356998400,"end":1356998500,"queries":[{"aggregator":"sum","metric":"d.p","tags":{"host":"Ponte(TO)"}}]}
= 200
~ "dps":{"1356998400":9}
GET /api/query?start=1356998400&end=1356998500&m=sum:d.p{host=regexp(^Ponte.*)}
= 200
~ "dps":{"1356998400":9}
# Sub-queries that differ in groupBy are two.
GET /api/query?start=1356998400&end=1356998500&m=sum:1m-sum:d.m{host=*}&m=sum:1m-sum:d.m{}{host=*}
= 200
~ "tags":{"host":"a"}
~ "tags":{"host":"b"}
~ "aggregateTags":["host"],"dps":{"1356998400":6.0
POST /api/query {"start":1356998400,"end":1356998500,"queries":[{"aggregator":"sum","metric":"d.m","downsample":"1m-sum","filters":[{"type":"wildcard","tagk":"host","filter":"*","groupBy":false}],"tags":null},{"aggregator":"sum","metric":"d.m","downsample":"1m-sum","filters":[{"type":"wildcard","tagk":"host","filter":"*","groupBy":true}]},{"aggregator":"max","metric":"d.m","downsample":"1m-sum","tags":null}]}
= 200
~ "tags":{"host":"a"}
~ "aggregateTags":["host"],"dps":{"1356998400":3.0
~ "aggregateTags":["host"],"dps":{"1356998400":6.0
GET /q?start=1356998400&end=1356998500&m=sum:1m-sum:d.m{host=*}&o=&m=sum:1m-sum:d.m{}{host=*}&o=axis+x1y2&ascii
= 200
~ d.m 1356998400 6
~ d.m 1356998400 3.0 host=web01:8082
POST /api/query/exp {"time":{"start":"1356998400","end":"1356998500","aggregator":"sum","downsampler":{"interval":"1m","aggregator":"sum"}},"filters":[{"id":"f","tags":[{"type":"wildcard","tagk":"host","filter":"*","groupBy":true}]},{"id":"g","tags":[{"type":"wildcard","tagk":"host","filter":"*","groupBy":false}]}],"metrics":[{"id":"a","metric":"d.m","filter":"f"},{"id":"b","metric":"d.m","filter":"g"}]}
= 200
~ "id":"a","dps":[[1356998400000,1.0,2.0,3.0]]
~ "id":"b","dps":[[1356998400000,6.0]]
# Ranges begin in 1970, and end after the last time that can be stored.
> put t.s 50 1 a=b
> put t.s 5000 2 a=b
> put t.s 9000 3 a=b
> put t.s 4294967295 4 a=b
> version
<~ built at revision
<~ Built on
GET /api/query?start=50&end=10000&m=sum:t.s
= 200
~ "metric":"t.s","tags":{"a":"b"},"aggregateTags":[],"dps":{"50":1,"5000":2,"9000":3}
GET /api/query?start=4000000ms&end=8000000ms&m=sum:t.s
= 200
~ "dps":{"5000":2}
GET /api/query?start=0&end=10000&m=sum:1h-sum:t.s
= 200
~ "dps":{"0":1.0,"3600":2.0,"7200":3.0}
GET /api/query?start=4000&end=9999999999&m=sum:t.s
= 200
~ "metric":"t.s","tags":{"a":"b"},"aggregateTags":[],"dps":{"5000":2,"9000":3,"4294967295":4}
GET /api/query?start=8999&end=253402300799000&m=sum:t.s
= 200
~ "dps":{"9000":3,"4294967295":4}
GET /api/query?start=4294960000&end=2300/01/01&m=sum:1h-sum-zero:t.s
= 200
~ "4294965600":4.0}
POST /api/query/exp {"time":{"start":"0","end":"9999999999","aggregator":"sum"},"metrics":[{"id":"a","metric":"t.s"}]}
= 200
~ "dps":[[50000,1.0],[5000000,2.0],[9000000,3.0],[4294967295000,4.0]]
