# A client that does not read keeps its connection and its points, however much
# we had to say to it; others do not notice.
conn 1
repeat 1000 put e.mute.one
repeat 10000 put e.mute.bad.####aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1356998400 1x host=a\nput e.mute.good 13569##### 1 host=a
conn 2
> version
<~ halite
<~ uilt
conn 1
< put: illegal argument: not enough arguments (need least 4, got 1)
< put: illegal argument: not enough arguments (need least 4, got 1)
repeat 100 put e.mute.good 13569##### 2 host=a
leave
GET /api/query?start=1356899000&end=1357002000&m=sum:0all-count:e.mute.good
= 200
~ :10000.0}
