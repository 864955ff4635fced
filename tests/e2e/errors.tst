# A bad line is answered, and nothing else happens to the connection.
> put e.bad
< put: illegal argument: not enough arguments (need least 4, got 1)
> put
< put: illegal argument: not enough arguments (need least 4, got 0)
> put e.bad 1356998400  
< put: illegal argument: empty value
> put e.bad 1356998400 1 host
< put: illegal argument: invalid tag: host
> put e.bad abc 1 host=a
< put: invalid value: Invalid character 'a' in abc
> put e.bad 1356998400 1x host=a
< put: invalid value: Invalid character 'x' in 1x
> put e.bad 1356998400 1e400 host=a
< put: illegal argument: value is NaN or Infinite: Infinity for metric=e.bad timestamp=1356998400
> put e!bad 1356998400 1 host=a
< put: illegal argument: Invalid metric name ("e!bad"): illegal character: !
> put e.bad 1356998400 1 h=1 h2=2 h3=3 h4=4 h5=5 h6=6 h7=7 h8=8 h9=9
< put: illegal argument: Too many tags: 9 maximum allowed: 8, tags: {h8=8, h9=9, h=1, h2=2, h3=3, h4=4, h5=5, h6=6, h7=7}
> put e.bad 5000000000000 1 host=a
< put: illegal argument: bad timestamp=5000000000000 when trying to add value=[1]/0 to metric=e.bad, tags={host=a}
> bogus 1 2
< unknown command: bogus.  Try `help'.
>
< unknown command: .  Try `help'.

# Answers come in the order of the lines, and the good ones are stored.
> put e.mix 1356998400 1 host=a\nput e.mix bad\nput e.mix 1356998401 2 host=a\njunk\nput e.mix 1356998402 x host=a
< put: illegal argument: not enough arguments (need least 4, got 2)
< unknown command: junk.  Try `help'.
< put: invalid value: Invalid character 'x' in x
fin
GET /api/query?start=1356998340&end=1357002000&m=none:e.mix
= 200
~ "dps":{"1356998400":1,"1356998401":2}
GET /api/suggest?type=metrics&q=e.bad
= 200
| []

# method_override counts on GET alone.
GET /api/query?method_override=post&start=1356998340&end=1357002000&m=none:e.mix
= 200
~ "dps":{"1356998400":1,
POST /api/query?method_override=get&start=1356998340&m=none:e.mix
= 400
~ "message":"Missing message content"
PUT /api/query?method_override=get&start=1356998340&m=none:e.mix
= 405
# Escapes in a path are not undone.
GET /api/aggreg%61tors
= 404
# An empty jsonp is none.
GET /api/aggregators?jsonp=
= 200
