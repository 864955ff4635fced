# /api/query/gexp: functions over series.
> put g.a 1356998400 6 host=a
> put g.a 1356998460 -2 host=a
> put g.a 1356998400 7 host=b
> put g.a 1356998460 3 host=b
> put g.b 1356998415 1.5 host=a
> version
<~ 
<~ Built on
GET /api/query/gexp?start=1356998400&end=1356998500&exp=scale(absolute(sum:g.a{host=a}),10)
= 200
| [{"metric":"g.a","tags":{"host":"a"},"aggregateTags":[],"dps":{"1356998400":60,"1356998460":20}}]
# An alias names, and takes the tags away; values stay.
GET /api/query/gexp?start=1356998400&end=1356998500&exp=alias(sum:g.a{host=*},n_@host)
= 200
| [{"metric":"n_a","tags":{},"aggregateTags":[],"dps":{"1356998400":6,"1356998460":-2}},{"metric":"n_b","tags":{},"aggregateTags":[],"dps":{"1356998400":7,"1356998460":3}}]
# Operands of which one ends first are taken by time.
GET /api/query/gexp?start=1356998400&end=1356998500&exp=sum(sum:g.a{host=a},sum:g.b{host=a})
= 200
| [{"metric":"g.a","tags":{"host":"a"},"aggregateTags":[],"annotations":[],"dps":{"1356998400":6.0,"1356998415":1.5,"1356998460":-2.0}}]
GET /api/query/gexp?start=1356998400&end=1356998500&exp=highestMax(sum:g.a{host=*},5)
= 200
~ [{"metric":"g.a","tags":{"host":"b"}
GET /api/query/gexp?start=1356998400&end=1356998500&exp=timeShift(sum:g.a{host=a},'1min')
= 200
~ "dps":{"1356998460":6}
# A body says the same.
POST /api/query/gexp {"start":"1356998400","end":1356998500,"exp":["movingAverage(sum:g.a{host=b},2)"],"msResolution":true}
= 200
| [{"metric":"g.a","tags":{"host":"b"},"aggregateTags":[],"dps":{"1356998400000":0.0,"1356998460000":5.0}}]
GET /api/query/gexp?start=1356998400&exp=bogus(sum:g.a)
= 400
~ Function bogus has not been implemented
GET /api/query/gexp?start=1356998400&exp=scale(sum:g.a,2
= 400
~ Failed to parse scale(sum:g.a,2
GET /api/query/gexp?start=1356998400&end=1356998500&exp=difference(sum:g.a)
= 400
~ Must have 2 to 26 series, got 1 instead
GET /api/query/gexp?start=1356998400
= 400
~ Missing sub queries
GET /api/query/gexp
= 400
~ Missing parameter <code>start</code>
POST /api/query/gexp [1]
= 400
~ The body must be a JSON object
# An alias of an alias has no tags to name any more.
GET /api/query/gexp?start=1356998400&end=1356998500&exp=alias(alias(sum:g.a{host=a},x),y_@host)
~ [{"metric":"y_@host","tags":{}
# An operand's alias names the result, with the result's tags.
GET /api/query/gexp?start=1356998400&end=1356998500&exp=sum(alias(sum:g.a{host=a},n_@host),sum:g.b{host=a})
~ [{"metric":"n_a","tags":{"host":"a"}
# No series, parameters before series, a metric twice.
GET /api/query/gexp?start=1356998400&end=1356998500&exp=scale(2)
= 400
~ Missing sub queries
GET /api/query/gexp?start=1356998400&end=1356998500&exp=scale(2,sum:g.a)
= 400
~ The parameters of scale must follow its series
GET /api/query/gexp?start=1356998400&end=1356998500&exp=difference(sum:g.a,sum:g.a)
= 400
~ Index 1 out of bounds for length 1
GET /api/query/gexp?start=1356998400&end=1356998500&exp=scale(sum:g.a,x)
= 400
~ {"error":{"code":400,"message":"Unparseable scale factor value: 0.0","details":"Unparseable scale factor value: 0.0"}}
GET /api/query/gexp?start=1356998400&end=1356998500&exp=shift(sum:g.a,'1x')
= 400
~ "message":"unknown time unit=x'. The units are ms, s, m, h, d, w, n (30 days), y (365 days), and
GET /api/query/gexp?start=1356998400&end=1356998500&exp=nosuch
= 400
~ Function nosuch has not been implemented
# Elsewhere the metrics of an expression are asked for as they are.
GET /api/query?start=1356998400&end=1356998500&exp=scale(sum:g.b,2)
= 200
| [{"metric":"g.b","tags":{"host":"a"},"aggregateTags":[],"dps":{"1356998415":1.5}}]
GET /api/query/GEXP/x?start=1356998400&end=1356998500&exp=scale(sum:g.b,2)
= 200
| [{"metric":"g.b","tags":{"host":"a"},"aggregateTags":[],"dps":{"1356998415":3.0}}]
# Computed groups list their annotations, unless the request turns them off.
GET /api/query/gexp?start=1356998400&end=1356998500&exp=sum(sum:g.a{host=a},max:g.a{host=a})&no_annotations
= 200
| [{"metric":"g.a","tags":{"host":"a"},"aggregateTags":[],"dps":{"1356998400":12.0,"1356998460":-4.0}}]
# What a function makes infinite is a text.
> put g.big 1356998400 1e308 host=a
> put g.big 1356998460 -1e308 host=a
> put g.big 1356998490 2 host=a
> version
<~ 
<~ Built on
GET /api/query/gexp?start=1356998400&end=1356998500&exp=multiply(sum:g.big{host=a},max:g.big{host=a})&arrays
= 200
| [{"metric":"g.big","tags":{"host":"a"},"aggregateTags":[],"annotations":[],"dps":[[1356998400,"Infinity"],[1356998460,"Infinity"],[1356998490,4.0]]}]
