# Points by telnet are there for the next query.
> put e.cpu 1356998400 1 host=a
> put e.cpu 1356998460 2.5 host=a
> put e.cpu 1356998520 -3 host=a
> put e.cpu 1356998400123 7 host=ms dc=x
> version
<~ halite
<~ Built on an unknown date
GET /api/query?start=1356998340&end=1357002000&m=none:e.cpu%7Bhost=a%7D
= 200
| [{"metric":"e.cpu","tags":{"host":"a"},"aggregateTags":[],"dps":{"1356998400":1.0,"1356998460":2.5,"1356998520":-3}}]

# The same series, spelt otherwise; the last write wins.
> put e.cpu 1356998400 4 dc=x  host=b
> put e.cpu 1356998400 5 host=b dc=x
> put e.cpu 1356998400 6   host=b   dc=x
fin
GET /api/query?start=1356998340&end=1357002000&m=none:e.cpu%7Bhost=b%7D
= 200
~ "dps":{"1356998400":6}
!~ "dps":{"1356998400":5}

# A telnet line is UTF-8 where it is valid UTF-8, and ISO-8859-1 otherwise.
> put e.stra\xc3\x9fe 1356998400 1 stadt=K\xc3\xb6ln
fin
GET /api/query?start=1356998340&end=1357002000&m=none:e.stra%C3%9Fe
= 200
~ "stadt":"Köln"
> put e.caf\xe9 1356998400 1 host=\xfc
fin
GET /api/query?start=1356998340&end=1357002000&m=none:e.caf%C3%A9
= 200
~ "host":"ü"

# A body is ISO-8859-1 where its Content-Type says so, and nowhere else.
with Content-Type: text/plain; charset=iso-8859-1
POST /api/put?details {"metric":"e.latin\xe9","timestamp":1356998400,"value":1,"tags":{"host":"\xfc\xe9"}}
= 200
~ "success":1
with Content-Type: application/json; CHARSET="Latin1" ; v=1
POST /api/query {"start":1356998340,"end":1357002000,"queries":[{"aggregator":"none","metric":"e.latin\xe9"}]}
= 200
~ "host":"üé"
with Content-Type: application/json; charset=ISO-8859-1
POST /api/query {"start":1356998340,"end":1357002000,"queries":[{"aggregator":"none","metric":"e.latin\xc3\xa9"}]}
= 400
~ e.latinÃ©
with Content-Type: application/json; charset=utf-8
POST /api/query {"start":1356998340,"end":1357002000,"queries":[{"aggregator":"none","metric":"e.latin\xc3\xa9"}]}
= 200
~ "host":"üé"
POST /api/query {"start":1356998340,"end":1357002000,"queries":[{"aggregator":"none","metric":"e.latin\xe9"}]}
= 400
with Content-Type: application/json; charset=ISO-8859-1
POST /api/query
= 400

# Capitals are no command, and what follows is read.
conn 2
> PUT e.capitals 1356998400 1 host=a
< unknown command: PUT.  Try `help'.
> put e.capitals 1356998401 2 host=a
> version
<~ halite
<~ Built on an unknown date
GET /api/query?start=1356998340&end=1357002000&m=none:e.capitals
= 200
~ "dps":{"1356998401":2}
conn 0

# Lines that are rejected as a whole are logged, with the client, and counted.
GET /logs
= 200
~ rejected a line from 127.0.0.1
~ : unknown command "PUT"
GET /metrics
~ halite_telnet_lines_rejected_total{reason="unknown_command"} 1
GET /api/stats
~ {"metric":"tsd.telnet.rejected",

# The log names the first rejected line of each kind, and its client.
> put e.bad 1356998400 1x host=a
<~ invalid value
GET /logs
= 200
~ rejected a point of metric "e.bad" from 127.0.0.1
