#!/bin/sh
# The example of docs/TESTING.md compiles, and the files that documents link or
# name are there. A folder's README names all of its rooms and of its public headers.
top=${srcdir:-.}
test -f "$top/docs/TESTING.md" || exit 99
bad=0

# Links [text](path) of README.md, *.md beside it and docs/*.md.
for link in $(grep -oE '\]\([^)#:]+\)' "$top"/*.md "$top"/docs/*.md "$top"/docs/performance/*.md |
    sed 's/]($//; s/:](/:/; s/)$//'); do
    file=${link%%:*}
    test -e "${file%/*}/${link#*:}" || {
        echo "$file: no file ${link#*:}"
        bad=1
    }
done

# Sources that documents name in backquotes, with a path.
for name in $(grep -oE '`(base|storage|uid|query|web|tsd|tests|bench|scripts)/[a-zA-Z0-9_/.-]+`' \
    "$top"/*.md "$top"/docs/*.md "$top"/*/README.md "$top"/*/*/README.md | tr -d '`'); do
    file=${name%%:*}
    name=${name#*:}
    case $name in
    */test_example* | *X* | *.in/) continue ;;
    esac
    test -e "$top/$name" || ls "$top/$name".* >/dev/null 2>&1 || {
        echo "$file: no file $name"
        bad=1
    }
done

# Sources that a folder's README names without a path from the top lie there.
for name in $(grep -oE '`[a-z0-9_/]+\.(c|h|def)`' "$top"/[a-z]*/README.md \
    "$top"/[a-z]*/*/README.md "$top"/[a-z]*/*/*/README.md | tr -d '`'); do
    file=${name%%:*}
    name=${name#*:}
    test "$name" = api_x.c || test -e "${file%/*}/$name" || test -e "$top/$name" || {
        echo "$file: no file $name"
        bad=1
    }
done

# Each room is named in the README of the folder above it, each public header in that of its room.
for file in $(cd "$top" && find base storage uid cluster query web tsd -mindepth 1 \
    \( -type d ! -name '.*' -o -name '*.h' ! -name '*_priv.h' \) | LC_ALL=C sort); do
    test -f "$top/$file" || test -e "$top/$file/README.md" || continue
    grep -qE "\`([a-z/]*/)?${file##*/}/?\`" "$top/${file%/*}/README.md" || {
        echo "${file%/*}/README.md: ${file##*/} is not named"
        bad=1
    }
done

# The codes of fsck's report, in the program and in docs/RELIABILITY.md.
told=$(cat "$top/docs/RELIABILITY.md")
for code in $(grep -ohE '"[a-z]+(-[a-z]+)+"' "$top"/uid/fsck/*.c "$top"/storage/fsck/*.c |
    tr -d '"' | sort -u); do
    case $told in *"\`$code\`"*) ;; *)
        echo "docs/RELIABILITY.md: fsck's $code is missing"
        bad=1
        ;;
    esac
done
said=$(grep -ohE '"[a-z-]+"' "$top"/uid/fsck/*.c "$top"/storage/fsck/*.c "$top"/tsd/admin/*.c)
for code in $(sed -n '/^| code | what is wrong/,/^$/s/^| \([^|]*\)|.*/\1/p' \
    "$top/docs/RELIABILITY.md" | grep -oE '`[a-z-]+`' | tr -d '`'); do
    case $said in *"\"$code\""*) ;; *)
        echo "docs/RELIABILITY.md: fsck never says $code"
        bad=1
        ;;
    esac
done

# The filters, in the program, in its help and in the OpenAPI document.
for name in $(sed -n 's/^ *X(FILTER_[A-Z_]*, "\([a-z_]*\)").*/\1/p' "$top/query/model/filter.h"); do
    for file in tsd/api/server/api_config.c tsd/api/openapi/openapi.def; do
        test "$name" = not_key || grep -qw "$name" "$top/$file" || {
            echo "$file: filter $name is missing"
            bad=1
        }
    done
done

# The API's description: its names are in the sources, and parameters that the sources ask for
# are in it.
api=tsd/api/openapi/openapi.def
described=$(grep -E '^(OPERATION|SCHEMA|#define|    ")' "$top/$api" | grep -oE '[A-Za-z_0-9]+:' |
    tr -d : | sort -u)
words=$(find "$top/tsd" "$top/query" "$top/cluster" "$top/web" -name '*.[ch]' -exec \
    grep -ohE '[A-Za-z_][A-Za-z_0-9]*' {} + | sort -u)
unknown=$(echo "$described" | grep -vxF "$words")
test -z "$unknown" || {
    echo "$api: in no source:" $unknown
    bad=1
}
unknown=$(grep -rohE '(http_param|http_has_param|api_need_param)\([a-z>-]+, "[a-z_0-9]+"' \
    --include='*.c' "$top/tsd" | sed 's/.*"\(.*\)"/\1/' | sort -u | grep -vxF "$described")
test -z "$unknown" || {
    echo "$api: parameters that are not described:" $unknown
    bad=1
}

example=$(mktemp "${TMPDIR:-/tmp}/example-XXXXXX.c") || exit 99
trap 'rm -f "$example"' EXIT
trap 'exit 99' HUP INT TERM
sed -n '/^```c$/,/^```$/p' "$top/docs/TESTING.md" | sed '/^```/d' >"$example"
test "$(wc -l <"$example")" -gt 10 || {
    echo "docs/TESTING.md: no example"
    bad=1
}
${CC:-cc} -std=gnu17 -Wall -Wextra -Werror -fsyntax-only -D_GNU_SOURCE \
    -include config.h -I"$top" "$example" || bad=1
exit $bad
