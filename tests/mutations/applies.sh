#!/bin/sh
# Each fault of tests/mutations/list can still be planted: its file is there, its
# pattern is of a line of it, and the tests that see it are there.
cd "${srcdir:-.}" || exit 99
awk -F '|' '
function is_there(file,   line, rc)
{
    rc = (getline line <file)
    close(file)
    return rc >= 0
}
/^#/ || /^$/ { next }
{
    # What sed takes as it is.
    pattern = $2
    gsub(/[(){}+?^]/, "\\\\&", pattern)
    sub(/^\\\^/, "^", pattern)
    gsub(/\\&/, "\\&", pattern)
    found = 0
    while (!found && (getline line <$1) > 0)
        found = line ~ pattern
    close($1)
    if ($2 == $3 || !found)
        print $1 ": " $5 ": \"" $2 "\" is not there any more"
    n = split($4, tests, " ")
    for (i = 1; i <= n; i++) {
        name = tests[i]
        sub(/^.san:/, "", name)
        sub(/,.*/, "", name)
        if (!is_there("tests/" name) && !is_there("tests/" name ".c"))
            print $1 ": " $5 ": there is no tests/" name
    }
    faults++
}
END { if (!faults) print "tests/mutations/list is empty" }' tests/mutations/list | awk '{ print } END { exit NR > 0 }'
