! tsd.core.enable_api=false tsd.no_diediedie=true
# /api is not there, the pages are.
GET /api/version
= 404
GET /api/openapi.json
= 404
POST /api/put {"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"a"}}
= 404
GET /version
= 200
GET /
= 200
GET /health
= 200
> put m 1356998400 1 host=a
> version
<~ built
<~ Built on
GET /suggest?type=metrics
= 200
| ["m"]

# No request stops it.
GET /diediedie
= 404
> diediedie
< unknown command: diediedie.  Try `help'.
GET /health
= 200
