#!/bin/sh
# What /metrics says, as Prometheus' own promtool sees it.  $halite: the program.
halite=$(realpath "${halite:-build/halite}")
command -v promtool >/dev/null && command -v curl >/dev/null || exit 77
tmp=$(mktemp -d "${TMPDIR:-/tmp}/metrics-XXXXXX") || exit 99
trap 'kill "$server" 2>/dev/null; wait; rm -rf "$tmp"' EXIT
cd "$tmp" || exit 99
"$halite" tsd --data DATA --bind 127.0.0.1 --port 0 2>log &
server=$!
for _ in $(seq 200); do
    port=$(sed -n 's/.*listening on .*:\([0-9]*\)$/\1/p' log)
    test -n "$port" && break
    sleep 0.05
done
curl -fsS "127.0.0.1:$port/metrics" >metrics || { cat log; exit 1; }
test "$(grep -c '^# TYPE halite_' metrics)" -gt 40 || { cat metrics; exit 1; }
# It tells what it dislikes, and then does not always fail.
promtool check metrics <metrics >said 2>&1 && test ! -s said || { cat said; exit 1; }
