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

# The same among the rooms of tsd: 'rank FOLDER' grows upwards.
rank()
{
    case $1 in
    tsd/config) echo 1 ;;
    tsd/auth) echo 2 ;;
    tsd/stats) echo 3 ;;
    tsd/put) echo 4 ;;
    tsd/net) echo 5 ;;
    tsd/api) echo 6 ;;
    tsd/api/*) echo 7 ;;
    tsd/admin) echo 8 ;;
    tsd/commands) echo 9 ;;
    tsd) echo 10 ;;
    esac
}

for room in $(find tsd -type d); do
    mine=$(rank "$room")
    test -n "$mine" || continue
    for to in $(cat "$room"/*.[ch] 2>/dev/null |
        sed -n 's|^#include "\(tsd[a-z/]*\)/[a-z0-9_]*\.h"|\1|p' | sort -u); do
        theirs=$(rank "$to")
        if [ "${theirs:-99}" -gt "$mine" ]; then
            echo "$room includes $to, which lies above it:"
            grep -n "^#include \"$to/[a-z0-9_]*\.h\"" "$room"/*.[ch]
            bad=1
        fi
    done
done
exit $bad
