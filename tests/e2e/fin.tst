# What was sent before the end of a connection is stored when we close it.
>> put e.fin 1356998400 1 host=a\nput e.fin 1356998401 2 host=a\n
fin
GET /api/query?start=1356998340&end=1357002000&m=none:e.fin
= 200
~ "dps":{"1356998400":1,"1356998401":2}

# A last line without its end is taken as well.
>> put e.fin 1356998402 3 host=a\nput e.fin 1356998403 44 host=a
fin
GET /api/query?start=1356998340&end=1357002000&m=none:e.fin
~ "1356998402":3,"1356998403":44

# exit, with an answer before it.
> junk\nexit
< unknown command: junk.  Try `help'.
ended
