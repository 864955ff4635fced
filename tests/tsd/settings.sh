#!/bin/sh
# docs/SETTINGS.md holds the table of the program, as it is.
halite=${halite:-./halite}
"$halite" tsd --help-markdown >settings.$$.tmp || exit 1
grep '^[|-] `' "${srcdir:-.}/docs/SETTINGS.md" | diff - settings.$$.tmp
rc=$?
rm -f settings.$$.tmp
exit $rc
