#!/bin/bash
# The systemd units: their exposure, their words, and that the daemon calls nothing that the
# unit's filter of system calls forbids.  Run in the build folder.
command -v systemd-analyze >/dev/null || { echo "systemd-analyze is missing"; exit 77; }
build=$PWD
. "${srcdir:-.}/tests/harness.sh"
for unit in halite.service halite-demo.service; do
    sed "s|^ExecStart=[^ ]*|ExecStart=$halite|; /^Documentation/d" \
        "$build/packaging/$unit" >"$unit"
    systemd-analyze verify "./$unit" >verify 2>&1 && test ! -s verify ||
        complain "systemd-analyze verify: $(cat verify)"
    exposure=$(systemd-analyze security --offline=true --no-pager "./$unit" |
        sed -n 's/.*Overall exposure level.*: \([0-9.]*\) .*/\1/p')
    echo "$unit: exposure $exposure"
    awk -v e="$exposure" 'BEGIN { exit !(e != "" && e <= 1.5) }' ||
        complain "$unit: exposure '$exposure', more than 1.5"
done

# What a run calls, against @system-service without @privileged and @resources.
command -v strace >/dev/null || { echo "strace is missing: system calls not looked at"; exit $bad; }
grep -qE '__(asan|tsan)_init' "$halite" && { echo "built with a sanitizer, which makes calls of its own"; exit $bad; }
serve_by timeout 60 strace -f -qq -o trace "$halite" tsd --bind=127.0.0.1 --port=0 \
    --data=data tsd.no_diediedie=false
exec 3<>"/dev/tcp/127.0.0.1/$port"
printf 'put a.b %s 1 host=a\nversion\n' "$(date +%s)" >&3
read -r -t 20 _ <&3 || complain "no answer over telnet"
exec 3<>"/dev/tcp/127.0.0.1/$port"
printf 'GET /api/query?start=1h-ago&m=sum:a.b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' >&3
grep -q '"dps"' <&3 || complain "no answer over HTTP"
exec 3<>"/dev/tcp/127.0.0.1/$port"
echo diediedie >&3
wait "$server" || complain "the server ended badly: $(tail -n 3 log)"

systemd-analyze syscall-filter --no-pager >sets
set_of() # NAME..: their calls, and those of the sets within
{
    awk -v names="$*" '
        function out(name, i, of, n) {
            n = split(calls[name], of, " ")
            for (i = 1; i <= n; i++)
                if (of[i] ~ /^@/) out(of[i]); else print of[i]
        }
        { sub(/#.*/, "") }
        /^@/ { name = $1; next }
        /^ / { calls[name] = calls[name] " " $1 }
        END { n = split(names, of, " "); for (i = 1; i <= n; i++) out(of[i]) }' sets | sort -u
}
set_of @privileged @resources >forbidden
set_of @system-service | comm -23 - forbidden >allowed
test "$(wc -l <allowed)" -gt 200 || complain "the filter's sets hold too little"
sed -n 's/^[0-9]* *\([a-z0-9_]*\)(.*/\1/p' trace | sort -u >called
test "$(wc -l <called)" -gt 30 || complain "the trace holds too little"
# The tracer starts the program; systemd does so before the filter.
comm -23 called allowed | grep -vx 'execve\|restart_syscall' >wrong
test ! -s wrong || complain "the unit forbids what the daemon calls: $(tr '\n' ' ' <wrong)"
exit $bad
