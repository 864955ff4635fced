# What each parameter of /q changes in a picture, seen in its texts.
> put p.m 1356998400 1 host=a dc=x
> put p.m 1356998460 2500 host=a dc=x
> put p.m 1356998400 10 host=b dc=x
> put p.m 1356998460 20 host=b dc=x
> put p.n 1356998400 7000000 host=a
> put p.n 1356998460 9000000 host=a
> version
<~ built at revision
<~ Built on
POST /api/annotation {"startTime":1356998410,"tsuid":"000001000001000001000002000002","description":"deploy <1>"}
= 200
POST /api/annotation {"startTime":1356998420,"description":"for all"}
= 200

# Names: what all have in common stands once.
GET /q?start=1356998400&end=1356998460&m=sum:p.m{host=*}&svg
= 200
~ >p.m{dc=x}</text>
~ >host=a</text>
~ >host=b</text>
~ >min</text>
~ >1250</text>
~ >2013-01-01<
!~ (right)
~ >deploy &lt;1&gt;</text>
!~ for all
~ >UTC</text>
~ width="1024" height="768"
~ fill="#ffffff"

# Annotations.
GET /q?start=1356998400&end=1356998460&m=sum:p.m{host=*}&svg&global_annotations
= 200
~ >deploy &lt;1&gt;</text>
~ >for all</text>
GET /q?start=1356998400&end=1356998460&m=sum:p.m{host=*}&svg&no_annotations&global_annotations
= 200
!~ deploy
!~ for all

# Size, texts, zone, times.
GET /q?start=1356998400&end=1356998460&m=sum:p.m&svg&wxh=640x480&scale=2&title=A+%3Ctitle%3E&ylabel=left&tz=Europe/Zurich&xformat=%25Hh%25M%25z
= 200
~ width="1280" height="960" viewBox="0 0 640 480"
~ font-weight="bold" fill="#222222">A &lt;title&gt;</text>
~ rotate(-90)
~ >left</text>
~ >Europe/Zurich</text>
~ >01h00+0100</text>
GET /q?start=2013/01/01-01:00:00&end=2013/01/01-01:01:00&m=sum:p.m&svg&tz=Europe/Zurich
= 200
~ >01:00:00</text>
~ >2013-01-01</text>
!~ No data

# Value axes.
GET /q?start=1356998400&end=1356998460&m=sum:p.m&svg&yrange=[0:12345]&yformat=%25.1s%25cB
= 200
~ >12.0kB</text>
GET /q?start=1356998400&end=1356998460&m=sum:p.m{host=*}&svg&ylog
= 200
~ >1000</text>
~ >100</text>
GET /q?start=1356998400&end=1356998460&m=sum:p.m&o=&m=sum:p.n&o=axis+x1y2&svg&y2label=to+the+right&y2format=%25.0f
= 200
~ >to the right</text>
~ >p.n{host=a} (right)</text>
~ >8000000</text>
GET /q?start=1356998400&end=1356998460&m=sum:p.m&o=&m=sum:p.n&o=axis+x1y2&svg&y2range=[0:40000000]
= 200
~ >40M</text>
GET /q?start=1356998400&end=1356998460&m=sum:p.m&o=&m=sum:p.n&o=axis+x1y2&svg&y2log&y2range=[1000:]
= 200
~ >1000</text>
~ >10k</text>
~ >100k</text>

# The key.
GET /q?start=1356998400&end=1356998460&m=sum:p.m{host=*}&svg&nokey
= 200
!~ host=a
GET /q?start=1356998400&end=1356998460&m=sum:p.m{host=*}&svg&key=top+left+box
= 200
~ host=a
!~ >min<
GET /q?start=1356998400&end=1356998460&m=sum:p.m{host=*}&svg&key=out+horiz
= 200
~ host=a
!~ >min<

# Colours.
GET /q?start=1356998400&end=1356998460&m=sum:p.m&svg
= 200
~ stroke="#0072b2"
GET /q?start=1356998400&end=1356998460&m=sum:p.m&svg&bgcolor=x15181D&fgcolor=xAABBCC
= 200
~ fill="#15181d"/>
~ fill="#aabbcc"
~ stroke="#56b4e9"
GET /q?start=1356998400&end=1356998460&m=sum:p.m&svg&bgcolor=transparent
= 200
!~ fill="#ffffff"/>

# Styles.
GET /q?start=1356998400&end=1356998460&m=sum:p.m&svg&style=circles
= 200
~ <circle
GET /q?start=1356998400&end=1356998460&m=sum:p.m&svg&style=points
= 200
~ h0
~ stroke-width="4"
GET /q?start=1356998400&end=1356998460&m=sum:p.m&svg&style=dots
= 200
~ stroke-width="1.6"
GET /q?start=1356998400&end=1356998460&m=sum:p.m&svg&style=line
= 200
!~ h0
GET /q?start=1356998400&end=1356998460&m=sum:p.m&svg&style=area
= 200
~ fill-opacity="0.18"
GET /q?start=1356998400&end=1356998460&m=sum:p.m{host=*}&svg&style=stack
= 200
~ fill-opacity="0.45"

# Smoothing: 1 + 2500, 10 + 20.
GET /q?start=1356998400&end=1356998460&m=sum:p.m{host=a}&svg&smooth=cumulative
= 200
~ >2501</text>
GET /q?start=1356998400&end=1356998460&m=sum:p.m{host=a}&svg&smooth=csplines&style=line&wxh=300x200
= 200
~ d="M41 136C121.3 102.1 201.7 68.2 282 34.3"
GET /q?start=1356998400&end=1356998460&m=sum:p.m{host=a}&csv&smooth=unique
= 200
| timestamp,time,"p.m{host=a, dc=x}"\r

# A table.
GET /q?start=1356998400&end=1356998500&m=sum:p.m{host=*}&m=sum:1m-avg-none:p.n&csv&tz=Asia/Tokyo
= 200
| timestamp,time,"p.m{host=a, dc=x}","p.m{host=b, dc=x}","p.n{host=a}"\r
| 1356998400,2013-01-01 09:00:00,1,10,7000000\r
| 1356998460,2013-01-01 09:01:00,2500,20,9000000\r
GET /q?start=1356998400&end=1356998500&m=sum:p.m&csv&wxh=1x1
= 400
~ 'wxh' was invalid

# Counts are of the range.
GET /q?start=1356998400&end=1356998430&m=sum:p.m&json&png
= 200
~ "plotted":1,

# Nothing to draw is a picture, too; a name that is not known an error.
GET /q?start=1356990000&end=1356990060&m=sum:p.m&svg&nocache
= 200
~ >No data</text>
GET /q?start=1356990000&end=1356990060&m=sum:p.x&svg
= 400
GET /q?start=1356990000&m=sum:p.m&svg&tz=Nowhere
= 400

# Errors are for the program that asked.
GET /q?start=1356998400&end=1356998460&m=sum:p.m&json&style=splendid
= 400
~ {"err":"'style' was invalid
