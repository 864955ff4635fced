#!/bin/sh
# process.sh HALITE [CASE...]: two servers on one folder, signals under load, logs that
# without a reader or without room, clocks that jump.  See process.mjs.
exec node "$(dirname "$0")/process.mjs" "$@"
