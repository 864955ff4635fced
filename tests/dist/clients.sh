#!/bin/bash
# The files of dist/clients against the programs that they are for: each is read without
# complaint, and points come through.  All of them:
#     apt-get install nginx-light haproxy collectd-core syslog-ng-core
# $halite: the program.
command -v curl >/dev/null || exit 77
PATH=$PATH:/usr/sbin:/sbin
. "${srcdir:-.}/tests/harness.sh"
serve --memory
for file in "$top"/dist/clients/*; do
    name=$(basename "$file")
    grep -q "clients/$name)" "$top/docs/CLIENTS.md" || complain "docs/CLIENTS.md does not link to $name"
    sed "s/db\.example/127.0.0.1/g; s/\<4242\>/$port/g" "$file" >"$name"
    grep -q "\<$port\>" "$name" || complain "$name names no port"
done

# comes METRIC: a point of it is there, soon.
comes()
{
    within "no points of $1" has_point "$1"
}
has_point()
{
    curl -fsSg "$address/api/query?start=1h-ago&m=sum:$1" | grep -q '"dps":{"'
}
# proxies PROGRAM: points come through it; 'front' is its port.
proxies()
{
    within "$1 takes no points" curl -fsS -d "$(point_of "via.$1")" "127.0.0.1:$front/api/put"
    comes "via.$1"
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

# writes PROGRAM: the page may change something through it, a page of another site may not, and
# the server sees that it is a proxy, and for whom.
writes()
{
    local note='{"startTime":1404689950,"description":"x"}'
    gives 0 200 curl -s -o /dev/null -w '%{http_code}' -H "Origin: http://127.0.0.1:$front" -d "$note" \
        "127.0.0.1:$front/api/annotation"
    gives 0 200 curl -s -o /dev/null -w '%{http_code}' -H 'Host: tsd.example' -H 'Origin: http://tsd.example' \
        -d "$note" "127.0.0.1:$front/api/annotation"
    gives 0 403 curl -s -o /dev/null -w '%{http_code}' -H 'Origin: http://elsewhere.example' -d "$note" \
        "127.0.0.1:$front/api/annotation"
    gives 0 403 curl -s -o /dev/null -w '%{http_code}' -d '{"words":["uid","grep","metrics","."]}' \
        "127.0.0.1:$front/api/tool"
    curl -s "127.0.0.1:$front/api/query?start=1h-ago&m=sum:writes.$1" >/dev/null
    curl -s "$address/api/stats/query" | grep -q '"X-Forwarded-For":"127.0.0.1"' ||
        complain "$1 does not pass the address of its client"
}

if installed node; then
    node -e 'const c = eval(`(${require("fs").readFileSync("statsd.js")})`);
        if (c.opentsdbPort !== Number(process.argv[1])) throw c' "$port" || complain 'statsd.js'
fi
if installed nginx node; then
    front=$(free_port)
    {
        echo "daemon off; error_log $work/nginx.log; pid $work/nginx.pid; events {} http { access_log off;"
        for what in client_body proxy fastcgi uwsgi scgi; do echo "${what}_temp_path $work/$what;"; done
        sed "s/listen 80;/listen 127.0.0.1:$front;/" nginx.conf
        echo '}'
    } >nginx.whole
    nginx -c "$work/nginx.whole" -e "$work/nginx.log" &
    pids="$pids $!"
    proxies nginx
    writes nginx
fi
if installed haproxy node; then
    front=$(free_port)
    sed "s/bind :.*/bind 127.0.0.1:$front/" haproxy.cfg >haproxy.whole
    haproxy -db -f haproxy.whole >haproxy.log 2>&1 &
    pids="$pids $!"
    proxies haproxy
    writes haproxy
    exec 3<>"/dev/tcp/127.0.0.1/$front"
    echo "put via.haproxy.telnet $(date +%s) 1 host=a" >&3
    comes via.haproxy.telnet
    exec 3>&-
fi
if installed collectd; then
    {
        # A name of its own: that of the machine may be unknown to the machine.
        printf 'Hostname a\nBaseDir "%s"\nPIDFile "%s/collectd.pid"\nInterval 0.5\nLoadPlugin load\n' \
            "$work" "$work"
        cat collectd.conf
    } >collectd.whole
    collectd -f -C collectd.whole >collectd.log 2>&1 &
    pids="$pids $!"
    comes load.load.shortterm
fi
if installed syslog-ng logger; then
    {
        echo '@version: 3.38'
        echo "source s_src { unix-dgram(\"$work/dev-log\"); };"
        cat syslog-ng.conf
    } >syslog-ng.whole
    syslog-ng -F -e --no-caps -f syslog-ng.whole -p "$work/pid" -R "$work/persist" -c "$work/ctl" \
        >syslog-ng.log 2>&1 &
    pids="$pids $!"
    within 'syslog-ng makes no socket' test -S dev-log
    logger -u dev-log -d -t nginx '0.042 200' || complain 'logger'
    logger -u dev-log -d -t other 'not of nginx'
    comes 'nginx.request.time{status=200}'
fi
finish
