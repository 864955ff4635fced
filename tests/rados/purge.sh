#!/bin/bash
# Series and names are removed from a store in a pool while three servers use it: by
# 'halite purge' through a server, and beside points that keep coming.
# $halite: the program; $HALITE_TEST_RADOS: a cluster's ceph.conf, see README.md.
test -n "${HALITE_TEST_RADOS:-}" || { echo 'no cluster: HALITE_TEST_RADOS is not set'; exit 77; }
command -v curl >/dev/null && command -v rados >/dev/null || { echo 'no curl, or no rados'; exit 77; }
. "${srcdir:-.}/tests/harness.sh"
space=purge-$$-$(date +%s)
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
# The handle of an idle series may be needed by points on their way for as long as a
# series stays in memory, a minute at most: here a second.
start() # N
{
    "$halite" tsd --store "$place" --bind 127.0.0.1 --port 0 halite.cluster.lease_ms=2000 halite.series.idle_ms=1000 \
        tsd.core.auto_create_metrics=true tsd.http.query.allow_delete=true 2>"$1.log" &
    process[$1]=$!
    pids="$pids $!"
    within "server $1 does not listen" grep -q ' listening on ' "$1.log" || exit 1
    address[$1]=$(sed -n 's/.* listening on \(.*:[0-9]*\)$/\1/p' "$1.log")
}
sees() # N LIVE: no bucket without an owner
{
    curl -fsS "${address[$1]}/metrics" >metrics &&
        grep -q "^halite_cluster_members{state=\"live\"} $2\$" metrics &&
        grep -q '^halite_cluster_buckets_unowned 0$' metrics
}
# put N METRIC FROM TO: a point of each host from FROM to TO.
put()
{
    seq "$3" "$4" | sed "s/.*/{\"metric\":\"$2\",\"timestamp\":1795000000,\"value\":1,\"tags\":{\"host\":\"$2&\"}}/" |
        paste -sd, - | sed 's/.*/[&]/' | curl -fsS -d @- "${address[$1]}/api/put" || complain "points to server $1: $(tail -n 5 "$1.log")"
}
delete() # N METRIC
{
    curl -fsSg -X DELETE "${address[$1]}/api/query?start=1794000000&end=1796000000&m=sum:$2" >said || complain "$(cat said)"
}
expect_points() # N METRIC COUNT
{
    curl -fsSg "${address[$1]}/api/query?start=1794999600&end=1795003000&m=sum:1h-count:$2" >said ||
        complain "server $1 does not answer: $(tail -n 5 "$1.log")"
    grep -q "\"dps\":{\"[0-9]*\":$3\\.0}" said || complain "server $1 answers $(cat said), not $3 of $2"
}
knows() # N TYPE NAME
{
    curl -fsS "${address[$1]}/api/suggest?type=$2&q=$3" | grep -q "\"$3\""
}
forgets() # WORD...: a purge says so
{
    "$halite" purge --store "$place" >said 2>&1 && grep -q "^forgot $*" said
}

for n in 1 2 3; do start $n; done
for n in 1 2 3; do within "server $n does not see the others" sees $n 3; done
put 1 old 1 100
put 2 old 101 200
put 3 new 1 100
for n in 1 2 3; do expect_points $n old 200; done
delete 2 old
within "a purge says $(cat said)" forgets '200 of 300 series, 1 metrics, 0 tag keys, 200 tag values' || cat said
for n in 1 2 3; do
    expect_points $n new 100
    knows $n metrics new || complain "server $n does not know new"
    knows $n metrics old && complain "server $n knows old"
    knows $n tagv old7 && complain "server $n knows old7"
done
put 3 old 1 10
for n in 1 2 3; do expect_points $n old 10; done

# Beside points that come: a host gets its first point, which is deleted, and comes back.
load() # N
{
    local i=0
    while ! test -e end; do
        i=$((i + 1))
        put "$1" "back$1" $((i % 5 * 10 + 1)) $((i % 5 * 10 + 10)) || return
        put "$1" "kept$1" $((i * 10 + 1)) $((i * 10 + 10)) || return
        test $((i % 4)) -ne 0 || delete $(($1 % 3 + 1)) "back$1"
        echo $((i * 10)) >"loaded$1"
    done
}
for n in 1 2 3; do
    load $n &
    loads="$loads $!"
done
worked=0
for _ in $(seq 15); do
    "$halite" purge --store "$place" >>purges 2>&1 && worked=$((worked + 1))
    sleep 0.3
done
touch end
# shellcheck disable=SC2086
wait $loads
test $worked -ge 5 || complain "$worked of 15 purges worked: $(cat purges)"
grep -qv 'forgot 0 of' purges || complain "nothing was forgotten: $(cat purges)"
for n in 1 2 3; do
    put $n "back$n" 1 50
    expect_points $((n % 3 + 1)) "kept$n" "$(cat "loaded$n")"
    expect_points $((n % 3 + 1)) "back$n" 50
done

# A member that is dead and not taken over yet may have points: a purge waits for that.
kill -9 "${process[3]}"
"$halite" purge --store "$place" >said 2>&1 && complain "a purge beside a dead member: $(cat said)"
within 'server 1 does not see that one died' sees 1 2
within "no purge works after it was taken over" forgets ''
for n in 1 2; do
    expect_points $n kept3 "$(cat loaded3)"
    kill "${process[$n]}"
    wait "${process[$n]}" || complain "server $n ended with $?: $(tail -n 5 $n.log)"
done
"$halite" fsck --store "$place" >said 2>&1 || complain "fsck: $(tail -n 20 said)"
exit $bad
