#!/bin/bash
# /metrics, and what dist/ makes of it: names that rules and dashboards use are there, each
# alert is in docs/MONITORING.md, and promtool has nothing to say.
# $halite: the program.
command -v curl >/dev/null || exit 77
. "${srcdir:-.}/tests/harness.sh"
serve --data DATA
# After the first fsync all are there.
curl -fsS -d '{"metric":"a","timestamp":1,"value":1,"tags":{"h":"a"}}' "$address/api/put?sync" ||
    { cat log; exit 1; }
has_fsync()
{
    curl -fsS "$address/metrics" >metrics && grep -q '^halite_wal_last_fsync' metrics
}
within 'no fsync' has_fsync
curl -fsS "$address/api/stats" | grep -o '"metric":"[^"]*"' | sort -u >stats

# Names that are used, and names that there are.
{
    grep -oE '^[a-z_]+' metrics
    sed -n 's/^# TYPE \([a-z_]*\) histogram/\1/p' metrics
    echo up # of Prometheus itself
    # Those of a pool, which this server has none of.
    grep -ohE '"halite_[a-z_]+"' "$top"/tsd/api/stats/{stats.def,api_metrics.c} | tr -d '"'
} | sort -u >there
test "$(wc -l <there)" -gt 60 || complain "few metrics: $(cat metrics)"
# What promtool would say of units.
strange=$(grep -E '_(weeks|days|hours|minutes|millis(econds)?|micros(econds)?|nanos(econds)?|kilobytes|megabytes|percent)(_|$)' there)
test -z "$strange" || complain "no base units: $strange"
files=("$top"/dist/alerts.yml "$top"/dist/grafana/halite-prometheus.json "$top"/docs/MONITORING.md
    "$top"/web/ui/health.tsx)
grep -oE '\b(halite|process)_[a-z_]+[a-z]' "${files[@]}" | sort -u >used
test "$(cut -d : -f 1 used | uniq | wc -l)" -eq ${#files[@]} || complain "a file uses no metrics: $(cut -d : -f 1 used | uniq)"
unknown=$(grep -vE ":($(paste -sd '|' there))\$" used)
test -z "$unknown" || complain "not in /metrics: $unknown"
grep -o '"metric": *"tsd[^"]*"' "$top/dist/grafana/halite-opentsdb.json" | tr -d ' ' | sort -u >used
test -s used || complain 'halite-opentsdb.json uses no metrics'
unknown=$(comm -23 used stats)
test -z "$unknown" || complain "halite-opentsdb.json: not in /api/stats: $unknown"

# Alerts and their description.
sed -n 's/.*alert: //p' "$top/dist/alerts.yml" | sort >alerts
sed -n 's/^### \(Halite.*\)/\1/p' "$top/docs/MONITORING.md" | sort | diff alerts - ||
    complain 'docs/MONITORING.md does not describe the alerts of dist/alerts.yml'

if installed node; then
    # A rate needs two points, of two seconds.
    reads_statistics()
    {
        "$halite" demo --once --stats --server "$address" || complain 'halite demo --stats'
    }
    reads_statistics
    second=$EPOCHSECONDS
    while test $EPOCHSECONDS -eq "$second"; do sleep 0.1; done
    reads_statistics
    node "$top/tests/dist/dashboard.mjs" "$address" "$top"/dist/grafana/halite-{opentsdb,prometheus}.json ||
        complain 'dashboards'
fi
installed promtool || finish
# It tells what it dislikes, and then does not always fail.
promtool check metrics <metrics >said 2>&1 && test ! -s said || complain "$(cat said)"
# Each expression of the dashboard, as if it were a rule.
{
    printf 'groups:\n- name: dashboard\n  rules:\n'
    grep -oE '"expr": "([^"\\]|\\.)*"' "$top/dist/grafana/halite-prometheus.json" |
        sed "s/^\"expr\": /  - record: a:b\\n    expr: /; s/\\\$__rate_interval/5m/g" | sed 's/\\n/\
/' | awk '/record/ { sub("a:b", "a:b" ++n) } { print }'
} >rules.yml
test "$(grep -c expr: rules.yml)" -gt 20 || complain "few expressions: $(cat rules.yml)"
promtool check rules "$top/dist/alerts.yml" rules.yml >said 2>&1 || complain "$(cat said)"
promtool test rules "$top/tests/dist/alerts.yml" "$top/tests/dist/alerts-days.yml" >said 2>&1 || complain "$(cat said)"
finish
