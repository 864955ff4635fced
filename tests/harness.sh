# shellcheck shell=sh disable=SC2034
# Sourced by shell tests (POSIX sh), as harness.h is included by Check programs:
#
#     . "${srcdir:-.}/tests/harness.sh"
#     serve --memory
#     ends 0 "$halite" uid --server "$address" grep .
#     within 'no points' has_points
#     exit $bad         or, with a part that needs a program: finish
#
# A test goes on in a folder of its own, $work, which goes when it ends, as do the
# processes in $server and $pids.  $halite and $top are the program and the sources;
# $OLDPWD, until the next 'cd', is where the test began: for make, the build folder.
halite=${halite:-build/halite}
case $halite in /*) ;; *) halite=$PWD/$halite ;; esac
top=$(cd "${srcdir:-.}" && pwd -P)
work=$(mktemp -d "${TMPDIR:-/tmp}/halite-XXXXXX") || exit 99
server='' pids='' bad=0 missing=''
# shellcheck disable=SC2086
trap 'kill $server $pids 2>/dev/null; wait; rm -rf "$work"' EXIT
trap 'exit 99' HUP INT TERM
cd "$work" || exit 99
unset HALITE_DATA HALITE_SERVER HALITE_TOKEN
export TZ=UTC

# complain TEXT...: the test fails, and goes on.
complain()
{
    printf '%s\n' "$*"
    bad=1
}

# installed PROGRAM...: are all of them? A part of a test that needs one that is not is left out, and
# 'finish' says so.
installed()
{
    for program; do
        command -v "$program" >/dev/null || { missing="$missing $program"; return 1; }
    done
}

# finish: ends the test. One that left out a part is skipped (77), never ok.
finish()
{
    test $bad -ne 0 || test -z "$missing" || { echo "not tested, because it is not installed:$missing"; exit 77; }
    exit $bad
}

# within TEXT COMMAND...: complains unless the command succeeds within a minute or so;
# what it shows of logs are those in files *log.
within()
{
    text=$1
    shift
    left=300 pause=0.05 # shorter waits take more CPU than what is waited for
    while test $left -gt 0; do
        "$@" >/dev/null 2>&1 && return
        left=$((left - 1))
        test $left -gt 290 || pause=0.2
        sleep $pause
    done
    complain "$text: $(tail -n 5 ./*log 2>/dev/null)"
    return 1
}

# serve FLAG...: a server of folder data, on a free port of 127.0.0.1; FLAGs may say otherwise.
serve()
{
    serve_by "$halite" tsd --data data --bind 127.0.0.1 --port 0 "$@"
}

# serve_by COMMAND...: of which a server comes.  It is process 'server' and listens on
# 'address', whose port is 'port'; file 'log' has what it says.
serve_by()
{
    : >log
    "$@" 2>>log &
    server=$!
    left=1200
    while test $left -gt 0; do
        while read -r line; do
            case $line in *' listening on '*:[0-9]*)
                address=${line##* listening on }
                port=${address##*:}
                return
                ;;
            esac
        done <log
        kill -0 "$server" 2>/dev/null || break
        left=$((left - 1))
        sleep 0.05
    done
    echo "no server: $(cat log)"
    exit 1
}

# serve_tls FLAG...: such a server with TLS, too, at the URL 'tls', whose certificate only
# cert.pem makes known.
serve_tls()
{
    test -e cert.pem || openssl req -x509 -newkey ec -nodes -days 2 -subj /CN=localhost \
        -pkeyopt ec_paramgen_curve:prime256v1 -keyout key.pem -out cert.pem \
        -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>/dev/null
    serve "$@" halite.tls.cert=cert.pem halite.tls.key=key.pem halite.tls.port=0
    within 'no TLS' grep -q 'TLS on' log
    tls=https://localhost:$(sed -n 's/.*TLS on 127\.0\.0\.1:\([0-9]*\).*/\1/p' log)
}

# stop: the server is to end well.
stop()
{
    kill "$server"
    wait "$server" || complain "the server ended with $?: $(tail -n 20 log)"
    server=
}

# shim SOURCE NAME: makes library NAME, which stands between the server and libc.
shim()
{
    ${CC:-cc} -O2 -Wall -Wextra -shared -fPIC -I"$(dirname "$halite")" -include config.h \
        -o "$2" "$1" -ldl || exit 99
}

# ends CODE COMMAND...: its exit status; 'out', and the file 'err', are what it says.
ends()
{
    wanted=$1
    shift
    out=$("$@" 2>err </dev/null)
    status=$?
    test "$status" -eq "$wanted" ||
        complain "'$*' ended with $status, not $wanted: $out $(cat err)"
}

# gives CODE TEXT COMMAND...: ends so, and prints the text and no more.
gives()
{
    code=$1 text=$2
    shift 2
    ends "$code" "$@"
    test "$out" = "$text" || complain "'$*' printed:
$out
not:
$text
and said: $(cat err)"
}

# text_of FILE: 'text' becomes all of it, but for the last newline, without a process.
text_of()
{
    text=
    while IFS= read -r line || test -n "$line"; do
        text="$text
$line"
    done <"$1"
    text=${text#?}
}

# holds TEXT PATTERN
holds()
{
    # shellcheck disable=SC2254
    case $1 in $2) ;; *) complain "'$1' is not like '$2'" ;; esac
}

# says PATTERN: what the command of the 'ends' or 'gives' before wrote to stderr.
says()
{
    text_of err
    holds "$text" "$1"
}
