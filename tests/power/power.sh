#!/bin/sh
# power.sh HALITE [CUTS] [MODE]: records what the server does to its disk while it is
# written to, and starts it on what a power cut could have left.  See README.md.
halite=$1
shift
here=$(cd "$(dirname "$0")" && pwd) || exit 1
base=${TMPDIR:-/dev/shm}
test -w "$base" || base=/tmp
tmp=$(mktemp -d "$base/halite-power-XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
${CC:-cc} -O2 -Wall -Wextra -shared -fPIC -I"$(dirname "$halite")" \
    -include config.h \
    -o "$tmp/shim.so" "$here/shim.c" -ldl || exit 1
node "$here/power.mjs" "$halite" "$tmp" "$@"
