# statsd's backend: a connection a flush, all lines in one write, and its end at
# once.  The last two lines are wrong, always; histograms make another.
>> put stats.e.hits 1356998400 1.5 source=a\nput stats_counts.e.hits 1356998400 15 source=a\nput stats.timers.e.lat.upper_90 1356998400 55 source=a\nput stats.timers.e.lat.histogram 1356998400 [object Object] source=a\nput stats.gauges.e.temp 1356998400 -3.25 source=a\nput stats.e.last_exception 1356998400 1356998399\nput stats.e.last_flush 1356998400 1356998400\n
< put: illegal argument: invalid tag: Object]
< put: illegal argument: not enough arguments (need least 4, got 3)
< put: illegal argument: not enough arguments (need least 4, got 3)
fin

# The next flush does not wait for our answers to the last one.
>> put stats_counts.e.hits 1356998410 0 source=a\nput stats.gauges.e.temp 1356998410 21 source=a\nput stats.e.last_flush 1356998410 1356998410\n
< put: illegal argument: not enough arguments (need least 4, got 3)
fin
GET /api/query?start=1356998340&end=1357002000&m=none:stats_counts.e.hits&m=none:stats.gauges.e.temp&m=none:stats.timers.e.lat.upper_90
= 200
~ "dps":{"1356998400":15,"1356998410":0}
~ "dps":{"1356998400":-3.25,"1356998410":21}
~ "dps":{"1356998400":55}
GET /api/suggest?type=metrics&q=stats.
= 200
| ["stats.e.hits","stats.gauges.e.temp","stats.timers.e.lat.upper_90"]
