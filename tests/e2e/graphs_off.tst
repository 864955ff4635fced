# A program built without graphs says so, and has the numbers.
> put g.m 1356998400 1 host=a
> version
<~ built at revision
<~ Built on
GET /q?start=1356998400&end=1356998500&m=sum:g.m&png
= 501
~ built without graphs
GET /q?start=1356998400&end=1356998500&m=sum:g.m&svg
= 501
GET /q?start=1356998400&end=1356998500&m=sum:g.m&csv
= 200
| timestamp,time,"g.m{host=a}"\r
GET /q?start=1356998400&end=1356998500&m=sum:g.m&ascii&style=x
= 400
