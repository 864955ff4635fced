# netdata, by telnet: names of tags that begin with "_", seven decimals.
>> put e.nd.cpu.user 1356998400 0.0000000 host=a _is_new=false _note=x\nput e.nd.cpu.user 1356998404 4.6080170 host=a _is_new=false _note=x\n
fin

# By HTTP: a line a point, and at first an array without any.
with Content-Type: application/json
POST /api/put [\n\n]
= 400
~ "message":"No datapoints found in content"
with Content-Type: application/json
POST /api/put [\n{"metric":"e.nd.cpu.user","timestamp":1356998408,"value":0.1960845,"tags":{"host":"a","_is_new":"false","_note":"x"}},\n{"metric":"e.nd.cpu.user","timestamp":1356998412,"value":0.0000000,"tags":{"host":"a","_is_new":"false","_note":"x"}}\n]
= 204
|
GET /api/query?start=1356998340&end=1357002000&m=none:e.nd.cpu.user%7B_is_new=*%7D
= 200
~ "_is_new":"false"
~ "dps":{"1356998400":0.0,"1356998404":4.608017,"1356998408":0.1960845,"1356998412":0.0}
