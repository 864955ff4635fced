#!/bin/sh
# rados.sh BUILD: starts a cluster of Ceph, runs the tests that want one, those of BUILD (make
# check-rados) and those of several daemons (pool.sh), and stops it.  See README.md.
here=$(realpath "$(dirname "$0")")
grep -q '^#define HAVE_RADOS' "$1/config.h" || {
    echo "$1 was built without librados"
    exit 77
}
for program in ceph-mon ceph-osd ceph; do
    command -v $program >/dev/null || {
        echo "no $program: install ceph-mon, ceph-osd, ceph-common"
        exit 77
    }
done
CLUSTER_DIR=$(mktemp -d "${TMPDIR:-/tmp}/halite-cluster-XXXXXX") || exit 99
rmdir "$CLUSTER_DIR"
CLUSTER_PORT=${CLUSTER_PORT:-$((20000 + $$ % 120 * 100))}
export CLUSTER_DIR CLUSTER_PORT
trap '"$here/cluster.sh" stop' EXIT
trap 'exit 99' INT TERM
HALITE_TEST_RADOS=$("$here/cluster.sh" start) || exit 99
export HALITE_TEST_RADOS
make -s -C "$1" check-rados || {
    cat "$1/test-suite.log" 2>/dev/null
    exit 1
}
command -v node >/dev/null || {
    echo 'no node: several daemons on one pool were not tried'
    exit 77
}
"$here/pool.sh" "$1/halite"
