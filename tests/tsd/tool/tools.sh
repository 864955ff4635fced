#!/bin/sh
# The tools as a user calls them: what they print, and how they end.
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
says 'absent: there is no store'
test ! -e absent || bad=1
gives 0 'metrics m: [0, 0, 1]' "$halite" mkmetric --data one m
gives 0 'metrics m: [0, 0, 1]' "$halite" uid --data=one m
gives 0 'metrics m: [0, 0, 1]' env HALITE_DATA=one "$halite" uid 1
gives 1 '' env HALITE_DATA=two "$halite" uid --data one nosuch
gives 1 '' env HALITE_DATA=one HALITE_SERVER=localhost:1 "$halite" uid m
says '*exclude*'
gives 0 'metrics m: [0, 0, 1]' "$halite" uid --store one m
gives 0 'metrics m: [0, 0, 1]' env HALITE_STORE=one "$halite" uid m
gives 1 '' "$halite" uid --store one --data one m
says '*exclude*'
gives 1 '' "$halite" uid --store rados: m
echo 'halite.store = one' >place.conf
gives 0 'metrics m: [0, 0, 1]' "$halite" uid --config place.conf m
echo 'halite.data = one' >opentsdb.conf
gives 0 'metrics m: [0, 0, 1]' ./tsdb uid m
echo 'halite.data = three' >other.conf
gives 0 'metrics x: [0, 0, 1]' ./tsdb mkmetric --config other.conf x
gives 0 'metrics x: [0, 0, 1]' "$halite" uid --config=other.conf x
echo 'halite.nosuch = 1' >wrong.conf
gives 1 '' "$halite" uid --config=wrong.conf x
says '*no such setting*'

# -- uid
HALITE_DATA=$work/uid
export HALITE_DATA
gives 0 'metrics a.b: [0, 0, 1]
metrics c.d: [0, 0, 2]
metrics a.b: [0, 0, 1]' ./tsdb mkmetric a.b c.d a.b
gives 0 'tagk host: [0, 0, 1]
tagk dc: [0, 0, 2]' ./tsdb uid assign tagk host dc
gives 0 'tagv Web: [0, 0, 1]
tagv 7: [0, 0, 2]
tagv c.d: [0, 0, 3]' ./tsdb uid assign tagv Web 7 c.d
gives 1 '' ./tsdb mkmetric ok 'not ok'
says 'Invalid metric ("not ok"): illegal character:  '
gives 1 '' ./tsdb uid metrics ok
gives 1 '' ./tsdb uid assign bogus x
says 'Invalid type requested: bogus'
gives 2 '' ./tsdb uid assign metrics
gives 2 '' ./tsdb mkmetric
gives 2 '' ./tsdb uid tagk a b
gives 0 'metrics c.d: [0, 0, 2]
tagv c.d: [0, 0, 3]' ./tsdb uid c.d
gives 0 'metrics c.d: [0, 0, 2]
tagk dc: [0, 0, 2]
tagv 7: [0, 0, 2]' ./tsdb uid 0002
gives 0 'tagk dc: [0, 0, 2]' ./tsdb uid tagk 2
gives 1 '' ./tsdb uid tagv 7
says "No such unique ID for 'tagv': [[]0, 0, 7]"
gives 1 '' ./tsdb uid metrics nosuch
says "No such name for 'metrics': 'nosuch'"
gives 1 '' ./tsdb uid nosuch
says ''
gives 1 '' ./tsdb uid 16777216
says '16777216 is too large to fit on 3 bytes.*'
gives 1 '' ./tsdb uid --idwidth 2 70000
says '70000 is too large to fit on 2 bytes.*'
gives 1 '' ./tsdb uid --idwidth=4 1
gives 3 '' ./tsdb uid --idwidth 0 1
says 'Negative or 0 --idwidth'
gives 3 '' ./tsdb mkmetric --idwidth=-1 x
gives 1 '' ./tsdb uid --idwidth x 1
says 'For input string: "x"'
gives 1 '' ./tsdb uid --idwidth 9 1

# -- uid grep: kinds merged in the order of names
gives 0 'tagv 7: [0, 0, 2]
tagv Web: [0, 0, 1]
metrics a.b: [0, 0, 1]
metrics c.d: [0, 0, 2]
tagv c.d: [0, 0, 3]
tagk dc: [0, 0, 2]
tagk host: [0, 0, 1]' ./tsdb uid grep ''
gives 0 'metrics a.b: [0, 0, 1]
metrics c.d: [0, 0, 2]' ./tsdb uid grep metrics '[ac]\.'
gives 0 'tagv Web: [0, 0, 1]' ./tsdb uid grep -i '^web$'
gives 1 '' ./tsdb uid grep '^web$'
gives 1 '' ./tsdb uid grep tagv
gives 1 '' ./tsdb uid grep bogus .
gives 1 '' ./tsdb uid grep '['
gives 2 '' ./tsdb uid grep a b c

