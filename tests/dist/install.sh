#!/bin/bash
# 'make install' into a folder: the files that are there, the installed program with the
# installed settings, the completion; 'make uninstall' takes all back.
# Run in the build folder.  $halite: the program, $srcdir: the sources.
test -f Makefile || exit 99
build=$PWD
. "${srcdir:-.}/tests/harness.sh"
to=$work/to
quiet_make() # TARGET: as a packager calls it
{
    env -u MAKEFLAGS -u MAKELEVEL make -s -C "$build" "$1" DESTDIR="$to" prefix=/usr sysconfdir=/etc \
        bindir=/usr/bin >make.out 2>&1 || { cat make.out; exit 1; }
}
quiet_make install

for file in usr/bin/halite usr/bin/tsdb etc/halite/halite.conf \
    usr/share/halite/alerts.yml usr/share/halite/grafana/halite-prometheus.json usr/share/halite/clients/collectd.conf \
    usr/lib/systemd/system/halite.service usr/lib/systemd/system/halite-demo.service usr/lib/sysusers.d/halite.conf \
    usr/lib/tmpfiles.d/halite.conf usr/share/bash-completion/completions/halite \
    usr/share/bash-completion/completions/tsdb usr/share/doc/halite/README.md \
    usr/share/doc/halite/docs/SETTINGS.md usr/share/doc/halite/examples/halite.conf; do
    test -s "$to/$file" || complain "$file is not installed"
done
halite=$to/usr/bin/halite
test "$(readlink "$to/usr/bin/tsdb")" = halite || complain "tsdb is no link to halite"
"$to/usr/bin/tsdb" bogus 2>/dev/null | grep -q "^Valid commands:" || complain "tsdb is not called as tsdb"

# Every setting is in the sample, with its default; all but the address are comments.
conf=$to/etc/halite/halite.conf
"$halite" tsd --help-settings |
    sed -n '/^Accepted/q; s/^\([a-z_.]* =\) *\((unset)\)\{0,1\}\(.*\)/\1 \3/; t found
        d; : found; s/  *$//; s/  */ /g; p' >told
sed -n 's/^#\([a-z_.]* =.*\)/\1/; t found
    d; : found; s/  *$//; s/  */ /g; p' "$conf" >sample
test "$(wc -l <told)" -gt 80 || complain "--help-settings tells too little"
diff told sample || complain "halite.conf does not hold the settings of the program"
test "$(grep -v '^#' "$conf" | grep .)" = 'tsd.network.bind = 127.0.0.1' ||
    complain "halite.conf sets more than the address"
test -z "$(awk 'length > 79 && !/^#[a-z]/' "$conf")" || complain "halite.conf has long lines"

# The program runs with it; with every comment taken away, too, and is the same.
run() # CONFIG NAME: /api/config of the server, sorted, but for what the test itself sets
{
    serve_by "$halite" tsd --config="$1" --port=0 --data="data.$2"
    test "$address" = "127.0.0.1:$port" || complain "$2: no server on 127.0.0.1"
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    printf 'GET /api/config HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
    tr ',' '\n' <&3 | tr -d '{}\r' | grep '^"' | grep -v '"halite.store"' | sort >"config.$2"
    exec 3>&-
    stop
}
run "$conf" sample
sed 's/^#\([a-z_.]* =\)/\1/; /^tsd.network.bind = 0/d' "$conf" >all.conf
run all.conf all
# Settings without a default are empty there, absent here.
grep -v ':""$' config.all >config.all.set
grep -v ':""$' config.sample | diff - config.all.set ||
    complain "defaults in halite.conf are not those of the program"
test "$(wc -l <config.sample)" -gt 80 || complain "/api/config tells too little"

# An administrator's file stays.
echo 'tsd.network.port = 4999' >>"$conf"
quiet_make install-data-local
grep -q 4999 "$conf" || complain "make install wrote over a changed halite.conf"

. "$to/usr/share/bash-completion/completions/halite"
expect() # PATTERN WORDS...: what the last one may become
{
    pattern=$1
    shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*"
    _halite
    completes "$pattern"
}
completes() # PATTERN
{
    # shellcheck disable=SC2254
    case " ${COMPREPLY[*]} " in $1) ;; *) complain "completion of '$COMP_LINE' has no '$1': ${COMPREPLY[*]}" ;; esac
}
expect '* tsd *backup *' halite ''
expect ' backup ' halite ba
expect ' backup ' halite help ba
expect '* --port= *' halite tsd --p
expect '* --repair *' halite fsck --
expect ' --token= ' halite backup --t
expect ' always ' halite tsd --sync = al
expect ' tsd ' tsdb ts
expect ' --full-scan ' tsdb fsck --fu
expect '* query *' tsdb ''
case " ${COMPREPLY[*]} " in *' demo '* | *' purge '*) complain "tsdb has no: ${COMPREPLY[*]}" ;; esac
expect '* --fix-all *' tsdb fsck --
case " ${COMPREPLY[*]} " in *' --repair '*) complain "tsdb fsck has no: ${COMPREPLY[*]}" ;; esac
mkdir folder
expect ' folder ' halite fsck fol
# Every option that help shows is completed.
options=0
while IFS= read -r line; do
    [[ $line =~ ^"  "([a-z]+)" " ]] || continue
    command=${BASH_REMATCH[1]}
    expect '*' halite "$command" --
    while IFS= read -r line; do
        [[ $line =~ ^" "+(--[a-z-]+) ]] || continue
        completes "* ${BASH_REMATCH[1]}[= ]*"
        options=$((options + 1))
    done < <("$halite" "$command" --help 2>/dev/null)
done < <("$halite" help)
test $options -gt 40 || complain "--help tells of $options options"

quiet_make uninstall
test "$(cd "$to" && find . -type f -o -type l)" = ./etc/halite/halite.conf ||
    complain "left by make uninstall: $(find "$to" -type f -o -type l)"
test -f "$top/packaging/halite.service.in" || exit 99
exit $bad
