#!/bin/sh
# rados.sh BUILD: starts a cluster of Ceph, runs the tests that want one, those of BUILD (make
# check-rados) and those of several daemons (pool.sh), and stops it.  See README.md.
here=$(realpath "$(dirname "$0")")
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
trap 'exit 99' HUP INT TERM
HALITE_TEST_RADOS=$("$here/cluster.sh" start) || exit 99
export HALITE_TEST_RADOS
# Both wait more than they work: the programs of check-rados, three at a time, beside pool.sh's.
make -s -C "$1" -j3 check-rados &
units=$!
status=0
if command -v node >/dev/null; then
    "$here/pool.sh" "$1/halite" || status=1
else
    echo 'no node: several daemons on one pool were not tried'
    status=77
fi
wait $units || {
    cat "$1/test-suite.log" 2>/dev/null
    exit 1
}
exit $status
