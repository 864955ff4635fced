#!/bin/sh
# The short form of warm.mjs, for 'make check': its steps that name a cache each, and a
# second of random rounds; skipped without node.
command -v node >/dev/null || exit 77
# shellcheck disable=SC2154
exec node "$srcdir/tests/model/warm.mjs" "$halite" 1 "${HALITE_SEED:-1}"
