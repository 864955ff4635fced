#!/bin/sh
# clock.sh [HALITE]: the short form of clock.mjs, for 'make check': 20 seconds of a fixed seed. It is
# skipped without node, and without a compiler for the library that moves the clock.
command -v node >/dev/null || exit 77
# shellcheck disable=SC2154
HALITE_SEED=${HALITE_SEED:-1} exec node "$(dirname "$0")/clock.mjs" "${1:-$halite}" 20
