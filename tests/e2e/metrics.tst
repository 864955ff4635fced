! disk halite.http.workers=1
# /metrics as Prometheus reads it: HELP, TYPE, one label at most; counters end in _total.
> put mt.m 1356998400 1 host=a
> put mt.m 1356998460 2 host=b
> put mt.m 1356998460 x host=b
<~ put: invalid value
> put mt.m 1356998460
<~ put: illegal argument
GET /api/query?start=1356998400&m=sum:mt.m
= 200
GET /api/query?start=1356998400&m=sum:mt.nosuch
= 400
GET /metrics
= 200
~ # HELP halite_build_info The version; always 1.\n# TYPE halite_build_info gauge\nhalite_build_info{version="
~ # TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 
~ # TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 
~ # TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes 
~ # TYPE process_open_fds gauge\nprocess_open_fds 
~ \nprocess_max_fds 
~ \nhalite_writable 1\n
~ \nhalite_disk_free_bytes 
~ \nhalite_disk_used_bytes 
~ \nhalite_disk_min_free_bytes 67108864\n
# Points.
~ # HELP halite_points_rejected_total Points rejected by storage; points with a bad value; points with bad arguments; points of unknown metrics; points older than their retention policy; late points of hours that are kept as hourly values alone.\n# TYPE halite_points_rejected_total counter\nhalite_points_rejected_total{reason="storage"} 0\nhalite_points_rejected_total{reason="value"} 1\nhalite_points_rejected_total{reason="argument"} 1\nhalite_points_rejected_total{reason="unknown_name"} 0\nhalite_points_rejected_total{reason="expired"} 0\nhalite_points_rejected_total{reason="counted"} 0\n
~ \nhalite_points_received_total 4\n
~ \nhalite_points_accepted_total 2\n
~ \nhalite_points_future_total 0\n
# Connections and requests; this one is among them.
~ \nhalite_connections{protocol="http"} 
~ \nhalite_connections{protocol="telnet"} 1\nhalite_connections{protocol="none"} 0\n
~ \nhalite_tls_connections 0\n
~ \nhalite_requests_total{protocol="telnet"} 4\nhalite_requests_total{protocol="http"} 3\n
# Queries.
~ \nhalite_queries_total{outcome="success"} 1\nhalite_queries_total{outcome="invalid"} 1\nhalite_queries_total{outcome="failed"} 0\n
~ \nhalite_queries_running 0\n
~ # TYPE halite_query_duration_seconds histogram\nhalite_query_duration_seconds_bucket{le="0.000128"} 
~ \nhalite_query_duration_seconds_bucket{le="33.554432"} 2\nhalite_query_duration_seconds_bucket{le="+Inf"} 2\nhalite_query_duration_seconds_sum 
~ \nhalite_query_duration_seconds_count 2\n
~ \nhalite_query_scan_duration_seconds_count 
~ \nhalite_put_batch_duration_seconds_count 
~ # TYPE halite_http_request_duration_seconds histogram\n
# Names and series; what the head, the WAL and the engine hold.  The second tagv may have
# come with more ids, where the engine is shared.
~ \nhalite_names{kind="metrics"} 1\nhalite_names{kind="tagk"} 1\nhalite_names{kind="tagv"} 
~ \nhalite_series 2\n
~ # TYPE halite_head_bytes gauge\nhalite_head_bytes 
~ \nhalite_head_limit_bytes 201326592\n
~ \nhalite_head_points 2\n
~ \nhalite_head_blocks_total 0\n
~ \nhalite_wal_bytes 
~ \nhalite_wal_unsynced_seconds 
~ # TYPE halite_wal_fsync_duration_seconds histogram\n
~ \nhalite_replay_seconds 
~ # TYPE halite_table_bytes gauge\nhalite_table_bytes{table="rows"} 
# Nothing of OpenTSDB's own, and nothing without a type.
!~ untyped
!~ hbase
!~ jvm
!~ tsd_
GET /api/stats
~ {"metric":"tsd.rpc.errors","timestamp":
~ "tags":{"type":"hbase_errors",
