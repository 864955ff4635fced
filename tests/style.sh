#!/bin/sh
# What a reader may rely on in every file: its size, the width of its lines, its
# '#pragma once', its layout, a page beside it.  Says all that is wrong at once.
. "${srcdir:-.}/tests/harness.sh"
cd "$top" || exit 99

# wrong WHAT LINES: no lines, no complaint.
wrong()
{
    test -z "$2" || complain "$1:
$2"
}

# Folders with code, at the top; builds inside of the sources are not ours.
ours=
for folder in */; do
    folder=${folder%/}
    case $folder in _* | build* | data | m4 | halite-* | node_modules) continue ;; esac
    test -e "$folder/config.status" || ours="$ours $folder"
done
# No name of a file of ours holds a blank.
# shellcheck disable=SC2086
code=$(find $ours -name '*.[ch]' | LC_ALL=C sort)
folders=$(printf '%s\n' "$code" | sed 's:/.*::' | uniq)
test -n "$folders" || exit 99

# shellcheck disable=SC2086
all=$(find $folders docs man packaging scripts .ci [A-Z]*.md [A-Z]*.am LICENSE configure.ac \
    start check autogen.sh -type f ! -path '*/.deps/*' ! -name '*.[oa]' \
    ! -name '*.log' ! -name '*.trs' | sort)

# shellcheck disable=SC2086
wrong 'more than 800 lines' "$(wc -l $code |
    awk '$1 > 800 && $2 != "total" { print $2 ": " $1 }')"

# Columns, not bytes: the bytes that go on a letter (10xxxxxx) do not count.
# shellcheck disable=SC2086
wrong 'more than 80 columns' "$(LC_ALL=C awk '
    { s = $0; gsub(/[\200-\277]/, "", s) }
    length(s) > 80 { print FILENAME ":" FNR ": " $0 }' $code)"

# shellcheck disable=SC2086
wrong 'tabs, or blanks at the end of a line' "$(LC_ALL=C grep -nE "$(printf '\t')|[[:blank:]]\$" $code)"

# shellcheck disable=SC2086
wrong 'no #pragma once as the first line after the comment' "$(awk '
    FNR == 1 { if (file != "") print file; file = FILENAME ~ /\.h$/ ? FILENAME : "" }
    file != "" && /^#/ { if ($0 != "#pragma once") print file; file = "" }
    END { if (file != "") print file }' $code)"

# shellcheck disable=SC2086
wrong "config.h is included by the compiler's command line" \
    "$(LC_ALL=C grep -l '^#include "config\.h"' $code)"

# shellcheck disable=SC2086
pages=$(printf '%s/README.md\n' $folders $(find base storage uid cluster query web tsd \
    -mindepth 1 -type d ! -name .deps ! -name '.libs'))
# shellcheck disable=SC2086
wrong 'missing, or no more than a heading' "$(LC_ALL=C grep -c . $pages 2>&1 | grep -v ':[0-9]*[0-9][0-9]$' |
    grep -v ':[4-9]$')"

# The brackets keep this line from finding itself.
# shellcheck disable=SC2086
wrong "paths of a developer's machine" "$(LC_ALL=C grep -nIE \
    '(^|[^a-z0-9_.])/(wor[k]/|tm[p]/b-|hom[e]/[a-z]+/|roo[t]/)' $all)"

# More than six parameters are a request struct.  These are left from before; the number only falls.
# shellcheck disable=SC2046,SC2086
many=$(LC_ALL=C awk '
    /^[a-z_][a-z0-9_]*\(/ { head = ""; open = 1 }
    open { head = head $0 }
    open && /^\{/ {
        depth = n = 0
        for (i = 1; i <= length(head); i++) {
            c = substr(head, i, 1)
            depth += c ~ /[([]/
            depth -= c ~ /[])]/
            n += c == "," && depth == 1
            if (c == ")" && depth == 0)
                break
        }
        if (n > 5)
            print FILENAME ": " substr(head, 1, index(head, "(") - 1)
        open = 0
    }' $(printf '%s\n' $code | grep -E '^(base|storage|uid|query|web|tsd|cluster)/.*c$'))
if test "$(printf '%s\n' "$many" | wc -l)" -gt 44; then
    wrong 'a function more with seven parameters than there may be (44)' "$many"
fi

# Other versions lay out a few lines otherwise.
if clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
    # shellcheck disable=SC2086
    wrong 'not as clang-format would have it' "$(clang-format --dry-run \
        -Werror $code 2>&1 | sed -n 's/:.*error:.*//p' | sort | uniq -c)"
fi
exit $bad
