#!/bin/bash
# The files of dist/clients against the programs that they are for, as far as these are
# installed: each is read without complaint, and points come through.  All of them:
#     apt-get install nginx-light haproxy collectd-core syslog-ng-core
# $halite: the program.
halite=$(realpath "${halite:-build/halite}") top=$(realpath "${srcdir:-.}")
command -v curl >/dev/null || exit 77
PATH=$PATH:/usr/sbin:/sbin
tmp=$(mktemp -d "${TMPDIR:-/tmp}/clients-XXXXXX") || exit 99
pids=
trap 'kill $pids 2>/dev/null; wait; rm -rf "$tmp"' EXIT
cd "$tmp" || exit 99
bad=0 tried=
complain()
{
    echo "$*"
    bad=1
}
"$halite" tsd --memory --bind 127.0.0.1 --port 0 2>log &
pids=$!
for _ in $(seq 200); do
    port=$(sed -n 's/.*listening on .*:\([0-9]*\)$/\1/p' log)
    test -n "$port" && break
    sleep 0.05
done
test -n "$port" || { cat log; exit 1; }
for file in "$top"/dist/clients/*; do
    name=$(basename "$file")
    grep -q "clients/$name)" "$top/docs/CLIENTS.md" || complain "docs/CLIENTS.md does not link to $name"
    sed "s/db\.example/127.0.0.1/g; s/\<4242\>/$port/g" "$file" >"$name"
    grep -q "\<$port\>" "$name" || complain "$name names no port"
done

# within METRIC PROGRAM: a point of it comes within 20 seconds.
within()
{
    for _ in $(seq 200); do
        curl -fsSg "127.0.0.1:$port/api/query?start=1h-ago&m=sum:$1" 2>/dev/null |
            grep -q '"dps":{"' && return
        sleep 0.1
    done
    complain "$2: no points of $1: $(tail -n 5 "$2.log")"
}
# has PROGRAM...: are all there?
has()
{
    for program; do command -v "$program" >/dev/null || return 1; done
    tried="$tried $1"
}
# A port that was free a moment ago.
free_port()
{
    node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => {
        console.log(s.address().port); s.close(); })'
}
point_of() # METRIC
{
    echo "{\"metric\":\"$1\",\"timestamp\":$(date +%s),\"value\":1,\"tags\":{\"host\":\"a\"}}"
}

if command -v node >/dev/null; then
    node -e 'const c = eval(`(${require("fs").readFileSync("statsd.js")})`);
        if (c.opentsdbPort !== Number(process.argv[1])) throw c' "$port" || complain 'statsd.js'
fi
if has nginx node; then
    front=$(free_port)
    {
        echo "daemon off; error_log $tmp/nginx.log; pid $tmp/nginx.pid; events {} http { access_log off;"
        for what in client_body proxy fastcgi uwsgi scgi; do echo "${what}_temp_path $tmp/$what;"; done
        sed "s/listen 80;/listen 127.0.0.1:$front;/" nginx.conf
        echo '}'
    } >nginx.whole
    nginx -c "$tmp/nginx.whole" -e "$tmp/nginx.log" &
    pids="$pids $!"
    for _ in $(seq 100); do
        curl -fsS -d "$(point_of via.nginx)" "127.0.0.1:$front/api/put" 2>/dev/null && break
        sleep 0.05
    done
    within via.nginx nginx
fi
if has haproxy node; then
    front=$(free_port)
    sed "s/bind :.*/bind 127.0.0.1:$front/" haproxy.cfg >haproxy.whole
    haproxy -db -f haproxy.whole >haproxy.log 2>&1 &
    pids="$pids $!"
    for _ in $(seq 100); do
        curl -fsS -d "$(point_of via.haproxy)" "127.0.0.1:$front/api/put" 2>/dev/null && break
        sleep 0.05
    done
    within via.haproxy haproxy
    exec 3<>"/dev/tcp/127.0.0.1/$front"
    echo "put via.haproxy.telnet $(date +%s) 1 host=a" >&3
    within via.haproxy.telnet haproxy
    exec 3>&-
fi
if has collectd; then
    {
        printf 'BaseDir "%s"\nPIDFile "%s/collectd.pid"\nInterval 0.5\nLoadPlugin load\n' "$tmp" "$tmp"
        cat collectd.conf
    } >collectd.whole
    collectd -f -C collectd.whole >collectd.log 2>&1 &
    pids="$pids $!"
    within load.load.shortterm collectd
fi
if has syslog-ng logger; then
    {
        echo '@version: 3.38'
        echo "source s_src { unix-dgram(\"$tmp/dev-log\"); };"
        cat syslog-ng.conf
    } >syslog-ng.whole
    syslog-ng -F -e --no-caps -f syslog-ng.whole -p "$tmp/pid" -R "$tmp/persist" -c "$tmp/ctl" \
        >syslog-ng.log 2>&1 &
    pids="$pids $!"
    for _ in $(seq 100); do test -S dev-log && break; sleep 0.05; done
    logger -u dev-log -d -t nginx '0.042 200' || complain 'logger'
    logger -u dev-log -d -t other 'not of nginx'
    within 'nginx.request.time{status=200}' syslog-ng
fi
echo "tried:$tried"
exit $bad
