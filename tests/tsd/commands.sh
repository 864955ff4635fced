#!/bin/sh
# The commands beside 'tsd': what they print, and how they end.
. "${srcdir:-.}/tests/harness.sh"

ends 2 "$halite"
says 'usage: *COMMAND*'
ends 0 "$halite" help
holds "$out" '*tsd*version*secret*'
ends 0 "$halite" version
holds "$out" 'halite [0-9]*'
for words in 'version --help' 'help version' 'secret --help' 'help secret'; do
    # shellcheck disable=SC2086
    ends 0 "$halite" $words
    holds "$out" 'usage: halite *  --help This text.'
done
ends 0 "$halite" --version
holds "$out" 'halite [0-9]*'
ends 2 "$halite" nonsense
says "*no command 'nonsense'*"
ends 0 "$halite" help uid
holds "$out" 'Usage: uid *--ignore-case*'
ends 2 "$halite" help nonsense
ends 2 "$halite" tsd --nonsense
ends 2 "$halite" tsd tsd.network.port=abc
ends 2 "$halite" tsd --memory tsd.core.authentication.enable=ture
says '*must be true or false*'
ends 2 "$halite" tsd --memory halite.sync.intervall_ms=1
says '*no such setting*'
ends 0 "$halite" tsd --help-settings
holds "$out" '*tsd.network.port*'

ends 0 "$halite" secret --help
holds "$out" 'usage: halite secret*'
ends 2 "$halite" secret
says 'usage: halite secret*'
ends 2 "$halite" secret unknown a read
ends 2 "$halite" secret user 'a b' read
says '*a name is of*'
ends 2 "$halite" secret user a dance
says '*roles: read, write, admin*'
ends 1 "$halite" secret user a read
says '*no password*'
out=$(echo sesame | "$halite" secret user a read,write)
holds "$out" 'user a read,write $[y6]$*'
ends 0 "$halite" secret token t admin
holds "$out" 'token t admin ?*'
says '*kept nowhere: ????????????????????????????????????????????????????????????????'

# Of two stores none is taken.
for words in 'fsck --store a' 'backup --store a to' 'restore --store a from'; do
    # shellcheck disable=SC2086
    ends 2 "$halite" $words --data b
    says '*two stores, a and b'
    ends 2 "$halite" $words --store b
    says '*two stores, a and b'
done

# What is not there is told as what it should be.
ends 1 "$halite" restore absent to
says "halite restore: there is no backup in 'absent': no FORMAT"
ends 1 "$halite" backup absent to
says "halite backup: there is no store in 'absent': no FORMAT"
ends 1 "$halite" tsd --data absent/data --port 0 --bind 127.0.0.1
says "*cannot make the folder 'absent/data': the one that it is to lie in is not there"

# What is printed arrives, or the command fails; no file gets a closed stream's number.
echo 'm.a 1356998400 1 host=web01' >lines
"$halite" import --data data lines 2>/dev/null || bad=1
for words in version help 'tsd --help' 'secret token t read' 'mkmetric --data data m.b' \
    'scan --data data --import' 'scan --data data --delete 1356998400 sum m.a' \
    'uid --data data grep m' 'search --data data lookup m.a' \
    'query --data data 1356998400 sum m.a'; do
    # shellcheck disable=SC2086
    ends 1 sh -c '"$0" "$@" >/dev/full' "$halite" $words
    says '*halite: standard output: No space left on device'
    # shellcheck disable=SC2086
    ends 1 sh -c '"$0" "$@" <&- >&-' "$halite" $words
    says '*halite: standard output: Bad file descriptor'
done
# 1 would mean that the store is damaged.
for to in '>/dev/full' '>&-'; do
    ends 2 sh -c "\"\$0\" fsck data $to" "$halite"
    says '*halite: standard output: not all was written'
done
ends 0 sh -c '"$0" import --data data lines 2>&-' "$halite"
# What a policy of the settings would drop at once is rejected without a server, too.
echo 'halite.retention = m.old 7d' >policies
echo 'm.old 1356998400 1 host=web01' >old
ends 1 "$halite" import --config policies --data old-data old
says '*older than the retention policy*'
gives 0 'm.a 1356998400 1 host=web01' "$halite" scan --data data --import

# A command that root starts runs as the owner of the folder, so that the service can start again.
if test "$(id -u)" = 0; then
    mkdir owned
    mv data owned
    chmod a+x .
    chown -R daemon owned
    for words in 'scan --data owned/data --import' 'mkmetric --data owned/data m.c' \
        'purge --data owned/data' 'import --data owned/data lines' 'copy owned/data owned/other' \
        'backup owned/data owned/copied' 'fsck owned/data'; do
        # shellcheck disable=SC2086
        ends 0 "$halite" $words
        roots=$(find owned ! -user daemon)
        test -z "$roots" || { echo "$words: $roots"; bad=1; }
    done
    ends 1 "$halite" copy owned/data elsewhere
    says '*elsewhere.partial: Permission denied*'
    if command -v setpriv >/dev/null; then
        ends 1 setpriv --bounding-set=-setuid "$halite" mkmetric --data owned/data m.d
        says "*cannot run as the owner of 'owned/data'*Operation not permitted*"
    fi
fi
exit $bad
