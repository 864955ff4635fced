! tsd.core.histograms.config={"net.opentsdb.core.SimpleHistogramDecoder":0}
# Buckets of the calendar start where the clock of the zone says, whatever the first point and
# the start of the query; the last one ends where the query ends.
repeat 100 put c.m 1714##0000 1 host=a
repeat 10 put c.m 17145#0000 1 host=b
repeat 100 put c.z 1729##0000 1 host=a
repeat 20 put c.z 17300#0000 1 host=a
repeat 10 put c.z 17301#0000 1 host=a
> version
<~ built at revision
<~ Built on

# In Cairo April 26 begins at 01:00; all later days begin at 00:00 again, and a series that begins
# after that day has the same days as one that begins before it.
GET /api/query?start=1713996000&end=1714528800&m=sum:1dc-count:c.m&tz=Africa/Cairo
= 200
~ "dps":{"1713996000":9.0,"1714082400":8.0,"1714165200":9.0,"1714251600":8.0,"1714338000":9.0,"1714424400":11.0,"1714510800":2.0}
GET /api/query?start=1714165200&end=1714528800&m=sum:1dc-count:c.m{host=a}&tz=Africa/Cairo
= 200
~ "dps":{"1714165200":9.0,"1714251600":8.0,"1714338000":9.0,"1714424400":9.0,"1714510800":1.0}
POST /api/query {"start":1713996000,"end":1714528800,"timezone":"Africa/Cairo","useCalendar":true,"queries":[{"metric":"c.m","aggregator":"sum","downsample":"1d-count-zero"},{"metric":"c.m","aggregator":"sum","downsample":"24h-count"},{"metric":"c.m","aggregator":"sum","downsample":"1d-p50"}]}
= 200
~ "dps":{"1713996000":9.0,"1714082400":8.0,"1714165200":9.0,"1714251600":8.0,"1714338000":9.0,"1714424400":11.0,"1714510800":2.0}},{
~ "dps":{"1713996000":9.0,"1714082400":8.0,"1714165200":9.0,"1714251600":8.0,"1714338000":9.0,"1714424400":11.0,"1714510800":2.0}},{
~ "dps":{"1713996000":1.0,"1714082400":1.0,"1714165200":1.0,"1714251600":1.0,"1714338000":1.0,"1714424400":2.0,"1714510800":2.0}}]
GET /api/query/gexp?start=1713996000&end=1714528800&tz=Africa/Cairo&exp=scale(sum:1dc-count:c.m,2)
= 200
~ "dps":{"1713996000":18.0,"1714082400":16.0,"1714165200":18.0,"1714251600":16.0,"1714338000":18.0,"1714424400":22.0,"1714510800":4.0}
GET /q?start=1713996000&end=1714528800&m=sum:1dc-count:c.m&tz=Africa/Cairo&ascii
= 200
| c.m 1713996000 9.0
| c.m 1714082400 8.0
| c.m 1714165200 9.0
| c.m 1714251600 8.0
| c.m 1714338000 9.0
| c.m 1714424400 11.0
| c.m 1714510800 2.0

# Twelve hours start at 00:00 and 12:00, also on the day of 25 hours and after it.
GET /api/query?start=1729893600&end=1730156399&m=sum:12hc-count:c.z&tz=Europe/Zurich
= 200
~ "dps":{"1729893600":4.0,"1729936800":4.0,"1729980000":5.0,"1730026800":4.0,"1730070000":5.0,"1730113200":4.0}

# The extremes of days, and histograms.
GET /api/query?start=1713996000&end=1714528800&m=sum:1dc-minmax:c.m{host=b}&tz=Africa/Cairo
= 200
~ "dps":{"1714500000":1,"1714520000":1}
POST /api/histogram [{"metric":"c.h","timestamp":1714082300,"tags":{"host":"a"},"buckets":{"0,10":1}},{"metric":"c.h","timestamp":1714165100,"tags":{"host":"a"},"buckets":{"0,10":2}},{"metric":"c.h","timestamp":1714165200,"tags":{"host":"a"},"buckets":{"0,10":4}},{"metric":"c.h","timestamp":1714170001,"tags":{"host":"a"},"buckets":{"0,10":8}}]
= 204
GET /api/query?start=1713996000&end=1714170000&m=sum:show-histogram-buckets:1dc-sum:c.h&tz=Africa/Cairo
= 200
~ {"metric":"c.h_0.0_10.0","tags":{"host":"a"},"aggregateTags":[],"dps":{"1713996000":1,"1714082400":2,"1714165200":4}}
