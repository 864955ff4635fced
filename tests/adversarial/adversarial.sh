#!/bin/sh
# adversarial.sh HALITE [--long] [NAME...]: clients that mean harm, against a real server.
# See README.md.
halite=$1
shift
here=$(realpath "$(dirname "$0")")
. "$here/../harness.sh"
shim "$here/nomem.c" nomem.so
node "$here/adversarial.mjs" "$halite" "$work" "$@"
