#!/bin/bash
# Runs the commands that README.md and docs/*.md show, against a server of its own, or says
# why not.  A command that is neither run nor named below fails the test.
# Those about pools of Ceph need a cluster for tests, whose ceph.conf $HALITE_TEST_RADOS is.
# $halite: the program.
command -v curl >/dev/null || exit 77
. "${srcdir:-.}/tests/harness.sh"
ln -s "$halite" halite
PATH=$work:$PATH
serve --data DATA tsd.core.tree.enable_processing=true tsd.core.auto_create_metrics=true

# 501: a program that was built without graphs
graphs=yes
test "$(curl -s -o /dev/null -w '%{http_code}' "$address/q?start=1h-ago&m=sum:sys.cpu&png")" != 501 || graphs=no

# What the commands take for granted.
curl -fsS -d '{"name":"first","enabled":true}' "$address/api/tree" >/dev/null || exit 1
put_of() # HOST
{
    curl -fsS -d "{\"metric\":\"sys.cpu\",\"timestamp\":$(date +%s),\"value\":1,\"tags\":{\"host\":\"$1\"}}" \
        "$address/api/put"
}
put_of a || exit 1
pool() # NAME: a store of its own
{
    echo "rados:tsdb/docs-$$-$1?conf=$HALITE_TEST_RADOS"
}
place=
if test -n "${HALITE_TEST_RADOS:-}"; then
    place=$(pool served)
    "$halite" tsd --store "$place" --bind 127.0.0.1 --port 0 2>pool.log &
    pids="$pids $!"
    within 'no server in a pool' grep -q ' listening on ' pool.log || exit 1
fi
# A store that is made is new, one that is verified is not in use.
of_a_pool()
{
    target=$place
    case $command in
    'halite restore'* | 'halite copy /'*) target=$(pool "$ran") ;;
    'halite backup'*) backup=DEST.$ran ;;
    'halite fsck'*) target=$restored ;;
    esac
    restored=$target
    command=$(printf '%s\n' "$command" | sed "s#'*rados:\(halite\|POOL\)[^ ']*'*#'$target'#
        s#\(backup .* \|restore \)DEST#\1$backup#; s#/var/lib/halite#$backup#; s#/srv/halite#COPIED#")
}
ceph()
{
    timeout 60 env ceph -c "$HALITE_TEST_RADOS" "$@"
}
echo 'sys.cpu 1356998400 1 host=a' >points.zst # by its bytes it is not packed
mkdir proc # of which 'halite demo' makes few series: 'import --from' asks for each
echo '0.31 0.40 0.38 2/310 4711' >proc/loadavg
export HALITE_DATA=$work/MOVED                 # of tools that open a store

# The program's commands, by its help: each is named in a document.
words=$(halite help | sed -n 's/^  \([a-z]\{1,\}\)  .*/\1/p' | tr '\n' '|')
test -n "$words" || exit 1
named=$(grep -ohE "(halite|tsdb) (${words%|})\\b|\`(${words%|})\`" "$top"/README.md "$top"/docs/*.md | sort -u)
for word in ${words//|/ }; do
    case $named$'\n' in *[\ \`]"$word"[\`$'\n']*) ;; *) complain "halite $word: no document names it" ;; esac
done

# A line each: FILE:LINE<tab>COMMAND.  An open quote or a backslash goes on.
commands()
{
    awk -v program="^    (build/)?(halite|tsdb) (${words}help)( |\$)" 'function out() { gsub(/   +[^ ].*$/, "", c); print at "\t" c; c = "" }
        /^    / && (c != "" || /^    (\.\/|\.\.\/|ceph|curl|exec|echo|openssl|chmod|mkdir|make|bench\/|tests\/|scripts\/|CK_)/ || $0 ~ program) {
            line = substr($0, 5)
            if (c == "") { at = FILENAME ":" FNR; c = line }
            else { sub(/^ +/, "", line); c = c " " line }
            open = gsub(/\047/, "\047", c) % 2
            if (sub(/\\$/, "", c) || open) next
            out(); next
        }
        c != "" { out() }' "$top"/README.md "$top"/docs/*.md
}
# What is run is about our server and our files.
adapt()
{
    sed "s|/dev/tcp/localhost/4242|/dev/tcp/127.0.0.1/$port|; s/\(localhost\|old\):4242/$address/
        s|/etc/halite/auth|auth|; s|/etc/ceph/||; s|^curl|curl -fsS|; s|\(--server [^ ]*\) DEST|\1 DEST.2|
        s|^\(build/\)\{0,1\}halite demo|halite demo --once --proc proc --server $address|; s|restore DEST DATA|restore DEST NEW|
        s|copy FROM TO|copy DEST TO|; s|fsck\(.*\) DIR|fsck\1 NEW|"
}
commands >list
cut -f 2- list | adapt >runs
ran=0 skipped=0
leave()
{
    skipped=$((skipped + 1))
    echo "not run: $command ($1)"
}
while IFS=$'\t' read -r at command <&9 && IFS= read -r run <&8; do
    case $command in
    ./start* | ./check* | scripts/* | bench/*) leave 'installs packages, or takes minutes' ; continue ;;
    ./autogen.sh | make* | mkdir* | ../configure* | CK_* | tests/*) leave 'builds' ; continue ;;
    'halite tsd'*) leave 'a server runs already' ; continue ;;
    'halite secret user'* | 'curl -u '*) leave 'asks for a password' ; continue ;;
    'tsdb uid grep metrics'*) leave "needs OpenTSDB's own tools" ; continue ;;
    *'Bearer TOKEN'* | *db.example* | openssl* | chmod*) leave 'needs keys or users' ; continue ;;
    esac
    case $command in
    ceph* | *rados:*)
        test -n "$place" || { leave 'needs a cluster of Ceph: HALITE_TEST_RADOS'; continue; }
        of_a_pool
        run=$(printf '%s\n' "$command" | adapt) ;;
    esac
    case $command in
    *'&svg'* | *'&png'*)
        test "$graphs" = yes || { leave 'needs a program with graphs'; continue; } ;;
    esac
    case $command in *tree/branch*) put_of new-series ;; esac # sorted by the rules
    eval "$run" >said 2>&1 || {
        echo "${at#"$top"/}: $run: failed: $(cat said)"
        bad=1
    }
    ran=$((ran + 1))
done 9<list 8<runs
exec 3>&-
has_both()
{
    curl -fsSg "$address/api/query?start=1h-ago&m=sum:sys.load{host=*}" >said && grep -q web01 said && grep -q web02 said
}
within 'README.md: its points are not there' has_both || cat said
echo "$ran commands run, $skipped not"
test "$ran" -ge 8 || bad=1
exit $bad
