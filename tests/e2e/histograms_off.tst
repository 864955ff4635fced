# Without a codec there are no histograms.
POST /api/histogram {"metric":"e.g","timestamp":1356998400,"tags":{"host":"a"},"buckets":{"0,1":1}}
= 503
~ "message":"Histogram storage has not been enabled. Check the 'tsd.core.histograms.config' configuration."
> histogram e.g 1356998400 0,1=1 host=a
< histogram: illegal argument: Histogram storage has not been enabled. Check the 'tsd.core.histograms.config' configuration.
> put e.g 1356998400 1 host=a
> version
<~ halite
<~ uilt
GET /api/query?start=1356998340&end=1357002000&m=sum:percentiles[50]:e.g
= 200
| []
# That it is off is said before what is wrong with a request.
GET /api/histogram
= 503
~ Histogram storage has not been enabled
