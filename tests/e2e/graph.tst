# /q as text, as counts and as a picture; without a form the browser goes to the page.
> put g.m 1356998400 1 host=a
> put g.m 1356998401 2.5 host=a
> version
<~ 
<~ Built on
GET /q?start=1356998400&end=1356998500&m=sum:g.m&ascii
= 200
| g.m 1356998400 1.0 host=a
| g.m 1356998401 2.5 host=a
GET /q?start=1356998400&end=1356998500&m=sum:g.m&json
= 200
~ "plotted":2,"points":2}
GET /q?start=1356998400
= 200
~ url=/#start=1356998400
GET /q?m=sum:g.m&ascii
= 400
GET /metrics
= 200
~ halite_points_accepted_total 2
GET /q/x
= 200
~ url=/#x
GET /q?start=1356998400&m=sum:g.m&ascii&o=&o=
= 400
~ 2 `o' parameters, but 1 `m' parameters.
GET /q?start=1356998400&m=sum:g.m&ascii&wxh=50x50
= 400
GET /q?start=1356998400&m=sum:g.m&ascii&wxh=500x100
= 200
GET /q?start=1356998400&end=1356998500&m=sum:g.m&svg&title=All+of+it
= 200
| <svg xmlns="http://www.w3.org/2000/svg" width="1024" height="768" viewBox="0 0 1024 768" role="img" font-family="DejaVu Sans,Verdana,sans-serif" stroke-linejoin="bevel">
~ <title>All of it</title>
~ >g.m{host=a}</text>
~ >2.5</text>
GET /q?start=1356998400&end=1356998500&m=sum:g.m&png&wxh=200x100
= 200
~ PNG
GET /q?start=1356999400&end=1356999500&m=sum:g.m&svg
= 200
~ >No data</text>
GET /q?start=1356999400&end=1356999500&m=sum:g.m&png&style=splendid
= 400
~ It must be one of 'linespoint', 'points', 'circles', 'dots', 'line', 'area', 'stack'

# Who has it already is told so.
with If-None-Match: "0000000000000000"
GET /q?start=1356998400&end=1356998500&m=sum:g.m&csv
= 200
with If-None-Match: W/"b8c7fb04a9d0b0c5"
GET /q?start=1356998400&end=1356998500&m=sum:g.m&csv
= 304
with If-None-Match: *
GET /q?start=1356998400&end=1356998500&m=sum:g.m&svg
= 304
GET /q?start=1356998400&m=sum:g.m&m=sum:g.m&ascii&o=&o=axis+x1y2
= 400
~ no two `m' may be equal
