#!/bin/sh
# power.sh HALITE [CUTS] [MODE]: records what the server does to its disk while it is
# written to, and starts it on what a power cut could have left.  See README.md.
halite=$1
shift
test -n "$TMPDIR" || ! test -w /dev/shm || TMPDIR=/dev/shm
here=$(realpath "$(dirname "$0")")
. "$here/../harness.sh"
shim "$here/shim.c" shim.so
node "$here/power.mjs" "$halite" "$work" "$@"
