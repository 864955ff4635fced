# /q as text and as counts; without a format the browser goes to the page.
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
