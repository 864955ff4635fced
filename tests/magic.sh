#!/bin/sh
# Every magic number is one FOURCC, and no two types share one.
cd "${srcdir:-.}" || exit 99
twice=$(sed -n 's/^#define [A-Z_]*_MAGIC *\(.*\)/\1/p' ./*/*.[ch] |
    sort | uniq -d)
odd=$(sed -n '/^#define [A-Z_]*_MAGIC /{/FOURCC(/!p;}' ./*/*.[ch])
test -z "$twice$odd" && exit 0
echo "shared: $twice"
echo "not a FOURCC: $odd"
exit 1
