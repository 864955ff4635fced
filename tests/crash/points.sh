#!/bin/sh
# points.sh HALITE [NAME...]: lets the server end at places with names, and compares what
# it acknowledged with what it holds.  Configured with --enable-crash-points.  See
# points.mjs.
exec node "$(dirname "$0")/points.mjs" "$@"
