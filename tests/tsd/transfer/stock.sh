#!/bin/sh
# stock.mjs for 'make check'; skipped without node.
command -v node >/dev/null || exit 77
# shellcheck disable=SC2154
exec node "$srcdir/tests/tsd/transfer/stock.mjs" "$halite"
