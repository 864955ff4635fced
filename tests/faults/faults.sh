#!/bin/sh
# faults.sh HALITE [NAME...]: runs the server on a disk that is full, or fails, in many
# ways, and compares what it acknowledged with what it holds.  See faults.mjs.
halite=$1
shift
here=$(realpath "$(dirname "$0")")
. "$here/../harness.sh"
shim "$here/shim.c" shim.so
node "$here/faults.mjs" "$halite" "$work/shim.so" "$@"
