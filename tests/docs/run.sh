#!/bin/bash
# Runs the commands that README.md and docs/*.md show, against a server of its own, or says
# why not.  A command that is neither run nor named below fails the test.
# $halite: the program.
halite=$(realpath "${halite:-build/halite}") top=$(realpath "${srcdir:-.}")
command -v curl >/dev/null || exit 77
tmp=$(mktemp -d) || exit 99
trap 'kill "$server" 2>/dev/null; wait; rm -rf "$tmp"' EXIT
ln -s "$halite" "$tmp/halite"
cd "$tmp" || exit 99
PATH=$tmp:$PATH
halite tsd --data DATA --bind 127.0.0.1 --port 0 tsd.core.tree.enable_processing=true \
    tsd.core.auto_create_metrics=true 2>log &
server=$!
for _ in $(seq 200); do
    port=$(sed -n 's/.*listening on .*:\([0-9]*\)$/\1/p' log)
    test -n "$port" && break
    sleep 0.05
done
test -n "$port" || { cat log; exit 1; }

# What the commands take for granted.
curl -fsS -d '{"name":"first","enabled":true}' "127.0.0.1:$port/api/tree" >/dev/null || exit 1
put_of() # HOST
{
    curl -fsS -d "{\"metric\":\"sys.cpu\",\"timestamp\":$(date +%s),\"value\":1,\"tags\":{\"host\":\"$1\"}}" \
        "127.0.0.1:$port/api/put"
}
put_of a || exit 1
echo 'sys.cpu 1356998400 1 host=a' >points.zst # by its bytes it is not packed
export HALITE_DATA=$tmp/MOVED                  # of tools that open a store
bad=0

# The program's commands, by its help: each is named in a document.
words=$(halite help | sed -n 's/^  \([a-z]\{1,\}\)  .*/\1/p')
for word in $words; do
    grep -qE "(halite|tsdb) $word\\b|\`$word\`" "$top"/README.md "$top"/docs/*.md || { echo "halite $word: no document names it"; bad=1; }
done
words=$(printf '%s' "$words" | tr '\n' '|')
test -n "$words" || exit 1

# A line each: FILE:LINE<tab>COMMAND.  An open quote or a backslash goes on.
commands()
{
    awk -v program="^    (build/)?(halite|tsdb) ($words|help)( |\$)" 'function out() { gsub(/   +[^ ].*$/, "", c); print at "\t" c; c = "" }
        /^    / && (c != "" || /^    (\.\/|\.\.\/|curl|exec|echo|openssl|chmod|mkdir|make|bench\/|tests\/|scripts\/|CK_)/ || $0 ~ program) {
            line = substr($0, 5)
            if (c == "") { at = FILENAME ":" FNR; c = line }
            else { sub(/^ +/, "", line); c = c " " line }
            open = gsub(/\047/, "\047", c) % 2
            if (sub(/\\$/, "", c) || open) next
            out(); next
        }
        c != "" { out() }' "$top"/README.md "$top"/docs/*.md
}
commands >list
ran=0 left=0
leave()
{
    left=$((left + 1))
    echo "not run: $command ($1)"
}
while IFS=$'\t' read -r at command <&9; do
    case $command in
    ./start* | ./check* | scripts/* | bench/*) leave 'installs packages, or takes minutes' ; continue ;;
    make* | mkdir* | ../configure* | CK_* | tests/*) leave 'builds' ; continue ;;
    'halite tsd'*) leave 'a server runs already' ; continue ;;
    'halite secret user'* | 'curl -u '*) leave 'asks for a password' ; continue ;;
    'tsdb uid grep metrics'*) leave "needs OpenTSDB's own tools" ; continue ;;
    *'Bearer TOKEN'* | *db.example* | openssl* | chmod*) leave 'needs keys or users' ; continue ;;
    esac
    case $command in *tree/branch*) put_of new-series ;; esac # sorted by the rules
    run=$(printf '%s\n' "$command" | sed "s|/dev/tcp/localhost/4242|/dev/tcp/127.0.0.1/$port|; s/\(localhost\|old\):4242/127.0.0.1:$port/
        s|/etc/halite/auth|auth|; s|^curl|curl -fsS|; s|^\(build/\)\{0,1\}halite demo|halite demo --once --server 127.0.0.1:$port|; s|restore DEST DATA|restore DEST NEW|; s|fsck\(.*\) DIR|fsck\1 NEW|")
    eval "$run" >said 2>&1 || {
        echo "${at#"$top"/}: $run: failed: $(cat said)"
        bad=1
    }
    ran=$((ran + 1))
done 9<list
exec 3>&-
for _ in $(seq 100); do
    curl -fsSg "127.0.0.1:$port/api/query?start=1h-ago&m=sum:sys.load{host=*}" >said && grep -q web02 said && break
    sleep 0.05
done
grep -q web01 said && grep -q web02 said || { echo "README.md: its points are not there: $(cat said)"; bad=1; }
echo "$ran commands run, $left not"
test "$ran" -ge 8 || bad=1
exit $bad
