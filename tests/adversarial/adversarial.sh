#!/bin/sh
# adversarial.sh HALITE [--long] [NAME...]: clients that mean harm, against a real server.
# See README.md.
halite=$1
shift
here=$(cd "$(dirname "$0")" && pwd) || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
${CC:-cc} -O2 -Wall -Wextra -shared -fPIC -I"$(dirname "$halite")" \
    -include config.h \
    -o "$tmp/nomem.so" "$here/nomem.c" || exit 1
node "$here/adversarial.mjs" "$halite" "$tmp" "$@"
