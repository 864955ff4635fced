#!/bin/sh
# The commands beside 'tsd': what they print, and how they end.
halite=${halite:-./halite}
bad=0

# ends CODE COMMAND...: 'out' and 'err' are what it said.
ends()
{
    want=$1
    shift
    out=$("$@" 2>commands.$$.tmp </dev/null)
    code=$?
    err=$(cat commands.$$.tmp)
    rm -f commands.$$.tmp
    test "$code" -eq "$want" ||
        complain "'$*' ended with $code, not $want: $out $err"
}

complain()
{
    echo "$*"
    bad=1
}

# holds TEXT PATTERN
holds()
{
    # shellcheck disable=SC2254
    case $1 in $2) ;; *) complain "'$1' is not like '$2'" ;; esac
}

ends 2 "$halite"
holds "$err" 'usage: *COMMAND*'
ends 0 "$halite" help
holds "$out" '*tsd*version*secret*'
ends 0 "$halite" version
holds "$out" 'halite [0-9]*'
ends 0 "$halite" --version
holds "$out" 'halite [0-9]*'
ends 2 "$halite" nonsense
holds "$err" "*no command 'nonsense'*"
ends 0 "$halite" help uid
holds "$out" 'Usage: uid *--ignore-case*'
ends 2 "$halite" help nonsense
ends 2 "$halite" tsd --nonsense
ends 2 "$halite" tsd tsd.network.port=abc
ends 2 "$halite" tsd --memory tsd.core.authentication.enable=ture
holds "$err" '*must be true or false*'
ends 2 "$halite" tsd --memory halite.sync.intervall_ms=1
holds "$err" '*no such setting*'
ends 0 "$halite" tsd --help-settings
holds "$out" '*tsd.network.port*'

ends 2 "$halite" secret
holds "$err" 'usage: halite secret*'
ends 2 "$halite" secret unknown a read
ends 1 "$halite" secret user 'a b' read
holds "$err" '*a name is of*'
ends 1 "$halite" secret user a dance
holds "$err" '*roles: read, write, admin*'
ends 1 "$halite" secret user a read
holds "$err" '*no password*'
out=$(echo sesame | "$halite" secret user a read,write)
holds "$out" 'user a read,write $[y6]$*'
ends 0 "$halite" secret token t admin
holds "$out" 'token t admin ?*'
holds "$err" '*kept nowhere: ????????????????????????????????????????????????????????????????'
exit $bad
