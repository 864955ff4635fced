#!/bin/bash
# 'halite demo' with a /proc of our own, against a server that comes, goes and comes back.
# $halite: the program.
command -v curl >/dev/null || exit 77
. "${srcdir:-.}/tests/harness.sh"
# has M: is there a point of it?
has()
{
    curl -fsSg "$address/api/query?start=1h-ago&m=sum:$1" | grep -q '"dps":{"'
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

serve --memory
once 0 --server "$address"
has 'proc.loadavg.1m{host=web_01}' || complain 'no load'
has 'proc.meminfo.memtotal{host=web_01}' || complain 'no memory'
has 'df.bytes.total{host=web_01,mount=/,fstype=tmpfs}' || complain 'no disk'
curl -sg "$address/api/query?start=1h-ago&m=sum:proc.processes.count" | grep -q ':2}' ||
    complain 'not two processes'
HALITE_SERVER=$address once 0
once 0 --server "$address" --proc /nonexistent
has 'tsd.datapoints.added' && complain 'statistics without --stats'
once 0 --server "$address" --stats
has 'tsd.datapoints.added{type=all}' || complain 'no statistics'

# Wrong requests.
for flags in '--interval 0' '--interval x' '--interval 1e9' '--nosuch' 'word'; do
    # shellcheck disable=SC2086
    once 2 $flags
done
"$halite" demo --help | grep -q -- --interval || complain 'no help'

# While it runs the server goes; what was read meanwhile is sent to the next one.
"$halite" demo --proc proc --host h --server "$address" 2>demo.log &
demo=$!
pids=$demo
within 'it says nothing' grep -q 'sending .* points every 1 s; see http://127' demo.log
stop
within 'it does not notice' grep -q 'trying again' demo.log
# A pipe tells when it is read. The next reading finds a file.
mkfifo pipe
cp proc/loadavg file
mv pipe proc/loadavg
exec 3>proc/loadavg
mv file proc/loadavg
echo '9.75 0.40 0.38 2/310 4711' >&3
exec 3>&-
serve --memory --port "$port"
within 'it does not come back' grep -q 'takes points again' demo.log
curl -sg "$address/api/query?start=1h-ago&m=sum:proc.loadavg.1m" | grep -q ':9.75' ||
    complain 'points read while no server was there are lost'
test "$(grep -c 'trying again' demo.log)" -le 2 || complain "it says too much: $(cat demo.log)"
kill -TERM $demo
wait $demo 2>/dev/null
pids=
stop
once 1 --server "$address"
grep -q 'connect to server' said || complain "no reason: $(cat said)"

# A server that wants credentials.
"$halite" secret token feeder write >auth 2>said
sed -n 's/.*: //p' said >token
chmod 600 auth
serve --memory halite.auth.file=auth
once 1 --server "$address"
grep -q 'rejected: The server wants credentials' said || complain "without a token: $(cat said)"
once 1 --server "$address" --token nosuch
grep -q 'nosuch: No such file' said || complain "a token's file that is not there: $(cat said)"
once 0 --server "$address" --token token
HALITE_TOKEN=$(cat token) once 0 --server "$address"

# TLS, by a certificate that only we know.
if installed openssl; then
    stop
    serve_tls --memory halite.auth.file=auth
    rejects_the_certificate() # a busy machine takes longer than the demo waits
    {
        once 1 --server "$tls" --token token
        grep -q 'certificate.*trying again' said
    }
    within 'an unknown certificate' rejects_the_certificate || cat said
    once 1 --server "$tls" --cacert cert.pem
    grep -q 'wants credentials' said || complain "TLS without a token: $(cat said)"
    once 0 --server "$tls" --cacert cert.pem --token token
    HALITE_SERVER=$tls once 0 --cacert cert.pem --token token --stats
fi
finish
