#!/bin/sh
# docs/SETTINGS.md holds the table of the program, as it is.
. "${srcdir:-.}/tests/harness.sh"
"$halite" tsd --help-markdown >settings || exit 1
grep '^[|-] `' "$top/docs/SETTINGS.md" | diff - settings || bad=1

# A wrong value ends the start with status 2 and the name of its setting.
while read -r name value; do
    ends 2 "$halite" tsd --data=refused --port=0 --bind=127.0.0.1 "$name=$value"
    says "*$name*"
done <<END
halite.no_such_setting 1
halite.auth.file /nofile
halite.query.bytes much
halite.store.row_hours 5
halite.sync sometimes
halite.tls.cert alone.pem
tsd.core.histograms.config {
tsd.core.timezone Atlantis
tsd.http.request.cors_domains *,x
tsd.query.limits.overrides.config /nofile
tsd.storage.salt.width 9
tsd.uidfilter.enable true
END
for setting in plugin=com.example.Filter whitelist.metric_patterns='ok,(' whitelist.tagv_patterns='('; do
    ends 2 "$halite" tsd --data=nofilter --port=0 --bind=127.0.0.1 tsd.uidfilter.enable=true \
        tsd.uidfilter.plugin=net.opentsdb.uid.UniqueIdWhitelistFilter "tsd.uidfilter.$setting"
    says "*tsd.uidfilter.${setting%%=*}*"
done
test ! -e nofilter || complain 'a start that failed made a folder'
ends 2 "$halite" tsd --memory --port=0 tsd.rollups.enable=true tsd.rollups.config=/nofile
says '*tsd.rollups.config*/nofile*'
for flag in --data= --store= halite.store=; do
    ends 2 "$halite" tsd --port=0 --bind=127.0.0.1 "$flag"
    says '*is empty: it names no store'
done

printf '\n just words\nhalite.snyc = off\n' >wrong.conf
ends 2 "$halite" tsd --memory --port=0 --config wrong.conf
says '*wrong.conf:3: "halite.snyc": there is no such setting'
echo 'halite.sync = of' >>wrong.conf
sed -i /snyc/d wrong.conf
ends 2 "$halite" tsd --memory --port=0 --config=wrong.conf
says '*wrong.conf:3: halite.sync="of": must be*'
sed -i /sync/d wrong.conf
ends 2 "$halite" tsd --memory --port=x --config=wrong.conf
says '*wrong.conf:2: unknown setting "just" has no effect
*tsd.network.port=*'
# On the command line every key must exist.
for word in just.this=x tsd.core.meta.enabel_tsuid_tracking=true halite.snyc=off; do
    ends 2 "$halite" tsd --memory --port=0 --config=wrong.conf "$word"
    says "*\"${word%=*}\": there is no such setting"
done

# All of them are told at once.
printf 'halite.snyc = off\nhalite.sync = of\nhalite.query.bytes = much\n' >wrong.conf
ends 2 "$halite" tsd --memory --port=x --config=wrong.conf
says '*wrong.conf:3: halite.query.bytes="much": not a*
*wrong.conf:1: "halite.snyc": there is no*
*wrong.conf:2: halite.sync="of": must be*
halite tsd: tsd.network.port="x": not a whole number'

# Settings of OpenTSDB without effect are told of, if they are not at their defaults, once.
printf '\357\273\277tsd.storage.enable_appends = true\n' >opentsdb.conf
printf '%s\n' 'tsd.storage.flush_interval = 1000' 'tsd.network.keep_alive = TRUE' \
    'tsd.network.worker_threads =' 'tsd.plugin.of.ours = 1' >>opentsdb.conf
serve --config opentsdb.conf --zkquorum=zk1,zk2 --flush-interval=1000
kill -HUP "$server"
within 'no SIGHUP' grep -q 'SIGHUP\|read again' log
stop
grep 'no effect here' log | sed 's/.*settings: //' | sort >told
grep -q 'opentsdb.conf:5: unknown setting "tsd.plugin.of.ours" has no effect' log || complain 'no word of a key of a plugin'
printf '%s\n' \
    'tsd.storage.enable_appends="true" is a setting of OpenTSDB that has no effect here' \
    'tsd.storage.hbase.zk_quorum="zk1,zk2" is a setting of OpenTSDB that has no effect here' |
    sort | diff - told || bad=1

# Signals of log rotation end nothing, and a limit of file sizes is a disk that is full.
serve_by sh -c 'ulimit -f 2000; exec "$0" "$@"' "$halite" tsd --data=small --sync=always --bind=127.0.0.1 --port=0
kill -USR1 "$server"
kill -USR2 "$server"
awk 'BEGIN { srand(1); for (i = 0; i < 400000; i++) print "put f.m", 1356998400 + i, rand(), "host=a" }' |
    "$halite" import --server "$address" - >imported 2>&1 && complain 'all was stored past the limit'
kill "$server"
wait "$server"
rc=$? server=
# It stops with an error unless the flush at the end made the WAL work again.
test $rc -eq 1 || { test $rc -eq 0 && grep -q 'writes are taken again' log; } ||
    complain "the limit of file sizes ended the server with $rc"
grep -q 'stopped badly: .*File too large' log || complain "$(tail -n 20 log)"

# Too few descriptors are told of.
serve_by sh -c 'ulimit -n 64; exec "$0" "$@"' "$halite" tsd --memory --bind=127.0.0.1 --port=0
grep -q '64 files may be open .*halite.connections.reserve=640' log || complain "$(cat log)"
stop

# SIGHUP takes the log's level over, and tells of what else was changed.
printf 'halite.sync = off\nhalite.retention = * 2y\nhalite.query.threads = 3\n' >file.conf
serve --config file.conf halite.query.threads=2
printf 'halite.log.level = warn\nhalite.sync = always\nhalite.query.threads = 4\n' >file.conf
kill -HUP "$server"
within 'no change' grep -q '"halite.sync" was changed; it counts after a restart' log
within 'no removal' grep -q '"halite.retention" was changed' log
test "$(grep -c 'was changed' log)" -eq 2 || complain "$(cat log)"
stop
grep -q stopped log && complain 'the level is as it was'
# What counts for a new store alone is told where the store has something else.
serve --data widths tsd.storage.uid.width.metric=4 tsd.storage.salt.width=0 tsd.storage.salt.buckets=20 \
    halite.store.row_hours=2
stop
grep 'a new store alone' log && complain 'of a new store nothing is told'
echo 'tsd.storage.uid.width.metric = 3' >widths.conf
serve --data widths --config widths.conf tsd.storage.uid.width.tagk=3 tsd.storage.salt.width=1 halite.store.row_hours=1
stop
sed -n 's/.*warn *store: \(.*a new store alone.*\)/\1/p' log >told
cat >wanted <<END
tsd.storage.uid.width.metric = 3 counts for a new store alone: this one has 4
halite.store.row_hours = 1 counts for a new store alone: this one has 2
tsd.storage.salt.width = 1 counts for a new store alone: this one has 0
END
diff wanted told || complain "told: $(cat log)"
serve --data widths
stop
grep 'a new store alone' log && complain 'of defaults nothing is told'

# A start that is rejected, for one of these settings or for those above, leaves nothing behind.
ends 2 "$halite" tsd --data=refused --port=0 --bind=127.0.0.1 tsd.rollups.enable=true \
    tsd.rollups.config=/nofile
test ! -e refused || complain 'a start that was rejected made the folder of its store'
exit $bad
