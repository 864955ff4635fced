#!/bin/sh
# The architecture as the includes have it.  Rooms are folders of sources; an
# include points to the room itself or to one above it in this list, and to no
# other.  A private header stays in its room.  Files form no circle either:
# x.h, x_priv.h and x*.c count as one.
. "${srcdir:-.}/tests/harness.sh"
cd "$top" || exit 99

# Bottom to top.  A room may include those before it, but web only base and web,
# and query, cluster, uid and storage never include web.
rooms='
    base base/text base/process base/file base/time
    storage/rados storage/kv storage/kv/mem storage/kv/leveldb
    storage/row storage/kv/rados storage/block storage/week storage/head storage/wal storage/wal/rados storage/lease storage/place storage/store storage/scan
    storage/histogram storage/fsck
    uid/names uid/series uid/meta uid/fsck uid/purge
    cluster/peer cluster
    query/model query/downsample query/aggregate query/parse query/plan query/fetch query/answer query/histogram query/engine query/exp
    web web/json web/mhd web/canvas web/axis web/chart
    tsd/config tsd/retention tsd/stats tsd/auth tsd/put tsd/net tsd/api tsd/api/names tsd/api/meta tsd/api/query tsd/api/graph tsd/api/server tsd/api/stats tsd/api/openapi tsd/api/put tsd/api/tree tsd/client tsd/transfer tsd/transfer/json tsd/transfer/import tsd/transfer/fetch tsd/tool tsd/tool/points tsd/tool/names tsd/tool/import tsd/tool/run tsd/admin tsd/commands tsd'

# FILE INCLUDED, for each include of a file of ours.
find base storage uid cluster query web tsd -name '*.[ch]' | LC_ALL=C sort >"$work/files"
xargs grep -oH '^#include "[a-z0-9_/]*\.[a-z]*"' <"$work/files" |
    sed 's/:#include "\(.*\)"/ \1/' >"$work/includes"

awk -v rooms="$rooms" '
    function room(path) { sub("/[^/]*$", "", path); return path }
    function top(path) { sub("/.*", "", path); return path }
    BEGIN {
        n = split(rooms, list, " ")
        for (i = 1; i <= n; i++)
            rank[list[i]] = i
    }
    index($2, "/") == 0 { next }
    {
        from = room($1); to = room($2)
        if (!(from in rank) || !(to in rank)) {
            print $1 ": room " (from in rank ? to : from) " is not in the list"
            next
        }
        if (rank[to] > rank[from])
            print $1 ": includes " $2 ", which is above it"
        if (top(from) == "web" && top(to) != "web" && top(to) != "base" ||
            top(to) == "web" && top(from) != "web" && top(from) != "tsd")
            print $1 ": includes " $2 "; web and the engine know nothing of each other"
        if ($2 ~ /_priv\.h$/ && from != to)
            print $1 ": includes " $2 ", which is private to " to
    }' "$work/includes" >"$work/wrong"
if [ -s "$work/wrong" ]; then
    cat "$work/wrong"
    bad=1
fi

# Units: of FILE the longest header of its folder whose name it begins with.
awk '
    function unit(path,   dir, name, x, best) {
        dir = path; sub("/[^/]*$", "/", dir)
        name = substr(path, length(dir) + 1)
        sub(/\.[a-z]*$/, "", name); sub(/_priv$/, "", name)
        best = ""
        for (x = name; x != ""; ) {
            if ((dir x ".h") in header) { best = x; break }
            if (!match(x, /_[^_]*$/)) break
            x = substr(x, 1, RSTART - 1)
        }
        return dir (best == "" ? name : best)
    }
    NR == FNR {
        if ($1 ~ /\.h$/ && $1 !~ /_priv\.h$/) header[$1] = 1
        next
    }
    index($2, "/") != 0 && unit($1) != unit($2) { print unit($1), unit($2) }
' "$work/files" "$work/includes" | LC_ALL=C sort -u >"$work/edges"
if ! tsort "$work/edges" >/dev/null 2>"$work/circles"; then
    echo "these files include each other in a circle:"
    sed -n 's/^tsort: //p' "$work/circles" | grep -v 'input contains a loop'
    bad=1
fi
exit $bad
