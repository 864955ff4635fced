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

cat >calls <<'END'
uid grep .
uid 1
uid metrics sys.cpu
uid metrics nosuch
uid nosuch
uid grep [
uid assign bogus x
search lookup sys.cpu
search lookup host=web02
search lookup nosuch
query 1356998400 1356998500 sum sys.cpu host=*
query --whole-hours 1356998410 1356998420 sum sys.cpu
query 1356998400 1356998500 sum nosuch
query 1h-ago bogus sys.cpu
scan 1356998400 1356998500 sum sys.cpu
scan --import
END

# run FOLDER FLAG...: each call's output, errors and exit status.
run()
{
    mkdir "$1"
    to=$1
    shift
    n=0
    while read -r call; do
        n=$((n + 1))
        # shellcheck disable=SC2086
        (set -f && "$halite" $call "$@" >"$to/$n.out" 2>"$to/$n.err" </dev/null
            echo $? >"$to/$n.status")
    done <calls
}

run free --data data
serve
run held --data data
run named --server "$address"
test "$(wc -l <free/16.out)" -eq 20002 || complain 'scan --import'
test "$(cat free/1.status) $(cat free/4.status)" = '0 1' || complain 'statuses'
diff -r free held >/dev/null || complain "a folder that a server has:
$(diff -r free held | head -n 20)"
diff -r free named >/dev/null || complain "a server that is named:
$(diff -r free named | head -n 20)"

# What a server has is verified, and not repaired.
ln -s "$halite" tsdb
./tsdb fsck --full-scan --data data 2>err || complain "fsck: $(cat err)"
grep -q '^Valid Datapoints: 20002$' err || complain "fsck: $(cat err)"
fails '*stop its server' ./tsdb fsck --full-scan --fix-all --data data
"$halite" uid --data data fsck || complain 'uid fsck'

# A server's picture is the client's file.
for place in --data=data "--server=$address"; do
    "$halite" query "$place" --graph "${place%%=*}" 1356998400 1356998500 sum sys.cpu \
        2>err || grep -q 'built without graphs' err || complain "graph: $(cat err)"
done
test ! -e ./--server.png || head -c 4 ./--server.png | grep -q PNG || complain 'graph'

# Usage errors need no server; environment and zone.
"$halite" uid --server localhost:1 2>/dev/null
test $? -eq 2 || complain 'usage'
fails '*connect*' "$halite" uid --server localhost:1 grep .
test "$(HALITE_SERVER=$address "$halite" uid metrics sys.cpu)" = \
    "$(cat free/3.out)" || complain 'HALITE_SERVER'
TZ=Etc/GMT-1 "$halite" query --server "$address" 2013/01/01-01:00 \
    2013/01/01-01:00:10 sum sys.cpu >out
grep -q '^sys.cpu 1356998400000 1' out || complain "zone: $(cat out)"

# Changes, and whoever reads no more leaves nothing behind.
test "$("$halite" mkmetric --data data new.m)" = 'metrics new.m: [0, 0, 3]' ||
    complain 'mkmetric'
for _ in 1 2 3 4 5 6; do
    "$halite" scan --import --server "$address" | head -n 1 >out
    test "$(wc -l <out)" -eq 1 || complain 'a tool that is cancelled'
done

# What a server took before its restart is not what the next one syncs.
mkfifo pipe
"$halite" import --server "$address" - <pipe >out 2>err &
client=$!
exec 3>pipe
sed 's/^big/again/' lines >&3
until "$halite" uid --server "$address" metrics again.m >/dev/null 2>&1; do
    sleep 0.05
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
    for time in 1356998400 1356998460; do
        "$halite" query --server "$address" 1356990000 1357000000 sum "$own.$time" >>moved
    done
    stop
done
test "$(cut -d ' ' -f 1,2 moved)" = "true.1356998400 1356998400000
true.1356998460 1356998460000
false.1356998400 1356998400000
false.1356998460 1356998460000" || complain "imports around a rename: $(cat moved)"

# Rights.
printf '%s\n' "$("$halite" secret token adm admin 2>secret)" \
    "$("$halite" secret token rd read 2>secret.read)" >users
serve halite.auth.file=users
fails '*credentials*' "$halite" uid --data data grep .
sed -n 's/.*: //p' secret >token
sed -n 's/.*: //p' secret.read >token.read
fails '*' "$halite" uid --data data --token token.read grep .
"$halite" uid --data data --token token metrics new.m >/dev/null ||
    complain 'a token of an administrator'
HALITE_TOKEN=$(cat token) "$halite" uid --data data metrics new.m >/dev/null ||
    complain 'HALITE_TOKEN'
fails 'nosuch: *' "$halite" uid --data data --token nosuch grep .
stop

# A server that only reads.
serve --read-only
"$halite" search --data data lookup sys.cpu >/dev/null || complain 'ro: search'
fails '*reads only*' "$halite" mkmetric --data data other
stop

# TLS.
if command -v openssl >/dev/null; then
    serve_tls
    test "$("$halite" uid --server "$tls" --cacert cert.pem metrics sys.cpu)" = \
        "$(cat free/3.out)" || complain 'TLS'
    fails '*https://localhost*' "$halite" uid --server "$tls" 1
    ends 0 "$halite" import --from "$tls" --cacert cert.pem --only names --data copy
    ends 0 "$halite" uid --data copy metrics sys.cpu
    stop

    # A backup, which is of this server: its names are in it.
    serve_tls halite.auth.file=users
    fails 'halite backup: https://localhost*certificate*' "$halite" backup \
        --server "$tls" --token token saved
    fails 'halite backup: *credentials*' "$halite" backup --server "$tls" \
        --cacert cert.pem saved
    test ! -e saved || complain 'a backup without credentials'
    ends 0 "$halite" backup --server "$tls" --cacert cert.pem --token token saved
    holds "$out" '*"names":[1-9]*'
    stop
    gives 0 "$(cat free/3.out)" "$halite" uid --data saved metrics sys.cpu
fi
exit $bad
