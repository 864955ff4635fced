# Lines may come in any chunks.
>> put e.p 1356998
>> 400 1 ho
>> st=a
>>  dc=b\n
>> put e.p 1356998401 2 host=a dc=b\r
>> \nput e.p 1356998402 3 host=a dc=b\r\nju
>> nk\r\n
< unknown command: junk.  Try `help'.

# Several connections, each with half a line.
conn 1
>> put e.p 13569984
conn 2
>> put e.p 1356998404 5 host
conn 1
>> 03 4 host=a dc=b\n
fin
conn 2
>> =a dc=b\n
fin
GET /api/query?start=1356998340&end=1357002000&m=none:e.p
= 200
~ "dps":{"1356998400":1,"1356998401":2,"1356998402":3,"1356998403":4,"1356998404":5}

# Telnet programs negotiate.
conn 3
>> \xff\xfb\x1f\xff\xfd\x03help\r\n
<~ available commands:

# Who shouts is told, and nothing is stored.
conn 4
> PUT e.p 1356998405 6 host=a dc=b
< unknown command: PUT.  Try `help'.
fin
GET /api/query?start=1356998340&end=1357002000&m=none:e.p
!~ 1356998405
