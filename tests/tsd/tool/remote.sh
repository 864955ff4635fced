#!/bin/sh
# A folder that a server has, and a server that is named, give tools the same
# output and exit status as a folder that is free.
. "${srcdir:-.}/tests/harness.sh"

# fails PATTERN COMMAND...: with status 1, and so on stderr.
fails()
{
    pattern=$1
    shift
    ends 1 "$@"
    says "$pattern"
}

awk 'BEGIN { for (i = 0; i < 20000; i++)
    print "big.m", 1356998400 + i, i, "host=web01" }' >lines
printf 'sys.cpu 1356998400 1 host=web01 cpu=0\nsys.cpu 1356998460 2.5 host=web02\n' >>lines
"$halite" import --data data lines || complain 'no import'

# The first three go to a server by its folder, too.
cat >calls <<'END'
scan --import
uid grep [
uid metrics sys.cpu
search lookup host=web02
query 1356998400 1356998500 sum sys.cpu host=*
query --whole-hours 1356998410 1356998420 sum sys.cpu
scan 1356998400 1356998500 sum sys.cpu
END

# run FOLDER CALLS FLAG...: output, errors and exit status of the first so many calls.
run()
{
    mkdir "$1"
    to=$1 most=$2
    shift 2
    n=0
    set -f
    while test $n -lt "$most" && read -r call; do
        n=$((n + 1))
        # shellcheck disable=SC2086
        "$halite" $call "$@" >"$to/$n.out" 2>"$to/$n.err" </dev/null
        echo $? >"$to/$n.status"
    done <calls
    set +f
}

run free 7 --data data
serve
run held 3 --data data
run named 7 --server "$address"
test "$(wc -l <free/1.out)" -eq 20002 || complain 'scan --import'
test "$(cat free/[12].status)" = '0
1' || complain 'statuses'
diff -r free named >differ || complain "a server that is named:
$(head -n 20 differ)"
diff -r named held | grep -v '^Only in named:' >differ && complain "a folder that a server has:
$(head -n 20 differ)"

# Nor does it matter to a client that cannot print.
for words in '--import' '--delete 1356998400 sum sys.cpu'; do
    # shellcheck disable=SC2086
    fails '*standard output: No space left on device' \
        sh -c '"$0" "$@" >/dev/full' "$halite" scan --server "$address" $words
    # shellcheck disable=SC2086
    fails '*standard output: Bad file descriptor' \
        sh -c '"$0" "$@" >&-' "$halite" scan --server "$address" $words
done

# What a server has is verified, and not repaired.
ln -s "$halite" tsdb
./tsdb fsck --full-scan --data data 2>err || complain "fsck: $(cat err)"
grep -q '^looked at .* rows of 20002 points$' err || complain "fsck: $(cat err)"
fails '*stop its server' ./tsdb fsck --full-scan --fix-all --data data
"$halite" uid --data data fsck || complain 'uid fsck'

# A server's picture is the client's file.
"$halite" query --server "$address" --graph picture 1356998400 1356998500 sum sys.cpu \
    2>err || grep -q 'built without graphs' err || complain "graph: $(cat err)"
test ! -e picture.png || head -c 4 picture.png | grep -q PNG || complain 'graph'

# Usage errors need no server; environment and zone.
"$halite" uid --server localhost:1 2>/dev/null
test $? -eq 2 || complain 'usage'
fails '*connect*' "$halite" uid --server localhost:1 grep .
text_of free/3.out
named=$text
test "$(HALITE_SERVER=$address "$halite" uid metrics sys.cpu)" = "$named" ||
    complain 'HALITE_SERVER'
TZ=Etc/GMT-1 "$halite" query --server "$address" 2013/01/01-01:00 \
    2013/01/01-01:00:10 sum sys.cpu >out
grep -q '^sys.cpu 1356998400000 1' out || complain "zone: $(cat out)"

# Changes, and whoever reads no more leaves nothing behind.
test "$("$halite" mkmetric --data data new.m)" = 'metrics new.m: [0, 0, 3]' ||
    complain 'mkmetric'
for _ in 1 2 3; do
    "$halite" scan --import --server "$address" | head -n 1 >out
    read -r line <out || complain 'a tool that is cancelled'
done

# What a server took before its restart is not what the next one syncs.
mkfifo pipe
"$halite" import --server "$address" - <pipe >out 2>err &
client=$!
exec 3>pipe
sed 's/^big/again/' lines >&3
until "$halite" uid --server "$address" metrics again.m >/dev/null 2>&1; do
    sleep 0.1
done
stop
serve --port "$port" 3>&-
echo 'again.m 1356998400 1 host=web03' >&3
exec 3>&-
wait "$client" && complain 'an import over a restart is done'
grep -q 'restarted during the import' err || complain "restart: $(cat err)"
test "$("$halite" scan --delete --data data 1356998400 1357020000 sum big.m |
    wc -l)" -eq 20000 || complain 'scan --delete'
