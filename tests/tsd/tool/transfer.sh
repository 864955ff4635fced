#!/bin/sh
# 'import' and 'scan' as a user calls them; what else 'scan' is asked is in test_tools.c.
. "${srcdir:-.}/tests/harness.sh"
ln -s "$halite" tsdb
export HALITE_DATA=store

sorted_lines()
{
    "$halite" scan --import "$@" 2>/dev/null | sort
}

# same FILE TEXT
same()
{
    text_of "$1"
    test "$text" = "$2" || complain "$1 holds:
$text
not:
$2"
}

# Files with bad lines, in an empty store: as OpenTSDB, and as Halite.
opentsdb_imports_some()
{
    gives 1 '' ./tsdb import some
    says "No such name for 'metrics': 'a.b'"
    gives 1 '' ./tsdb import --auto-metric some
    says 'not enough arguments (need least 4, got 1)'
    gives 0 'a.b 1356998400 1 h=a' ./tsdb scan --import 1356998400 sum a.b
    gives 0 '' ./tsdb import --skip-errors some
}
halite_rejects_lines()
{
    rm -f rejects
    gives 1 '' "$halite" import --rejects rejects some others
    says "*some:2: not enough arguments (need least 4, got 1)*"
    says "*others:4: Invalid character 'x' in x*"
    sort -o rejects rejects # files are read side by side
    same rejects 'bad
c.d 1356998400 x h=a'
}

# -- import, as OpenTSDB
printf 'a.b 1356998400 1 h=a\nbad\na.b 1356998401 2 h=a\n' >some
gives 2 '' ./tsdb import
says 'Not enough arguments.
Usage: *'
opentsdb_imports_some
says 'some:2: not enough arguments (need least 4, got 1)'
gives 1 '' ./tsdb import some absent
gives 1 '' ./tsdb import .
says '. (Is a directory)'
cp some not.gz
gives 1 '' ./tsdb import not.gz
says 'Not in GZIP format'

# Times in any order, whatever the setting says; comments are bad lines
rm -rf ordered
printf 'o.m 1537859699 1 a=b\no.m 1537857720 2 a=b\no.m 1537859700 3 a=b\n' >unordered
gives 0 '' ./tsdb import --auto-metric --data ordered unordered
gives 0 'o.m 1537857720 2 a=b
o.m 1537859699 1 a=b
o.m 1537859700 3 a=b' sorted_lines --data ordered
printf 'o.m 1537859701 1 a=b\n#\no.m 1537859702 1 a=b\n' >comment
gives 1 '' ./tsdb import --data ordered comment
sorted_lines --data ordered >came
test "$(tail -n 1 came)" = 'o.m 1537859701 1 a=b' || complain "behind a comment: $(cat came)"

# -- import: bad lines, packed files, standard input
rm -r store
{
    echo '# a comment'
    echo
    echo 'put c.d 1356998400 1 h=a'
    echo 'c.d 1356998400 x h=a'
} >others
halite_rejects_lines
says '*3 points in *2 bad lines'
gives 0 '' "$halite" import --skip-errors some
gzip -k some && mv some.gz packed
gives 0 '' "$halite" import --skip-errors packed
says '*2 points in *'
head -c 30 packed >half
gives 1 '' "$halite" import half
says '*half (ends within gzip data)'
printf 'e.f 1356998400 1 h=a\n' | "$halite" import - 2>/dev/null || bad=1
gives 0 'metrics e.f: [0, 0, 3]' ./tsdb uid metrics e.f
gives 2 '' "$halite" import --threads 0 some

# -- scan
rm -rf store rejects
cat >points <<'END'
s.i 1356998400 1 host=web01 cpu=0
s.i 1356998400500 -2 host=web01 cpu=0
s.i 1357001999 3 host=web01 cpu=0
s.i 1357002000 4 host=web01 cpu=0
s.d 1356998400 0.1 host=web02
s.d 1356998401 4.9E-324 host=web02
s.d 1356998402 -0.0 host=web02
s.d 1356998403 1.7976931348623157E308 host=web02
s.d 1356998480 9223372036854775807 host=web01
s.d 1356998485 -9223372036854775808 host=web01
END
gives 0 '' "$halite" import points
"$halite" scan --import 2>err | sort >all
sort points | cmp - all || bad=1
gives 0 "$(head -n 3 points)" \
    ./tsdb scan --delete 1356998400 1356998401 sum s.i
"$halite" scan --import | ./tsdb import --data copy --auto-metric - || bad=1
"$halite" scan --import --data copy | sort >all
sed -n '4,$p' points | sort | cmp - all || bad=1

# -- byte order marks, padded and UTF-16 files
rm -rf marked
mark=$(printf '\357\273\277')
points='{"type":"points","metric":"m.b","tags":{"h":"a"},"times":[1356998400],"values":[3]}'
printf '%sm.a  1356998400  1  h=a\r\nm.a 1356998401 2 h=a\r\n' "$mark" >bom
printf '%sm.z 1356998400 4 h=a\n' "$mark" | gzip >bom.gz
head -c 512 /dev/zero >>bom.gz
printf '%s%s\n' "$mark" "$points" >bom.json
gives 0 '' "$halite" import --data marked bom bom.gz
gives 0 '' "$halite" import --json --data marked bom.json
gives 0 'm.a 1356998400 1 h=a
m.a 1356998401 2 h=a
m.b 1356998400 3 h=a
m.z 1356998400 4 h=a' sorted_lines --data marked
printf '%sm.c 1356998400 1 h=a\n' "$mark" >bom
gives 0 '' ./tsdb import --auto-metric --data marked bom
gives 0 'metrics m.c: [0, 0, 4]' ./tsdb uid --data marked metrics m.c
for form in '\377\376m\000.\000' '\376\377\000m\000.' 'm\000.\000' '\000m\000.'; do
    # shellcheck disable=SC2059
    printf "$form" >utf16
    gives 1 '' "$halite" import --data marked utf16
    says '*utf16 (is UTF-16 or binary: convert text to UTF-8 first*'