# -- uid rename and delete
gives 0 'metrics a.b -> b.c' ./tsdb uid rename metrics a.b b.c
gives 0 'metrics b.c: [0, 0, 1]' ./tsdb uid metrics 1
gives 1 '' ./tsdb uid rename metrics nosuch x
says "No such name for 'metrics': 'nosuch'"
gives 1 '' ./tsdb uid rename metrics b.c c.d
says 'When trying rename("b.c", "c.d") on *: new name already assigned ID=*'
gives 1 '' ./tsdb uid rename metrics b.c 'not ok'
gives 2 '' ./tsdb uid rename metrics b.c
gives 0 '' ./tsdb uid delete metrics c.d
gives 1 '' ./tsdb uid metrics c.d
gives 1 '' ./tsdb uid metrics 2
gives 0 'metrics new: [0, 0, 3]' ./tsdb mkmetric new
gives 1 '' ./tsdb uid delete metrics c.d
says "No such name for 'metrics': 'c.d'"
gives 4 '' ./tsdb uid delete bogus c.d
gives 0 '' ./tsdb uid -v delete tagv Web
says 'UID tagv Web deleted.'

# -- query and search, over a store of its own
HALITE_DATA=$work/points
for host in web01 web02; do
    for second in 0 60 3600; do
        echo "cpu.user $((1356998400 + second)) $second host=$host dc=lga"
    done
done >lines
echo 'cpu.user 1356998430500 1.5 host=web01 dc=lga' >>lines
echo 'cpu.idle 1356998400 -7 host=web01' >>lines
"$halite" import lines 2>/dev/null || bad=1
gives 0 'cpu.user 1356998400000 0.000000 {dc=lga}
cpu.user 1356998430500 32.000000 {dc=lga}
cpu.user 1356998460000 120 {dc=lga}' \
    "$halite" query 1356998400 1356998500 sum cpu.user
gives 0 'cpu.user 1356998400000 0 {host=web02, dc=lga}
cpu.user 1356998460000 60 {host=web02, dc=lga}
cpu.idle 1356998400000 -7 {host=web01}' "$halite" query 2013/01/01-00:00:00 \
    2013/01/01-00:05:00 sum cpu.user host=web02 max cpu.idle
gives 0 'cpu.idle 1356998400000 -7 {host=web01}' \
    ./tsdb query 2013/01/01-00:10 2013/01/01-00:20 sum cpu.idle
gives 0 '' "$halite" query 2013/01/01-00:10 2013/01/01-00:20 sum cpu.idle
gives 0 '' ./tsdb query --exact 2013/01/01-00:10 2013/01/01-00:20 sum cpu.idle
gives 0 'cpu.idle 1356998400000 -7 {host=web01}' "$halite" query \
    --whole-hours 2013/01/01-00:10 2013/01/01-00:20 sum cpu.idle
gives 0 'cpu.idle 1356998400000 -7 {host=web01}' env TZ=Etc/GMT-1 \
    "$halite" query 2013/01/01-01:00 2013/01/01-01:20 sum cpu.idle
gives 0 'cpu.user 1356998460000 1.000000 {host=web02, dc=lga}' "$halite" query \
    1356998400 1356998500 +title=x sum rate cpu.user 'host=regexp(.*2$)' 'with points'
gives 0 'cpu.user 1356998400000 30.000000 {host=web02, dc=lga}' "$halite" query \
    1356998400 1356998500 sum downsample 120000 avg cpu.user host=web02
gives 0 '' "$halite" query now sum cpu.user
# A picture, or the answer of a program without graphs; what fails leaves the file alone.
graph="$halite query --graph"
if $graph=pic 1356998400 1356998500 sum cpu.user 2>err; then
    head -c 4 pic.png | grep -q PNG || { echo 'no PNG'; bad=1; }
    gives 0 '' $graph two 1356998400 1356998500 +title=x +wxh=300x200 sum cpu.user \
        'host=*' 'axis x1y2' max cpu.idle 'with points'
    cmp -s pic.png two.png && { echo 'no look'; bad=1; }
    mv pic.png two.png
    gives 1 '' $graph=two 1356998400 1356998500 +wxh=x sum cpu.user
    says "*wxh*"
    gives 1 '' $graph=two 1356998400 1356998500 sum nosuch
    $graph=pic 1356998400 1356998500 sum cpu.user && cmp pic.png two.png || bad=1
    gives 1 '' $graph=nosuch/pic 1356998400 1356998500 sum cpu.user
    says 'nosuch/pic.png: No such file or directory'
    test ! -e pic || bad=1
else
    says 'built without graphs'
