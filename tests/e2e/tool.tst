# A line of an answer is one line, whatever a name holds; a number of the client reaches nothing.
POST /api/tool/import?json=true&create=true {"type":"points","metric":"a\\ntaken 5 0\\nb","tags":{"host":"a"},"times":[1],"values":[1]}
= 200
~ taken 0 0
~ bad 0 Invalid metric name ("a taken 5 0 b")
POST /api/tool/import?sync=18446744073709551615
= 200
POST /api/tool/import?sync=true
= 200
~ server
~ taken 0 0
GET /api/version
= 200

# Nothing is deleted that the client has not shown to have.
> put d.m 1356998400 1 host=a
> put d.m 1357002000 2 host=a
> version
<~ built at revision
<~ Built on
POST /api/tool {"words":["scan","--delete","1356998400","1357005600","sum","d.m"]}
= 200
GET /api/query?start=1356998400&end=1357005600&m=sum:d.m
~ "dps":{"1356998400":1,"1357002000":2}

# A series of which a name was deleted is left out of lookups.
> put gone.m 1356998400 1 host=left
> put gone.m 1356998400 1 host=gone
> version
<~ built at revision
<~ Built on
POST /api/tool {"words":["uid","delete","tagv","gone"]}
= 200
GET /api/search/lookup?m=gone.m
= 200
~ "tags":{"host":"left"}}],"startIndex":0,"totalResults":1}
GET /api/search/lookup?m=*&limit=0
= 200
~ "tags":{"host":"left"}}

# From this machine, by a name that a page of another site may have: no right.
with Host: evil.example:4242
POST /api/tool {"words":["mkmetric","made"]}
= 403
~ Only this machine may run tools, and by its own name: if the Host, \"evil.example:4242\", is one, add it to halite.http.hosts
with Host: evil.example:4242
POST /api/tool/import x
= 403
with Host: evil.example
POST /api/backup?to=/nonexistent/x {}
= 403
with Host: evil.example
GET /api/dropcaches
= 403
with Host: evil.example
GET /diediedie
= 400
~ Only this machine may stop the daemon, and by its own name: if the Host, 
~ , is one, add it to halite.http.hosts
with Host: LOCALHOST:4242
GET /api/dropcaches
= 200
with Host: [::1]:4242
GET /api/dropcaches
= 200
