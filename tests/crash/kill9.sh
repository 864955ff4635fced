#!/bin/sh
# kill9.sh HALITE [ROUNDS]: kills the server in the middle of batches, again and
# again, and compares what it acknowledged with what it holds.  See kill9.mjs.
exec node "$(dirname "$0")/kill9.mjs" "$@"
