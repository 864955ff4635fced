#!/bin/sh
# faults.sh HALITE [NAME...]: runs the server on a disk that is full, or fails, in many
# ways, and compares what it acknowledged with what it holds.  See faults.mjs.
halite=$1
shift
here=$(cd "$(dirname "$0")" && pwd) || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
${CC:-cc} -O2 -Wall -Wextra -shared -fPIC -I"$(dirname "$halite")" \
    -include config.h \
    -o "$tmp/shim.so" "$here/shim.c" -ldl || exit 1
node "$here/faults.mjs" "$halite" "$tmp/shim.so" "$@"
