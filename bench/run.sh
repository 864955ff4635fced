#!/bin/sh
# Measures: bench/run.sh SCALE=A ONLY=ingest ... from a fresh clone builds first
# and then calls 'make bench' with its arguments; that calls this script again,
# with the folders of sources and build, to install what measuring needs.
if [ -z "$builddir" ]; then
    cd "$(dirname "$0")/.." || exit 1
    . scripts/setup
    # shellcheck disable=SC2086
    need $BUILD_PACKAGES $BENCH_PACKAGES
    configure_in build
    exec make -C build bench "$@"
fi
here=$PWD
cd "${srcdir:?}" || exit 1
. scripts/setup
# shellcheck disable=SC2086
need $BENCH_PACKAGES
cd "$here" || exit 1
exec node "$srcdir/bench/run.mjs"
