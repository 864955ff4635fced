# Annotations: kept, changed, shown beside points, deleted.
> put a.m 1356998400 1 host=a
> version
<~ built at revision
<~ Built on
POST /api/annotation {"startTime":1356998410,"tsuid":"000001000001000001","description":"deploy","custom":{"who":"me"}}
= 200
| {"tsuid":"000001000001000001","description":"deploy","notes":"","custom":{"who":"me"},"startTime":1356998410,"endTime":0}
POST /api/annotation {"startTime":1356998410,"tsuid":"000001000001000001","notes":"more"}
= 200
| {"tsuid":"000001000001000001","description":"deploy","notes":"more","custom":{"who":"me"},"startTime":1356998410,"endTime":0}
PUT /api/annotation {"startTime":1356998410,"tsuid":"000001000001000001","notes":"only"}
= 200
| {"tsuid":"000001000001000001","description":"","notes":"only","startTime":1356998410,"endTime":0}
POST /api/annotation {"startTime":1356998410,"tsuid":"000001000001000001"}
= 304
POST /api/annotation {"startTime":1356998420,"description":"for all"}
= 200
GET /api/query?start=1356998400&end=1356998500&m=sum:a.m&global_annotations
= 200
~ "annotations":[{"tsuid":"000001000001000001","description":"","notes":"only","startTime":1356998410,"endTime":0}],"globalAnnotations":[{"tsuid":"","description":"for all","notes":"","startTime":1356998420,"endTime":0}],"dps"
GET /api/query?start=1356998400&end=1356998405&m=sum:a.m
= 200
~ "annotations":[],"dps"
GET /api/query?start=1356998400&end=1356998500&m=sum:a.m&no_annotations
= 200
!~ annotations
DELETE /api/annotation/bulk {"startTime":1356998400,"endTime":1356998500,"global":true,"tsuids":["000001000001000001"]}
= 200
~ "totalDeleted":2
GET /api/annotation?start_time=1356998410&tsuid=000001000001000001
= 404
GET /api/annotation?start_time=x
= 400

# As OpenTSDB; also where a parameter stands for the verb.
PATCH /api/annotation?start_time=5
= 405
~ The HTTP method [PATCH] is not permitted for this endpoint
GET /api/annotation?start_time=5&method_override=patch
= 405
~ Unknown or unsupported method override value

# A series that is none.
POST /api/annotation {"startTime":1356998410,"tsuid":"zz","notes":"n"}
= 400
~ "message":"contains illegal character for hexBinary: zz","details":"contains
POST /api/annotation {"startTime":1356998410,"tsuid":"00","notes":"n"}
= 400
~ The TSUID is too short
POST /api/annotation {"tsuid":"zz","notes":"n"}
= 400
~ "message":"The start timestamp has not been set"
DELETE /api/annotation/bulk {"startTime":1356998400,"endTime":1356998500,"tsuids":[""]}
= 400
~ "message":"UID was empty"

