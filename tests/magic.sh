#!/bin/sh
# Every magic number is one FOURCC, and no two types share one.
cd "${srcdir:-.}" || exit 99
code=$(find base storage uid cluster query web tsd -name '*.[ch]')
# No name of a file of ours holds a blank.
# shellcheck disable=SC2086
twice=$(sed -n 's/^#define [A-Z_]*_MAGIC *\(.*\)/\1/p' $code |
    sort | uniq -d)
# shellcheck disable=SC2086
odd=$(sed -n '/^#define [A-Z_]*_MAGIC /{/FOURCC(/!p;}' $code)
test -z "$twice$odd" && exit 0
echo "shared: $twice"
echo "not a FOURCC: $odd"
exit 1
