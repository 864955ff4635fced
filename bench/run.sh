#!/bin/sh
# Installs what measuring needs and measures; called by 'make bench', which says
# where sources and build are.
here=$PWD
cd "${srcdir:?}" || exit 1
. scripts/setup
# shellcheck disable=SC2086
need $BENCH_PACKAGES
cd "$here" || exit 1
exec node "$srcdir/bench/run.mjs"
