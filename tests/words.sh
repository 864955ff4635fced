#!/bin/sh
# Fails on words of the last column of docs/GLOSSARY.md, in names, texts and
# documents: identifiers are split at '_' and at capital letters.
cd "${srcdir:-.}" || exit 99

# Words in brackets explain; a cell without words bans nothing.
banned=$(sed -n 's/^|.*|\([^|]*\)|$/\1/p' docs/GLOSSARY.md |
    sed 1,2d | sed 's/([^)]*)//g' | tr ',' '\n' |
    sed 's/[ `]//g' | grep -E '^[a-z]+$' | sort -u | paste -sd '|' -)
test -n "$banned" || exit 99

# Seeds, recorded data and the glossary itself are no texts of ours; names of
# settings stay as they are.
files=$(find base storage uid cluster query web tsd tests bench docs man packaging scripts \
    ./*.md check start configure.ac Makefile.am -type f \
    \( -name '*.[ch]' -o -name '*.md' -o -name '*.def' -o -name '*.inc' \
    -o -name '*.sh' -o -name '*.mjs' -o -name '*.tst' -o -name '*.am' \
    -o -name '*.ac' -o -name '*.scd' -o -name '*.json' -o -name check -o -name start \
    -o -path './scripts/*' -o -path 'scripts/*' \) \
    ! -path 'docs/GLOSSARY.md' ! -path '*/.deps/*' | sort)
# shellcheck disable=SC2086
found=$(printf '%s\n' $files | grep -E "(^|[/_.-])($banned)([/_.-]|\$)"
    LC_ALL=C awk -v banned="$banned" '
    /^# SYN[O]PSIS$/ { next } # a heading that every man page has
    {
        line = $0
        gsub(/(halite|tsd)\.[a-z_.]+/, "", line)
        while (match(line, /[a-z][A-Z]/))
            line = substr(line, 1, RSTART) " " substr(line, RSTART + 1)
        line = tolower(line)
        gsub(/[^a-z]+/, " ", line)
        if ((" " line " ") ~ ("[ ](" banned ")[ ]"))
            print FILENAME ":" FNR ": " $0
    }' $files)
test -z "$found" && exit 0
echo "words that docs/GLOSSARY.md asks to replace:"
echo "$found"
exit 1
