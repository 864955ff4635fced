#!/bin/sh
# Each fault of tests/mutations/list can still be planted: its file is there, its
# pattern changes a line of it, and the tests that see it are there.
. "${srcdir:-.}/tests/harness.sh"
cd "$top" || exit 99
while IFS='|' read -r file old new tests what; do
    case $file in '#'* | '') continue ;; esac
    if test "$old" = "$new" || test -z "$(sed -n "s~$old~$new~p" "$file")"; then
        complain "$file: $what: \"$old\" is not there any more"
    fi
    for test in $tests; do
        name=tests/${test#?san:}
        name=${name%%,*}
        test -e "$name" || test -e "$name.c" || complain "$file: $what: there is no $name"
    done
done <tests/mutations/list
exit $bad