fi
gives 2 '' "$halite" query 1h-ago sum
says 'Not enough arguments.*'
gives 1 '' "$halite" query 1h-ago sum nosuch
says "No such name for 'metrics': 'nosuch'"
gives 1 '' "$halite" query 1h-ago bogus cpu.user
says 'No such aggregator: bogus'
gives 1 '' "$halite" query bogus sum cpu.user
says "Invalid time: bogus*"
gives 1 '' "$halite" query 20 10 sum cpu.user
says 'new end time (10) is less than or equal to start time: 20'
gives 1 '' "$halite" query 1h-ago sum rate counter,x cpu.user
says 'For input string: "x"'
gives 1 '' "$halite" query 1h-ago sum downsample 0 avg cpu.user
says 'interval not > 0: 0'
gives 1 '' "$halite" query 1h-ago sum downsample 60000 avg
says 'A query ends before its metric'
gives 1 '' "$halite" query 1h-ago sum cpu.user host=a host=b
says 'duplicate tag: host=b, tags={host=a}'
gives 2 '' "$halite" query --exact --whole-hours 1h-ago sum cpu.user

gives 0 '000001000001000001000002000002 cpu.user host=web01 dc=lga
000001000001000003000002000002 cpu.user host=web02 dc=lga' \
    "$halite" search lookup cpu.user
gives 0 '000002000001000001 cpu.idle host=web01' ./tsdb search lookup cpu.idle 'host=*'
gives 0 '000001000001000003000002000002 cpu.user host=web02 dc=lga' \
    ./tsdb search --use-data-table lookup =web02
gives 0 '' ./tsdb search lookup cpu.idle dc=
gives 1 '' ./tsdb search lookup cpu.user host
says 'invalid tag: host'
gives 1 '' ./tsdb search lookup cpu.user =
says 'Missing tag pair'
gives 1 '' ./tsdb search lookup cpu.user host=nosuch
says "No such name for 'tagv': 'nosuch'"
gives 2 '' ./tsdb search lookup
says 'Not enough arguments*'
gives 2 '' ./tsdb search find x
says 'Unknown sub command: find*'

# -- uid fsck, metadata and trees
gives 0 '' ./tsdb uid fsck
gives 0 '' ./tsdb uid -v fsck fix delete_unknown
says '*No errors found.'
gives 2 '' ./tsdb uid fsck bogus
gives 0 '' ./tsdb uid delete tagv web02
gives 0 '' ./tsdb uid fsck
gives 0 '' ./tsdb uid metasync
gives 0 '' ./tsdb uid -v metasync
says 'Completed meta data synchronization in [[]* seconds: 0'
gives 0 '' ./tsdb uid -v metapurge
says 'Completed meta data purge in [[]* seconds: 3'
gives 0 '' ./tsdb uid -v metasync
says 'Completed meta data synchronization in [[]* seconds: 3'
gives 0 '' ./tsdb uid treesync
says 'Tree processing is disabled'
gives 0 '' ./tsdb uid treepurge 1
gives 0 '' ./tsdb uid treepurge 1 true
gives 3 '' ./tsdb uid treepurge one
gives 2 '' ./tsdb uid treepurge

# -- fsck as OpenTSDB's
gives 1 '' ./tsdb fsck
says "Must supply a query or use the '--full-scan' flag*"
gives 1 '' ./tsdb fsck --threads 0 --full-scan
says 'Must have at least one thread'
gives 1 '' ./tsdb fsck --threads 9999 --full-scan
gives 1 '' ./tsdb fsck --threads x --full-scan
gives 2 '' ./tsdb fsck --bogus
gives 0 '' ./tsdb fsck --full-scan --threads 1 --fix-all
says '*Rows Processed: 3*Valid Datapoints: 8*Total Errors: 0*Completed fsck in*'
gives 0 '' ./tsdb fsck 1h-ago sum cpu.user
gives 1 '' ./tsdb fsck 1h-ago bogus cpu.user
says 'No such aggregator: bogus'
gives 0 'looked at * clean' sh -c "'$halite' fsck '$work/points' | tr '\n' ' ' | sed 's/at.*clean /at * clean/'"

# -- purge
HALITE_DATA=$work/purge
echo 'p.a 1356998400 1 host=x' >p.in
gives 0 '' "$halite" import p.in
gives 0 'would forget 0 of 1 series, 0 metrics, 0 tag keys, 0 tag values' "$halite" purge --dry-run
gives 0 'p.a 1356998400 1 host=x' "$halite" scan --delete 1356998400 1357000000 sum p.a
gives 0 'forgot 0 of 1 series, 0 metrics, 0 tag keys, 0 tag values' "$halite" purge 'q*'
gives 0 'forgot 1 of 1 series, 1 metrics, 1 tag keys, 1 tag values' "$halite" purge 'p.*'
gives 0 'metrics p.a: [0, 0, 2]' "$halite" mkmetric p.a
exit $bad
