#!/bin/sh
# Each fault of tests/mutations/list can still be planted: its file is there, its
# pattern changes a line of it, and the tests that see it are there.
srcdir=${srcdir:-.}
cd "$srcdir" || exit 1
status=0
changed=$(mktemp)
trap 'rm -f "$changed"' EXIT
while IFS='|' read -r file old new tests what; do
    case $file in '#'* | '') continue ;; esac
    sed "s~$old~$new~" "$file" >"$changed"
    if cmp -s "$file" "$changed"; then
        echo "$file: $what: \"$old\" is not there any more"
        status=1
    fi
    for test in $tests; do
        name=tests/${test#?san:}
        name=${name%%,*}
        test -e "$name" || test -e "$name.c" || {
            echo "$file: $what: there is no $name"
            status=1
        }
    done
done <tests/mutations/list
exit $status
