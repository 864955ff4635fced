#!/bin/sh
# pool.sh HALITE: several daemons on one pool, the short forms, three at a time; the cluster is
# that of HALITE_TEST_RADOS.  See README.md for the long ones.
here=$(dirname "$0")
out=$(mktemp -d) || exit 99
trap 'rm -rf "$out"' EXIT
trap 'exit 99' HUP INT TERM
export HALITE_LEASE_MS="${HALITE_LEASE_MS:-2000}"

# run NAME COMMAND...: says how it ended; leaves a file 'bad'.
run()
{
    name=$1
    from=$(date +%s)
    shift
    if "$@" >"$out/$name" 2>&1; then
        echo "$name, $(($(date +%s) - from)) s: $(tail -n 1 "$out/$name")"
    else
        touch "$out/bad"
        tail -n 60 "$out/$name"
        echo "$name: FAILED"
    fi
}
(
    run killed node "$here/takeover.mjs" "$1" 2 kill
    run told-to-end node "$here/takeover.mjs" "$1" 1 term
) &
(
    run stopped node "$here/takeover.mjs" "$1" 1 stop
    run rolling node "$here/rolling.mjs" "$1" 1
    run write-read node "$here/readwrite.mjs" "$1" 3000 points sum
) &
(
    run backup node "$here/backup.mjs" "$1"
    run TLS node "$here/tls.mjs" "$1"
    run differential node "$here/../model/differential.mjs" "$1" 15 pool
) &
wait
test ! -e "$out/bad"
