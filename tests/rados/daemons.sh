#!/bin/bash
# Three servers of one store in a pool, as an operator sees them: 'halite members',
# /api/cluster, /metrics; one is killed, one stopped, and at last none is left.
# $halite: the program; $HALITE_TEST_RADOS: a cluster's ceph.conf, see README.md.
test -n "${HALITE_TEST_RADOS:-}" || { echo 'no cluster: HALITE_TEST_RADOS is not set'; exit 77; }
command -v curl >/dev/null && command -v rados >/dev/null || { echo 'no curl, or no rados'; exit 77; }
. "${srcdir:-.}/tests/harness.sh"
space=daemons-$$-$(date +%s)
place="rados:tsdb/$space?conf=$HALITE_TEST_RADOS"
ceph_of_test()
{
    timeout 60 rados -c "$HALITE_TEST_RADOS" -p tsdb -N "$space" "$@"
}
remove_all()
{
    ceph_of_test ls 2>/dev/null | while read -r object; do ceph_of_test rm "$object" 2>/dev/null; done
}
# shellcheck disable=SC2086
trap 'kill $pids 2>/dev/null; wait; remove_all; rm -rf "$work"' EXIT
trap 'exit 99' HUP INT TERM

declare -a process address
start() # N
{
    "$halite" tsd --store "$place" --bind 127.0.0.1 --port 0 halite.cluster.lease_ms=2000 2>"$1.log" &
    process[$1]=$!
    pids="$pids $!"
    within "server $1 does not listen" grep -q ' listening on ' "$1.log" || exit 1
    address[$1]=$(sed -n 's/.* listening on \(.*:[0-9]*\)$/\1/p' "$1.log")
}
value() # N METRIC
{
    curl -fsS "${address[$1]}/metrics" | awk -v name="$2" '$1 == name { print $2; found = 1 } END { exit !found }'
}
serve_all() # N..: these servers own all buckets among them
{
    local sum=0 n owned
    for n in "$@"; do
        owned=$(value "$n" halite_cluster_buckets_owned) || return 1
        test "$owned" -gt 0 || return 1
        sum=$((sum + owned))
    done
    test "$sum" -eq 64
}
sees() # N LIVE: no bucket without an owner
{
    test "$(value "$1" 'halite_cluster_members{state="live"}')" -eq "$2" &&
        test "$(value "$1" halite_cluster_buckets_unowned)" -eq 0
}
put() # N VALUE
{
    for host in $(seq 64); do
        printf '%s{"metric":"d.m","timestamp":%d,"value":%d,"tags":{"host":"%d"}}' "$comma" "$((1795000000 + $2))" "$2" "$host"
        comma=,
    done >points
    curl -fsS -d "[$(cat points)]" "${address[$1]}/api/put" || complain "points to server $1: $(tail -n 5 "$1.log")"
    comma=
}
comma=
expect_points() # N COUNT
{
    curl -fsSg "${address[$1]}/api/query?start=1794999600&end=1795003000&m=sum:1h-count:d.m" >said ||
        complain "server $1 does not answer: $(tail -n 5 "$1.log")"
    grep -q "\"dps\":{\"[0-9]*\":$2\\.0}" said || complain "server $1 answers $(cat said), not $2"
}

for n in 1 2 3; do start $n; done
for n in 1 2 3; do within "server $n does not see the others" sees $n 3; done
within 'not all are owned' serve_all 1 2 3
put 1 0
put 2 1
for n in 1 2 3; do expect_points $n 128; done

# All of them tell the same.
"$halite" members "$place" >said || complain "halite members: $(cat said)"
test "$(grep -c ' rw  *held ' said)" -eq 3 || complain "halite members: $(cat said)"
owners()
{
    grep -o '"owners":.*'
}
"$halite" members --json "$place" | owners >owners
for n in 1 2 3; do
    curl -fsS "${address[$n]}/api/cluster" | owners | diff owners - || complain "server $n sees other owners"
done
test "$(value 1 'halite_forwarded_points_total{direction="sent"}')" -gt 0 || complain 'no point was forwarded'
test "$(value 3 'halite_forwarded_points_total{direction="received"}')" -gt 0 || complain 'no point came to 3'
test "$(value 1 halite_peer_put_duration_seconds_count)" -gt 0 || complain 'no PUT was timed'
test "$(value 1 'halite_rados_operations_total{kind="write"}')" -gt 0 || complain 'nothing was written'
curl -fsS "${address[1]}/api/stats" | grep -q '"metric":"tsd.cluster.members"' || complain 'no tsd.cluster.members'
has_wal_bytes()
{
    curl -fsS "${address[1]}/api/cluster" | grep -o '"walBytes":[0-9]*' >said && test "$(grep -vc ':0$' said)" -eq 3
}
within 'the size of the WALs is not told' has_wal_bytes
curl -fsS "${address[1]}/metrics" | grep -E '^halite_(disk|table)_' && complain 'figures of a disk'
if installed promtool; then
    curl -fsS "${address[1]}/metrics" >metrics
    promtool check metrics <metrics >said 2>&1 && test ! -s said || complain "$(cat said)"
fi

# One is killed: its buckets are taken over, with its points.
kill -9 "${process[3]}"
within 'server 1 does not see that one died' sees 1 2
within 'not all were taken over' serve_all 1 2
takeovers=$(($(value 1 halite_cluster_takeovers_total) + $(value 2 halite_cluster_takeovers_total)))
test "$takeovers" -ge 1 || complain 'no takeover was counted'
expect_points 1 128
put 2 2
expect_points 1 192

# One is stopped: it gives all away, and leaves nothing behind.
kill "${process[2]}"
wait "${process[2]}" || complain "server 2 ended with $?: $(tail -n 5 2.log)"
within 'not all were given' serve_all 1
within 'who has left is still there' sees 1 1
expect_points 1 192
test "$(value 1 'halite_cluster_members{state="dead"}')" -eq 0 || complain 'a member that left is dead'

# None is left: told without one.
kill -9 "${process[1]}"
is_alone()
{
    "$halite" members "$place" >said 2>&1
    test $? -eq 1 && grep -q '64 of 64 salt buckets have no owner that lives' said
}
within 'halite members does not see that none is left' is_alone || cat said

# And all is there again.
start 4
within 'not all are owned' serve_all 4
expect_points 4 192

# The last one ends in order: the next finds nothing dead.
kill "${process[4]}"
wait "${process[4]}" || complain "server 4 ended with $?: $(tail -n 5 4.log)"
start 5
within 'not all are owned' serve_all 5
expect_points 5 192
test "$(value 5 halite_cluster_takeovers_total)" -eq 0 || complain 'an end was taken for a death'
grep 'is dead' 5.log && complain 'one that ended is dead'

# One is told to end before it owns what it is to own, and dies then: what it acknowledged meanwhile
# counts, as it has not said that all is flushed.
kill -9 "${process[5]}"
start 6
kill "${process[6]}"
wait "${process[6]}"
start 7
within 'not all are owned' serve_all 7
expect_points 7 192

# A command beside servers asks one of them; a list set at one is every one's.
start 8
within 'not all are owned' serve_all 7 8
curl -fsS -X PUT "${address[7]}/api/retention" -d '{"policies":"never.* 7d"}' >/dev/null ||
    complain 'retention was not set'
curl -fsS "${address[8]}/api/retention" | grep -q 'never.* 7d' || complain 'the other does not know it'
finish
