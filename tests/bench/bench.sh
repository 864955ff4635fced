#!/bin/sh
# The bench runs: two Halites (the same program twice) take points and queries, and
# are compared.  Skipped without node.
halite=${halite:-./halite}
command -v node >/dev/null || exit 77
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
trap 'exit 99' HUP INT TERM
srcdir=${srcdir:-.} builddir=. BENCH_DIR=$dir SYSTEMS=halite,old HALITE_OLD=$halite \
    ONLY=ingest,queries,years SCALE=tiny MODES=http1 BUDGET=0.01 QUIET=0.1 ROUNDS=1 HOSTS=1 DAYS=1 \
    QUERIES='newest-5m-rate,year by day' \
    OPTIONS=halite.store.seal_delay_ms=100,halite.store.summary_delay_ms=100 \
    node "${srcdir:-.}/bench/run.mjs" >"$dir/out" 2>"$dir/err" ||
    { cat "$dir/err"; exit 1; }
cat "$dir/out"
grep -q '^| tiny http1 | bytes_point | .* | [01]\.[0-9]* |$' "$dir/out" &&
    grep -q '^| tiny newest-5m-rate, open | cpu_ms | ' "$dir/out" &&
    grep -q '^| cnt year by day | cpu_ms | ' "$dir/out" &&
    grep -q '^geometric mean of 2 queries, cpu_ms: [0-9]' "$dir/out"
