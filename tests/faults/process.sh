#!/bin/sh
# process.sh HALITE [CASE...]: two servers on one folder, signals under load, logs that
# nobody reads or that have no room, clocks that jump.  See process.mjs.
exec node "$(dirname "$0")/process.mjs" "$@"
