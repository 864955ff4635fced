# Icinga 2 says nothing at first, and then a line a write: names of metrics with
# slashes, six decimals, integers.
conn 1
>> put e.icinga.service.disk_/.time 1356998400 0.012300 host=web-a.example.com\n
>> put e.icinga.service.disk_/./var 1356998400 5000000000 host=web-a.example.com\n
>> put e.icinga.service.disk_/.neg 1356998400 -3.500000 host=web-a.example.com\n
>> put e.icinga.service.disk_/.tiny 1356998400 0.000015 host=web-a.example.com\n
>> put e.icinga.service.disk_/.big 1356998400 123456789012 host=web-a.example.com\n

# With generic metrics the label is a tag.
>> put e.icinga.service.perf 1356998400 1.000000 host=web-a.example.com label=/var service=disk_/\n
>> put e.icinga.service.perf 1356998400 2.000000 host=web-a.example.com label=load1 service=disk_/\n

# It never connects again after we close, so what we reject costs no connection.
>> put e.icinga.service.disk_/.bad 1356998400 1.000000 host=web a\n
< put: illegal argument: invalid tag: a
>> put e.icinga.service.disk_/.time 1356998410 0.020000 host=web-a.example.com\n
> version
<~ halite
<~ uilt
GET /api/query?start=1356998340&end=1357002000&m=none:e.icinga.service.disk_/.time
= 200
| [{"metric":"e.icinga.service.disk_/.time","tags":{"host":"web-a.example.com"},"aggregateTags":[],"dps":{"1356998400":0.0123,"1356998410":0.02}}]
GET /api/query?start=1356998340&end=1357002000&m=sum:e.icinga.service.disk_/./var%7Bhost=*%7D
~ "dps":{"1356998400":5000000000}
GET /api/query?start=1356998340&end=1357002000&m=sum:e.icinga.service.perf%7Blabel=/var,service=disk_/%7D
= 200
~ "dps":{"1356998400":1.0}
GET /api/suggest?type=metrics&q=e.icinga.service.disk_/.
= 200
| ["e.icinga.service.disk_/./var","e.icinga.service.disk_/.big","e.icinga.service.disk_/.neg","e.icinga.service.disk_/.time","e.icinga.service.disk_/.tiny"]
GET /api/search/lookup?m=e.icinga.service.perf%7Blabel=*%7D&limit=0
= 200
~ "label":"/var"
~ "label":"load1"
