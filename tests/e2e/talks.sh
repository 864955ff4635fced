#!/bin/sh
# Plays $talks, the conversations that this build can have, one after the other.
for talk in $talks; do
    set -- "$@" "$srcdir/$talk"
done
exec "$srcdir/tests/e2e/run" "$@"
