#!/bin/sh
# Runs tests on an engine that is slow, times out, and keeps order only within a
# salt bucket (tests/storage/kv/kv_slow.h), in LevelDB's and the memory's place.
#
#     cd build && ../tests/slow.sh        a part: 'make check' has built it
#     cd build && ../tests/slow.sh all    all suites and conversations
#
# Left out: tests/storage/fsck/test_fsck and cases in ON_LEVELDB() are about
# LevelDB's files; test_kv* choose their engines themselves.
srcdir=${srcdir:-..}
HALITE_ENGINE=slow
export HALITE_ENGINE

storage=test_histogram store='test_store_power test_store_spans' uid="test_uid test_uid_many"
talks='put query durable'
if test "$1" = all; then
    storage='test_histogram test_mask'
    # A purge of a store that others may have asks them, and there are none to ask.
    uid=$(cd "$srcdir/tests/uid" && basename -a -s .c ./*/test_*.c | grep -v '^test_purge$')
    store='test_store test_store_crashes test_store_power test_store_scan test_store_spans'
    # Which of the first two fit this build is known to make alone; they are about no store.
    # Where processes share an engine, expired rows go two minutes after it is written down.
    talks=$(cd "$srcdir/tests/e2e" && echo ./*.tst |
        sed -E 's:\./(page|graph|retention)[a-z_]*\.tst::g')
fi

failed=0
# run NAME COMMAND...: shows what it says when it fails.
run()
{
    name=$1
    shift
    if ! said=$("$@" 2>&1); then
        echo "$said" | head -n 2 | cut -c 1-500
        echo "$said" | tail -n 20
        echo "on the slow engine: $name failed"
        failed=1
    fi
}

run storage env HALITE_SUITES="$storage" tests/storage/unit
run storage/store env HALITE_SUITES="$store" tests/storage/store/unit
run uid env HALITE_SUITES="$uid" tests/uid/unit
how=$1
set --
for t in $talks; do
    set -- "$@" "$srcdir/tests/e2e/$(basename "$t" .tst).tst"
done
run conversations tests/e2e/talk tests/halite-slow "$@"
# A kill loses what the engine has not made durable; the WAL must have it.
test "$how" != all || run 'kill -9' "$srcdir/tests/crash/kill9.sh" tests/halite-slow 3
exit $failed
