#!/bin/bash
# Without libcurl and cairo: only what needs them fails, and says which package is missing.
# $halite: the program.
command -v curl >/dev/null || exit 77
. "${srcdir:-.}/tests/harness.sh"
mkdir broken
touch broken/libcurl-gnutls.so.4 broken/libcurl.so.4 broken/libcairo.so.2
without="env LD_LIBRARY_PATH=$work/broken"

# shellcheck disable=SC2086
serve_by $without "$halite" tsd --data data --bind 127.0.0.1 --port 0
curl -fsS "$address/api/put?sync" -d '{"metric":"a","timestamp":1767225600,"value":7,"tags":{"b":"c"}}'
graph="$address/q?start=2026/01/01&end=2026/01/02&m=sum:a"
for _ in 1 2; do
    status=$(curl -sS -o picture -w '%{http_code}' "$graph&png")
    grep -q 'without graphs' picture && break
    test "$status" = 500 && grep -q "needs Debian's package libcairo2: .*libcairo.so.2" picture ||
        complain "PNG: $status $(cat picture)"
    curl -fsS "$graph&svg" | grep -q '</svg>' || complain 'no SVG'
done
for command in 'uid grep a' 'query 1h-ago sum a' 'demo --once' 'backup to'; do
    # shellcheck disable=SC2086
    ends 1 $without "$halite" $command --server "$address"
    grep -q "needs Debian's package libcurl3-gnutls: .*libcurl-gnutls.so.4" err || complain "$command: $(cat err)"
done
stop
# shellcheck disable=SC2086
ends 0 $without "$halite" fsck data
exit $bad
