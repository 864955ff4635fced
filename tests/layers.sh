#!/bin/sh
# Every #include points down: a folder sees itself and what lies below it.
cd "${srcdir:-.}" || exit 99

sees()
{
    case $1 in
    base) echo base ;;
    storage) echo base storage ;;
    uid) echo base storage uid ;;
    query) echo base storage uid query ;;
    web) echo base web ;;
    tsd) echo base storage uid query web tsd ;;
    esac
}

bad=0
for folder in base storage uid query web tsd; do
    pattern=$(sees "$folder" | sed 's/ /|/g')
    # No name of a file of ours holds a blank.
    # shellcheck disable=SC2044
    for file in $(find "$folder" -name '*.[ch]'); do
        if grep -nE '^#include "[a-z]+/' "$file" |
            grep -vE "\"($pattern)/"; then
            echo "$file: the line above looks up"
            bad=1
        fi
        if grep -nE '^#include "[a-z/]+/[a-z0-9_]*_priv\.h"' "$file" |
            grep -vE "\"$folder/"; then
            echo "$file: the line above takes the insides of another folder"
            bad=1
        fi
    done
done

# Within query/, a room sees the rooms before it.
below=
for room in model aggregate parse plan fetch answer histogram engine exp; do
    below="$below${below:+|}$room"
    # shellcheck disable=SC2044
    for file in $(find "query/$room" -name '*.[ch]'); do
        if grep -nE '^#include "query/' "$file" |
            grep -vE "\"query/($below)/"; then
            echo "$file: the line above looks up"
            bad=1
        fi
    done
done
exit $bad
