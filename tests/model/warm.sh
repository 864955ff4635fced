#!/bin/sh
# The steps of warm.mjs that name a cache each; skipped without node.
command -v node >/dev/null || exit 77
# shellcheck disable=SC2154
exec node "$srcdir/tests/model/warm.mjs" "$halite" 0
