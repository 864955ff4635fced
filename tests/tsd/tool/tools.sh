#!/bin/sh
# The tools as a user calls them: the program and its options, which store, what comes of a
# process.  What they print of what they are asked is in test_tools.c.
. "${srcdir:-.}/tests/harness.sh"
ln -s "$halite" tsdb

# -- the program and its options
gives 1 'Valid commands: fsck, import, mkmetric, query, tsd, scan, search, uid, version' ./tsdb bogus
says "tsdb: error: unknown command 'bogus'
usage: tsdb <command> [[]args[]]"
gives 2 '' ./tsdb uid --bogus x
says 'Invalid usage.  Unrecognized option --bogus'
gives 2 '' ./tsdb uid --config
says 'Invalid usage.  Missing argument for --config'
gives 1 '' ./tsdb uid --config=nosuch.conf x
says 'nosuch.conf (No such file or directory)'
gives 2 '' ./tsdb uid
says 'Not enough arguments
Usage: uid *--idwidth=N *'
./tsdb version | grep -c . | grep -qx 2 || bad=1

# -- which store
gives 1 '' "$halite" uid --data absent x
says 'absent: there is no store; --store=PLACE names another one, --server=ADDRESS a server'
test ! -e absent || bad=1
gives 1 '' "$halite" import --data absent nofile
says 'nofile (No such file or directory)'
test ! -e absent || bad=1
gives 0 'metrics m: [0, 0, 1]
metrics other: [0, 0, 2]' "$halite" mkmetric --data one m other
gives 0 'metrics m: [0, 0, 1]' env HALITE_DATA=two "$halite" uid --data=one m
gives 0 'metrics m: [0, 0, 1]' env HALITE_DATA=one ./tsdb uid 1
gives 1 '' env HALITE_DATA=one HALITE_SERVER=localhost:1 "$halite" uid m
says '*exclude*'
gives 0 'metrics m: [0, 0, 1]' "$halite" uid --store one m
gives 0 'metrics m: [0, 0, 1]' env HALITE_STORE=one "$halite" uid m
gives 1 '' "$halite" uid --store one --data one m
says '*exclude*'
gives 1 '' "$halite" uid --store rados: m
gives 1 '' "$halite" mkmetric --data= m
says "a store's place is DIR*"
echo 'halite.store = one' >place.conf
gives 0 'metrics m: [0, 0, 1]' "$halite" uid --config place.conf m
echo 'halite.store = one' >opentsdb.conf
gives 0 'metrics m: [0, 0, 1]' ./tsdb uid m
gives 0 'metrics m: [0, 0, 1]' ./tsdb uid --config= m
gives 0 'metrics m: [0, 0, 1]' ./tsdb uid --config '' m
# A file that others may write is not believed, unless it is named.
chmod o+w opentsdb.conf
gives 0 'metrics m: [0, 0, 1]' ./tsdb uid --config opentsdb.conf m
gives 0 'metrics m: [0, 0, 1]' ./tsdb uid --data one m
says '*./opentsdb.conf is ignored: *other users may write it*'
chmod o-w opentsdb.conf
gives 2 '' "$halite" uid --data one metasync x
gives 2 '' "$halite" uid --data one fsck bogus
echo 'halite.store = three' >other.conf
gives 0 'metrics x: [0, 0, 1]' ./tsdb mkmetric --config other.conf x
gives 0 'metrics x: [0, 0, 1]' "$halite" uid --config=other.conf x
echo 'halite.nosuch = 1' >wrong.conf
gives 1 '' "$halite" uid --config=wrong.conf x
says 'wrong.conf:1: *no such setting*'

