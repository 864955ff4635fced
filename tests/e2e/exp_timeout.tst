! tsd.query.timeout=20
# The time of a query counts for its functions and expressions as well.
repeat 30000 put t.n 13569##### 2 host=a
> put
<~ put: illegal argument
GET /api/query/gexp?start=1356900000&end=1356999999&exp=movingAverage(sum:t.n,15000)
= 413
~ Sorry, your query timed out. Time limit: 20 ms