# Odd TSUIDs, and what a bulk deletion takes.
POST /api/annotation {"startTime":1356998430,"tsuid":"1000001000001","notes":"padded"}
= 200
GET /api/annotation?start_time=1356998430&tsuid=01000001000001
= 200
~ padded
GET /api/annotation/bulk/x?start_time=1356998430
= 405
DELETE /api/annotation/bulk {"startTime":1356998400,"global":"true"}
= 200
~ "global":true
DELETE /api/annotation/bulk {"startTime":1356998400,"global":"x"}
= 400
~ "details":
DELETE /api/annotation/bulk {"startTime":1356998400,"tsuids":"x"}
= 400
~ "details":
DELETE /api/annotation/bulk {"startTime":"1356998430","end_time":"1356998430","global":true}
= 400
~ Unrecognized field \"end_time\"
DELETE /api/annotation/bulk {"startTime":"1356998430","totalDeleted":7,"endTime":"1356998430","tsuids":["000001000001000009"]}
= 200
~ "totalDeleted":0
DELETE /api/annotation/bulk []
= 400
~ "details":
DELETE /api/annotation/bulk?start_time=1356998400&tsuids=
= 400
~ "details":"UID was empty"
DELETE /api/annotation/bulk?start_time=1356998400&tsuids=,
= 400
~ "message":"Missing the TSUIDs or global annotations flag"
DELETE /api/annotation/bulk?start_time=1356998400&tsuids=000001000001000001,
= 200
~ {"tsuids":["000001000001000001"],"global":false,
DELETE /api/annotation/bulk?start_time=1356998400&tsuids=000001000001000001,,00
= 400
~ "details":"UID was empty"

# A series that has notes in the hours read, but no points: its notes are those
# of its group, which has no name when no other series is in it.
> put a.n 1357005595 1 host=b
> put a.n 1357005605 1 host=a
> version
<~ built at revision
<~ Built on
GET /api/query?start=1357005590&end=1357005610&m=none:a.n{host=b}&show_tsuids
= 200
~ "tsuids":["000002000001000002"]
POST /api/annotation {"startTime":1357005603,"tsuid":"000002000001000002","description":"x"}
= 200
GET /api/query?start=1357005600&end=1357005700&m=sum:a.n&show_tsuids
= 200
| [{"metric":"a.n","tags":{"host":"a"},"aggregateTags":[],"tsuids":["000002000001000001"],"annotations":[{"tsuid":"000002000001000002","description":"x","notes":"","startTime":1357005603,"endTime":0}],"dps":{"1357005605":1}}]
GET /api/query?start=1357005600&end=1357005700&m=sum:1m-avg:a.n{host=b}&show_tsuids
= 200
| [{"metric":"","tags":{},"aggregateTags":[],"tsuids":[],"annotations":[{"tsuid":"000002000001000002","description":"x","notes":"","startTime":1357005603,"endTime":0}],"dps":{}}]
GET /api/query?start=1357005604&end=1357005700&m=none:a.n
= 200
| [{"metric":"a.n","tags":{"host":"a"},"aggregateTags":[],"dps":{"1357005605":1}},{"metric":"","tags":{},"aggregateTags":[],"annotations":[],"dps":{}}]
GET /api/query?start=1357005604&end=1357005700&m=sum:a.n{host=regexp(b)}&no_annotations
= 200
| [{"metric":"","tags":{},"aggregateTags":[],"dps":{}}]
GET /api/query?start=1357005604&end=1357005700&tsuid=sum:000002000001000002
= 200
| [{"metric":"","tags":{},"aggregateTags":[],"annotations":[],"dps":{}}]
GET /api/query?start=1357009200&end=1357009300&m=sum:a.n
= 200
| []
GET /api/query?start=1357005600&end=1357005700&m=sum:explicit_tags:a.n{host=*}{}&no_annotations
= 200
| [{"metric":"a.n","tags":{"host":"a"},"aggregateTags":[],"dps":{"1357005605":1}},{"metric":"","tags":{},"aggregateTags":[],"dps":{}}]

# Also when the range begins in 1970, with buckets made while rows are read.
> put a.w 1357005600 1 host=a
> put a.w 1357095600 1 host=b
> version
<~ built at revision
<~ Built on
POST /api/annotation {"startTime":1357005603,"tsuid":"000003000001000002","description":"x"}
= 200
GET /api/query?start=0&end=1357005700&m=sum:1h-sum:a.w&show_tsuids
= 200
~ [{"metric":"a.w","tags":{"host":"a"},"aggregateTags":[],"tsuids":["000003000001000001"],"annotations":[{"tsuid":"000003000001000002",
GET /api/query?start=0&end=1357005700&m=sum:1h-median:a.w&show_tsuids
= 200
~ [{"metric":"a.w","tags":{"host":"a"},"aggregateTags":[],"tsuids":["000003000001000001"],"annotations":[{"tsuid":"000003000001000002",

# The last times that 64 bits can hold lie behind all annotations.
POST /api/annotation {"startTime":1356998420,"description":"for all"}
= 200
GET /api/annotations?start_time=1&end_time=9223372036854775807
= 200
~ "description":"for all"
GET /api/annotations?start_time=9223372036854775000&end_time=9223372036854775807
= 200
| []
DELETE /api/annotation?start_time=1356998420
= 204

# Null is a value: it empties a member, which is left out.
POST /api/annotation {"startTime":1356998710,"description":"d","notes":"n","custom":{"a":null},"endTime":""}
= 200
| {"tsuid":"","description":"d","notes":"n","custom":{"a":null},"startTime":1356998710,"endTime":0}
POST /api/annotation {"startTime":1356998710,"description":null}
= 200
| {"tsuid":"","notes":"n","custom":{"a":null},"startTime":1356998710,"endTime":0}
POST /api/annotation {"startTime":1356998710,"notes":"m"}
= 200
| {"tsuid":"","notes":"m","custom":{"a":null},"startTime":1356998710,"endTime":0}
PUT /api/annotation {"startTime":1356998710,"notes":"m"}
= 200
| {"tsuid":"","description":"","notes":"m","startTime":1356998710,"endTime":0}

# A TSUID is shown as the request spells it.
POST /api/annotation {"tsuid":"00000a00000B00000c","startTime":1356998720,"description":"d"}
= 200
~ {"tsuid":"00000a00000B00000c","description":"d"
GET /api/annotation?tsuid=00000A00000B00000C&start_time=1356998720
= 200
~ {"tsuid":"00000A00000B00000C","description":"d"

# What is no UTF-8, and half a surrogate pair, is U+FFFD.
POST /api/annotation {"startTime":1356998430,"description":"a\xff\xe2\x82 z","notes":"\\ud800 \\ud83d\\ude00"}
= 200
| {"tsuid":"","description":"a\xef\xbf\xbd\xef\xbf\xbd z","notes":"\xef\xbf\xbd \xf0\x9f\x98\x80","startTime":1356998430,"endTime":0}
POST /api/annotation {"startTime":1356998430,"description":"a\xff"
= 400
POST /api/query {"start":1356998400,"queries":[{"aggregator":"sum","metric":"a.m\xff"}]}
= 400
~ No such name for 'metrics': 'a.m\xef\xbf\xbd'
POST /api/uid/assign {"metric":["a.ok","a.\xff"]}
= 400
~ a.ok
POST /api/query/gexp {"start":1356998400,"end":1356998500,"exp":"absolute(sum:a.m)","x":"\xff"}
= 200

# Notes of one group among many, which several threads write; in the hour that was read, but
# outside the range, they leave an empty list, and groups without any have none.
repeat 300 put many.m 1356998400 1 host=h###
> version
<~ built at revision
<~ Built on
GET /api/query?start=1356998400&end=1356998500&m=none:many.m{host=h007}&show_tsuids
= 200
~ "tsuids":["00000500000100000A"]
POST /api/annotation {"startTime":1356998410,"tsuid":"00000500000100000A","description":"one of many"}
= 200
GET /api/query?start=1356998400&end=1356998500&m=none:many.m
= 200
~ {"metric":"many.m","tags":{"host":"h007"},"aggregateTags":[],"annotations":[{"tsuid":"00000500000100000A","description":"one of many","notes":"","startTime":1356998410,"endTime":0}],"dps":{"1356998400":1}}
~ {"metric":"many.m","tags":{"host":"h006"},"aggregateTags":[],"dps":{"1356998400":1}}
~ {"metric":"many.m","tags":{"host":"h299"},"aggregateTags":[],"dps":{"1356998400":1}}
GET /api/query?start=1356998400&end=1356998405&m=sum:many.m{host=*}
= 200
~ {"metric":"many.m","tags":{"host":"h007"},"aggregateTags":[],"annotations":[],"dps":{"1356998400":1}}
~ {"metric":"many.m","tags":{"host":"h008"},"aggregateTags":[],"dps":{"1356998400":1}}
GET /api/query?start=1356998400&end=1356998500&m=sum:many.m
= 200
~ "annotations":[{"tsuid":"00000500000100000A","description":"one of many"