# -- what is kept from one process to the next, under both names
HALITE_DATA=$work/points
export HALITE_DATA
gives 0 'metrics a.b: [0, 0, 1]' ./tsdb mkmetric a.b
gives 0 'metrics a.b -> c.d' ./tsdb uid rename metrics a.b c.d
gives 0 '' ./tsdb uid -v delete metrics c.d
says 'UID metrics c.d deleted.'
echo 'cpu.user 1356998460 60 host=web01
cpu.idle 1356998400 -7 host=web01' >lines
"$halite" import lines 2>/dev/null || bad=1
gives 0 'metrics cpu.idle: [0, 0, 3]
metrics cpu.user: [0, 0, 2]' ./tsdb uid grep metrics .
gives 0 '000003000001000001 cpu.idle host=web01' ./tsdb search lookup cpu.idle 'host=*'
# Hours as OpenTSDB prints them: whole, by its name alone.
gives 0 'cpu.idle 1356998400000 -7 {host=web01}' \
    ./tsdb query 2013/01/01-00:10 2013/01/01-00:20 sum cpu.idle
gives 0 '' "$halite" query 2013/01/01-00:10 2013/01/01-00:20 sum cpu.idle
gives 0 'cpu.idle 1356998400000 -7 {host=web01}' env TZ=Etc/GMT-1 \
    "$halite" query 2013/01/01-01:00 2013/01/01-01:20 sum cpu.idle
# Raw rows have dates of tsd.core.timezone, whatever the machine has.
echo 'tsd.core.timezone = America/New_York' >newyork.conf
ends 0 env TZ=Europe/Zurich ./tsdb scan --config newyork.conf 1356998400 1356998401 sum cpu.idle
holds "$out" '* cpu.idle 1356998400 (Mon Dec 31 19:00:00 EST 2012) {host=web01}*(Mon Dec 31 19:00:00 EST 2012)'
ends 0 env TZ=Europe/Zurich "$halite" scan 1356998400 1356998401 sum cpu.idle
holds "$out" '* cpu.idle 1356998400 (Tue Jan 01 01:00:00 CET 2013) {host=web01}*'
# Six decimals, rounded as Java does: of the shortest digits, and half up.
echo 'half 1356998400 1e-6 a=b
half 1356998402 2e-6 a=b' | "$halite" import - 2>/dev/null || bad=1
gives 0 'half 1356998402000 0.000001 {a=b}' \
    "$halite" query 1356998401 1356998403 sum rate half
# Nothing found: no failure but for names, as OpenTSDB's tools end.
gives 0 '' "$halite" scan --import 1356990000 1356990001 sum cpu.idle
ends 0 "$halite" mkmetric without.series
gives 0 '' "$halite" search lookup without.series host=web01
gives 1 '' "$halite" query 1356998400 sum nosuch
says "No such name for 'metrics': 'nosuch'"
gives 1 '' "$halite" uid nosuch
says ''
gives 1 '' "$halite" uid grep nosuch
says ''
gives 2 '' "$halite" query --graph= 1356998400 sum cpu.user
says '--graph wants a path.*'
test ! -e .png || complain 'a picture without a name'
# A picture, or the answer of a program without graphs; what fails leaves the file alone.
graph="$halite query --graph"
if $graph=pic 1356998400 1356998500 sum cpu.user 2>err; then
    head -c 4 pic.png | grep -q PNG || { echo 'no PNG'; bad=1; }
    gives 0 '' $graph two 1356998400 1356998500 +title=x +wxh=300x200 sum cpu.user \
        'host=*' 'axis x1y2' max cpu.idle 'with points'
    cmp -s pic.png two.png && { echo 'no look'; bad=1; }
    cp two.png kept.png
    gives 1 '' $graph=two 1356998400 1356998500 +wxh=x sum cpu.user
    says "*wxh*"
    cmp two.png kept.png || bad=1
    gives 1 '' $graph=nosuch/pic 1356998400 1356998500 sum cpu.user
    says 'nosuch/pic.png: No such file or directory'
    test ! -e pic || bad=1
else
    says 'built without graphs'
fi
gives 0 '' ./tsdb fsck --full-scan --threads 1 --fix-all
test "$(echo points/aside-*)" = 'points/aside-*' || complain 'fsck left a folder without repairing'
says '*looked at * 3 rows of 4 points, *clean'
ends 0 "$halite" fsck points
holds "$out" 'looked at *clean'
exit $bad
