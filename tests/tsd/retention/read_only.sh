#!/bin/sh
# A server that reads only tells what expired, and drops nothing; another one does.
. "${srcdir:-.}/tests/harness.sh"
command -v curl >/dev/null || exit 77
point='m.a 1356998400 1 host=a'
echo "$point" >lines
"$halite" import --data data lines 2>/dev/null || complain 'no import'

# The list of the settings, and that of a store as a backup has it.
for list in settings store; do
    flags=halite.retention='* 90d'
    if test $list = store; then
        flags=
        serve
        curl -sf -X PUT "http://$address/api/retention" -d '{"policies":"* 90d"}' >/dev/null ||
            complain 'no policies'
        stop
    fi
    serve --read-only halite.retention.interval_ms=100 ${flags:+"$flags"}
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
        gives 0 "$point" "$halite" scan --import --server "$address"
    done
    holds "$(curl -s "http://$address/api/retention?dry_run")" '*"rows":1,"points":1,*'
    stop
done

is_empty() { test -z "$("$halite" scan --import --server "$address")"; }
serve halite.retention.interval_ms=100
within 'nothing expired' is_empty
stop
exit $bad
