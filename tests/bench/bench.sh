#!/bin/sh
# The bench runs: two Halites (the same program twice) take points and queries, and
# are compared.  Skipped without node.
halite=${halite:-./halite}
command -v node >/dev/null || exit 77
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
srcdir=${srcdir:-.} builddir=. BENCH_DIR=$dir SYSTEMS=halite,old HALITE_OLD=$halite \
    ONLY=ingest,queries SCALE=tiny MODES=http1 QUERIES=lastpoint BUDGET=0.01 \
    node "${srcdir:-.}/bench/run.mjs" >"$dir/out" 2>"$dir/err" ||
    { cat "$dir/err"; exit 1; }
cat "$dir/out"
grep -q '^| tiny http1 | bytes_point | .* | [01]\.[0-9]* |$' "$dir/out" &&
    grep -q '^geometric mean of 1 queries, cpu_ms: [0-9]' "$dir/out"
