! disk halite.retention.interval_ms=100
# Points are kept for as long as policies say: of the settings, or as set here.
> put r.old 1356998400 1 host=a
> put r.old 1356998410 2 host=b
> put r.kept 1356998400 3 host=a
> version
<~ built
# A stop flushes what is open.
restart
GET /api/retention
= 200
~ "source":"settings","policies":"","dryRun":false
~ "list":[]

# What a list would drop; nothing is.
PUT /api/retention?dry_run {"policies":"r.old 90d 2y; r.* forever"}
= 200
~ "dryRun":true
~ "list":[{"pattern":"r.old","raw":"90d","hourly":"2y","metrics":1,"rows":2,"points":2,"bytes":
~ {"pattern":"r.*","raw":"forever","hourly":"forever","metrics":1,"rows":0,"points":0,"bytes":0}]
GET /api/query?start=1356998400&end=1356998500&m=sum:r.old{host=*}
= 200
~ "1356998410":2
GET /api/retention
= 200
~ "list":[]

# Only what makes sense.
PUT /api/retention {"policies":"r.old 90d 30d"}
= 400
~ policy 1, \"r.old 90d 30d\": hourly ones are kept at least as long as raw points
PUT /api/retention {"policies":"r.old"}
= 400
~ a policy is PATTERN RAW [HOURLY]
PUT /api/retention {"policies":7}
= 400
~ Missing policies
PUT /api/retention {
= 400
POST /api/retention {"policies":"* 1h"}
= 405

PUT /api/retention {"policies":"r.old 90d; r.* forever"}
= 200
~ "source":"api","policies":"r.old 90d; r.* forever"
until /api/retention "pattern":"r.old","raw":"90d","hourly":"90d","metrics":1,"rows":2,"points":2
# Never silently empty.
GET /api/query?start=1356998400&end=1356998500&m=sum:r.old{host=*}&show_summary
= 200
~ "droppedBefore":
~ "warning":"raw points before 
!~ "1356998410":2
GET /api/query?start=1356998400&end=1356998500&m=sum:r.kept&show_stats
= 200
~ "1356998400":3
!~ warning
GET /api/stats
= 200
~ "metric":"tsd.retention.datapoints","timestamp":

# A point that is older than its policy is rejected, and told why, also of a metric that has no
# cut yet; others of its batch are stored.
> put r.old 1356998420 4 host=a
<~ put: illegal argument: the point is older than the retention policy of its metric
> put r.kept 1356998420 5 host=a
> version
<~ built
<~ Built
PUT /api/retention {"policies":"r.old 90d; r.new 7d 30d; r.* forever"}
= 200
~ "clock":"believed"
POST /api/put?details [{"metric":"r.new","timestamp":1356998420,"value":1,"tags":{"host":"a"}},{"metric":"r.kept","timestamp":1356998430,"value":6,"tags":{"host":"a"}}]
= 400
~ "success":1,"failed":1
~ the point is older than the retention policy
GET /metrics
= 200
~ halite_points_rejected_total{reason="expired"} 2
# A longer policy takes what the cut says is gone.
PUT /api/retention {"policies":"r.old 36500d; r.* forever"}
= 200
> put r.old 1356998420 4 host=a
> version
<~ built
kill
GET /api/query?start=1356998400&end=1356998500&m=sum:r.old&show_stats
= 200
~ "1356998420":4
~ "warning":"raw points before 
# A kill between loses nothing, and recovery rejects nothing; the pass drops it.
PUT /api/retention {"policies":"r.old 90d; r.* forever"}
= 200
kill
restart
until /api/retention "pattern":"r.old","raw":"90d","hourly":"90d","metrics":1,"rows":1,"points":1
PUT /api/retention {"confirmClock":true}
= 200
~ "clock":"believed"
PUT /api/retention {"confirmClock":false}
= 400
~ Missing policies

# The list is there after a start, and gone when it is deleted.
restart
GET /api/retention
= 200
~ "source":"api","policies":"r.old 90d; r.* forever"
GET /api/query?start=1356998400&end=1356998500&m=sum:r.kept
= 200
~ "1356998400":3,"1356998420":5
GET /api/query?start=1356998400&end=1356998500&m=sum:r.old&show_summary
= 200
~ "droppedBefore":
DELETE /api/retention
= 200
~ "source":"settings","policies":""