"$halite" scan --import --data data | grep big && complain 'not deleted'
stop

# Names that are renamed between imports, whatever the server's own rule for new
# metrics is.
for own in true false; do
    serve tsd.core.auto_create_metrics=$own
    for time in 1356998400 1356998460; do
        echo "moved.m $time 1 host=web01" |
            "$halite" import --server "$address" - 2>/dev/null || complain 'import'
        "$halite" uid --server "$address" rename metrics moved.m "$own.$time" >/dev/null ||
            complain 'rename'
    done
    "$halite" query --server "$address" 1356990000 1357000000 sum "$own.1356998400" \
        sum "$own.1356998460" >>moved
    stop
done
test "$(cut -d ' ' -f 1,2 moved)" = "true.1356998400 1356998400000
true.1356998460 1356998460000
false.1356998400 1356998400000
false.1356998460 1356998460000" || complain "imports around a rename: $(cat moved)"

# Rows of a name that was deleted: found where a server has them, deleted without one.
serve
ends 0 "$halite" uid --data data delete metrics true.1356998400
fails '*Unable to resolve the names of 1 rows*1 found, 0 repaired' \
    ./tsdb fsck --full-scan --data data
fails '*stop its server' ./tsdb fsck --full-scan --fix --delete-orphans --data data
stop
ends 0 "$halite" fsck data
holds "$out" '*note row-orphan: 1 rows*clean'
fails '*1 found, 1 repaired*' ./tsdb fsck --full-scan --fix --delete-orphans --data data
ends 0 ./tsdb fsck --full-scan --data data
ends 0 "$halite" fsck data
case $out in *orphan*) complain "still there: $out" ;; esac
"$halite" scan --import --data data | grep -c 'true.1356998460' | grep -qx 1 || complain 'what is left'

# A server that only reads, without and with TLS.
tls=
installed openssl && tls=openssl
serve${tls:+_tls} --read-only
"$halite" search --data data lookup sys.cpu >/dev/null || complain 'ro: search'
fails '*reads only*' "$halite" mkmetric --data data other
if test -n "$tls"; then
    ends 0 "$halite" search --server "$tls" --cacert cert.pem lookup sys.cpu
    holds "$out" '* sys.cpu host=web01 cpu=0*'
    fails '*https://localhost*' "$halite" search --server "$tls" lookup sys.cpu
    ends 0 "$halite" import --from "$tls" --cacert cert.pem --only names --data copy
    ends 0 "$halite" uid --data copy metrics sys.cpu
fi
stop

# Rights.
"$halite" secret token adm admin 2>secret >users
"$halite" secret token rd read 2>secret.read >>users
sed -n 's/.*: //p' secret >token
sed -n 's/.*: //p' secret.read >token.read
serve${tls:+_tls} halite.auth.file=users
fails '*credentials*' "$halite" uid --data data grep .
fails '*' "$halite" uid --data data --token token.read grep .
gives 0 "$named" "$halite" uid --data data --token token metrics sys.cpu
gives 0 "$named" env HALITE_TOKEN="$(cat token)" "$halite" uid --data data metrics sys.cpu
fails 'nosuch: *' "$halite" uid --data data --token nosuch grep .
if test -n "$tls"; then
    # A backup, which is of this server: its names are in it.
    fails 'halite backup: https://localhost*certificate*' "$halite" backup \
        --server "$tls" --token token saved
    fails 'halite backup: *credentials*' "$halite" backup --server "$tls" \
        --cacert cert.pem saved
    test ! -e saved || complain 'a backup without credentials'
    ends 0 "$halite" backup --server "$tls" --cacert cert.pem --token token saved
    holds "$out" 'saved: [1-9]* names, *annotations'
    # The same words without a server.
    gives 0 "again: ${out#saved: }" "$halite" backup --data saved again
    gives 0 "$named" "$halite" uid --data saved metrics sys.cpu
fi
stop
finish
