#!/bin/sh
# hourly.mjs, for 'make check'; skipped without node.
command -v node >/dev/null || exit 77
# shellcheck disable=SC2154
exec node "$srcdir/tests/tsd/retention/hourly.mjs" "$halite"
