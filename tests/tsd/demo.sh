#!/bin/bash
# 'halite demo' with a /proc of our own, against a server that comes, goes and comes back.
# $halite: the program.
halite=$(realpath "${halite:-build/halite}")
command -v curl >/dev/null || exit 77
tmp=$(mktemp -d "${TMPDIR:-/tmp}/demo-XXXXXX") || exit 99
server= demo=
trap 'kill $server $demo 2>/dev/null; wait; rm -rf "$tmp"' EXIT
cd "$tmp" || exit 99
unset HALITE_TOKEN HALITE_SERVER
bad=0
complain()
{
    echo "$*"
    bad=1
}
# within TEXT COMMAND...: it succeeds within 20 seconds.
within()
{
    text=$1
    shift
    for _ in $(seq 400); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.05
    done
    complain "$text: $(tail -n 3 log demo.log)"
}
serve() # PORT SETTING...
{
    : >log
    "$halite" tsd --memory --bind 127.0.0.1 --port "$@" 2>>log &
    server=$!
    within 'no server' grep -q 'listening on' log
    port=$(sed -n 's/.*listening on .*:\([0-9]*\)$/\1/p' log)
}
# has M [SECONDS]: is there a point of it?
has()
{
    curl -fsSg "127.0.0.1:$port/api/query?start=1h-ago&m=sum:$1" | grep -q '"dps":{"'
}
# once STATUS FLAG...: how one reading ends.
once()
{
    want=$1
    shift
    timeout 60 "$halite" demo --once --proc proc --host 'web 01' "$@" >said 2>&1
    is=$?
    test "$is" -eq "$want" || complain "demo $*: status $is, not $want: $(cat said)"
}

mkdir -p proc/1 proc/22 proc/net
echo '0.31 0.40 0.38 2/310 4711' >proc/loadavg
echo 'MemTotal:       100 kB' >proc/meminfo
echo 'none / tmpfs rw 0 0' >proc/mounts

serve 0
once 0 --server "127.0.0.1:$port"
has 'proc.loadavg.1m{host=web_01}' || complain 'no load'
has 'proc.meminfo.memtotal{host=web_01}' || complain 'no memory'
has 'df.bytes.total{host=web_01,mount=/,fstype=tmpfs}' || complain 'no disk'
curl -sg "127.0.0.1:$port/api/query?start=1h-ago&m=sum:proc.processes.count" | grep -q ':2}' ||
    complain 'not two processes'
HALITE_SERVER=127.0.0.1:$port once 0
once 0 --server "127.0.0.1:$port" --proc /nonexistent
has 'tsd.datapoints.added' && complain 'statistics without --stats'
once 0 --server "127.0.0.1:$port" --stats
has 'tsd.datapoints.added{type=all}' || complain 'no statistics'

# Wrong requests.
for flags in '--interval 0' '--interval x' '--interval 1e9' '--nosuch' 'word'; do
    # shellcheck disable=SC2086
    once 2 $flags
done
"$halite" demo --help | grep -q -- --interval || complain 'no help'

# While it runs the server goes; what was read meanwhile is sent to the next one.
"$halite" demo --proc proc --host h --server "127.0.0.1:$port" 2>demo.log &
demo=$!
within 'it says nothing' grep -q 'sending .* points every 1 s; see http://127' demo.log
kill $server && wait $server
within 'it does not notice' grep -q 'trying again' demo.log
rm proc/loadavg
from=$(date +%s)
echo '9.75 0.40 0.38 2/310 4711' >proc/loadavg
while test "$(date +%s)" -lt $((from + 2)); do sleep 0.1; done
echo '0.31 0.40 0.38 2/310 4711' >proc/loadavg
serve "$port"
within 'it does not come back' grep -q 'takes points again' demo.log
curl -sg "127.0.0.1:$port/api/query?start=1h-ago&m=sum:proc.loadavg.1m" | grep -q ':9.75' ||
    complain 'points read while no server was there are lost'
test "$(grep -c 'trying again' demo.log)" -le 2 || complain "it says too much: $(cat demo.log)"
kill -TERM $demo
wait $demo 2>/dev/null
demo=
kill $server && wait $server
once 1 --server "127.0.0.1:$port"
grep -q 'cannot connect' said || complain "no reason: $(cat said)"

# A server that wants credentials.
"$halite" secret token feeder write >auth 2>said
sed -n 's/.*: //p' said >token
chmod 600 auth
serve 0 halite.auth.file=auth
once 1 --server "127.0.0.1:$port"
grep -q 'answers 401' said || complain "without a token: $(cat said)"
once 0 --server "127.0.0.1:$port" --token token
HALITE_TOKEN=$(cat token) once 0 --server "127.0.0.1:$port"
exit $bad
