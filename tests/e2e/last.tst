# The newest point of series, by name and by TSUID, whatever its age.
! disk
> put last.m 1356998400 1 host=a
> put last.m 1356998460 2.5 host=a
> put last.m 1356998430 7 host=b dc=x
> version
<~ 
<~ Built on
GET /api/query/last?timeseries=last.m%7Bhost=a%7D&resolve
= 200
| [{"metric":"last.m","timestamp":1356998460000,"value":"2.5","tags":{"host":"a"},"tsuid":"000001000001000001"}]
# Tags name at least these; with back_scan exactly these, and no older hours.
GET /api/query/last?timeseries=last.m%7Bdc=x%7D
= 200
| [{"timestamp":1356998430000,"value":"7","tsuid":"000001000001000002000002000003"}]
GET /api/query/last?timeseries=last.m%7Bdc=x%7D&back_scan=1000000
= 200
| []
GET /api/query/last?timeseries=last.m%7Bhost=a%7D&back_scan=24
= 200
| []
POST /api/query/last {"queries":[{"tsuids":["000001000001000001"]}],"backScan":1000000}
= 200
| [{"timestamp":1356998460000,"value":"2.5","tsuid":"000001000001000001"}]
GET /api/query/last?timeseries=nosuch
= 400
~ No such name for 'metrics': 'nosuch'
GET /api/query/last?tsuids=zz
= 400
~ contains illegal character for hexBinary: zz
GET /api/query/last?tsuids=xyz
= 400
~ contains illegal character for hexBinary: 0xyz
GET /api/query/last
= 400
~ Missing sub queries
restart
GET /api/query/last?tsuids=000001000001000001
= 200
| [{"timestamp":1356998460000,"value":"2.5","tsuid":"000001000001000001"}]

# Odd queries.
GET /api/query/last?tsuids=00001000001000001&method_override=post
= 200
| [{"timestamp":1356998460000,"value":"2.5","tsuid":"000001000001000001"}]
GET /api/query/last?timeseries=last.m%7Bhost=a,%7D
= 400
GET /api/query/last?timeseries=last.m&back_scan=1
= 400
~ "message":"Tags cannot be null or empty when getting a TSUID"
POST /api/query/last {"queries":[{"metric":"last.m","tags":{"host":"a"},"bogus":1}]}
= 400
~ "message":"Unable to parse the given JSON"
POST /api/query/last {"queries":{}}
= 400
~ "details":
POST /api/query/last {"queries":[{"metric":"last.m","tags":{"host":"a"}}],"backScan":900000.5,"resolveNames":"true"}
= 200
~ "tags":{"host":"a"}
DELETE /api/query/last?timeseries=last.m
= 400
~ Deleting data is not enabled
