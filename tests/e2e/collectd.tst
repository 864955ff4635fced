! disk --sync=off
# collectd's write_tsdb: CR LF, two spaces before the tags of all hosts, %.15g,
# writes of whole lines, and no look at an answer.
>> put e.cd.load 1356998400 0.0400390625 fqdn=web-a.example.com  status=test dc=here\r\nput e.cd.load 1356998410 1 fqdn=web-a.example.com  status=test dc=here\r\n
>> put e.cd.df 1356998400 1.23456789012346e+15 fqdn=web-a.example.com  status=test dc=here\r\nput e.cd.df 1356998410 1e+06 fqdn=web-a.example.com  status=test dc=here\r\n

# Without such tags two spaces end the line.  What is no number is told, and the
# rest of the buffer is taken.
>> put e.cd.rx 1356998400 42 fqdn=web-a.example.com  \r\nput e.cd.rx 1356998410 -nan fqdn=web-a.example.com  \r\nput e.cd.rx 1356998420 inf fqdn=web-a.example.com  \r\nput e.cd.rx 1356998430 7 fqdn=web-a.example.com  \r\n
< put: invalid value: Invalid character 'n' in -nan
< put: invalid value: Invalid character 'i' in inf
fin
GET /api/query?start=1356998340&end=1357002000&m=none:e.cd.load
= 200
| [{"metric":"e.cd.load","tags":{"fqdn":"web-a.example.com","status":"test","dc":"here"},"aggregateTags":[],"dps":{"1356998400":0.0400390625,"1356998410":1}}]

# It is killed while collectd writes on, which finds it again at the next value.
> put e.cd.rx 1356998440 8 fqdn=web-a.example.com  \r
> version
<~ halite
<~ uilt
kill
>> put e.cd.rx 1356998450 9 fqdn=web-a.example.com  \r\n
fin
GET /api/query?start=1356998340&end=1357002000&m=none:e.cd.rx
= 200
~ "tags":{"fqdn":"web-a.example.com"}
~ "dps":{"1356998400":42,"1356998430":7,"1356998440":8,"1356998450":9}
GET /api/query?start=1356998340&end=1357002000&m=none:e.cd.df
~ "dps":{"1356998400":1.23456789012346E15,"1356998410":1000000.0}