done

# -- names that lines can express only with "put ", or not at all
rm -rf odd again
echo 'tsd.core.tag.allow_specialchars = :@ =#' >special
name() { printf '{"type":"points","metric":"%s","tags":{"host":"%s"},"times":[1356998400],"values":[1]}\n' "$@"; }
{ name '#hash' x; name put x; name job:rate5m x; name a=b x; } >can.json
{ cat can.json; name 'a b' x; name can 'x zone=b'; name can 'x=y'; } >cannot.json
gives 0 '' "$halite" import --json --data odd --config special cannot.json
"$halite" scan --import --data odd --config special >lines 2>err && complain 'scan left series out and ended with 0'
says '*names of metric "a b", tags "host=x"*metric "can", tags "host=x zone=b"*metric "can", tags "host=x=y"*'
says "*3 hours of series whose names lines cannot express are left out: 'scan --json' prints them"
gives 0 '' "$halite" import --data again --config special lines
"$halite" scan --json --data again --config special | grep '"points"' | sort >came
sort can.json | cmp - came || complain 'scan --import and import do not agree'
# What is not printed is not deleted
"$halite" scan --delete --data odd --config special 1356998400 sum can >lines 2>err && bad=1
says '*2 hours of series whose names lines cannot express are left out, and not deleted*'
"$halite" scan --json --data odd --config special | grep -c '"metric":"can".*"points"\|"points".*"metric":"can"' >count
same count 2

# Names that were deleted are left out
gives 0 'metrics m.d: [0, 0, 1]' "$halite" mkmetric --data deleted m.d
gives 0 '' "$halite" uid delete --data deleted metrics m.d
"$halite" scan --json --data deleted >named.json 2>err || bad=1
says '*1 hours or records of names that were deleted are left out'
gives 0 '' "$halite" import --json --data named named.json

# A rule comes behind its tree: alone it would be damage to fsck
tree='{"type":"tree","tree":7,"name":"t"}'
rule='{"type":"rule","tree":7,"level":0,"order":0,"ruleType":3,"field":"host"}'
echo "$rule" >rule.json
gives 1 '' "$halite" import --json --data ruled rule.json
says '*rule.json:1: Unable to locate tree: 7*'
printf '%s\n%s\n' "$tree" "$rule" >both.json
gives 0 '' "$halite" import --json --data ruled both.json
gives 0 '' "$halite" import --json --data ruled rule.json
ends 0 "$halite" fsck --data ruled
printf '%s\n' '{"tags":{"a":"b"},"type":"points","metric":"m","times":[1],"values":[1]}' '{"a":1}' >bad.json
gives 0 '' "$halite" import --json --data ruled --skip-errors bad.json
says "*bad.json:1: 'type' is the first member of a line of points*bad.json:2: there is no 'type'*"
# Two records whose line end was lost: neither is stored, and both are named
points='{"type":"points","metric":"two.m","tags":{"a":"b"},"times":[1],"values":[1]}'
printf '%s%s\n%s%s\n' "$points" "$points" "$tree" "$rule" >joined.json
gives 1 '' "$halite" import --json --data ruled joined.json
says '*joined.json:1: the line contains more than one record*joined.json:2: *more than one JSON document*'
gives 1 '' ./tsdb uid --data ruled metrics two.m

# -- the same through a server that has the folder
"$halite" scan --json --data copy >copy.json
serve --data served
HALITE_DATA=served
opentsdb_imports_some
halite_rejects_lines
gives 0 'a.b 1356998400 1 h=a
a.b 1356998401 2 h=a' ./tsdb scan --import 1356998400 sum a.b
gives 0 '' "$halite" import --json copy.json
gives 0 "$(sed -n '5,8p' points)" ./tsdb scan --import 1356998400 sum s.d host=web02
# More than a block
awk 'BEGIN { for (i = 0; i < 30000; i++) print "j.m", 1356998400 + i, i, "host=web01" }' >big
gives 0 '' "$halite" import big
says '30000 points in *'
"$halite" scan --import 1356998400 sum j.m | cmp - big || bad=1
gives 1 '' "$halite" import --skip-errors --rejects /dev/full some
says '*/dev/full: not all bad lines could be written'
# Another server's answers, which are no lists of names
gives 1 '' "$halite" import --from "http://$address/api/version?"
says "*/api/version?/api/suggest?*: that is no answer of OpenTSDB's API"
gives 1 '' "$halite" import --from "http://$address/api/uid/assign?metric=j.m&x="
says '*/api/suggest*: The server answered with status 400'
# A signal ends it in order, though a pipe does not end
mkfifo pipe
"$halite" import pipe 2>err &
import=$!
sleep 10 >pipe & # opened once the tool has opened it
writer=$!
reads_pipe()
{
    readlink /proc/$import/fd/* | grep -q '/pipe$'
}
within 'no import' reads_pipe
kill -TERM $import
wait $import
test $? -eq 1 || bad=1
kill $writer || bad=1
says '*0 points in *'
gives 1 '' "$halite" import --server 127.0.0.1:1 some
exit $bad
