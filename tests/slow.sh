#!/bin/sh
# Runs tests on an engine that is slow, times out, and keeps order only within a
# salt bucket (tests/storage/kv/kv_slow.h), in LevelDB's and the memory's place.
#
#     cd build && ../tests/slow.sh        a part: 'make check' has built it
#     cd build && ../tests/slow.sh all    all programs and conversations
#
# Left out: tests/storage/fsck/test_fsck and cases in ON_LEVELDB() are about
# LevelDB's files; test_kv* choose their engines themselves.
srcdir=${srcdir:-..}
HALITE_ENGINE=slow
export HALITE_ENGINE

programs='store/test_store_power store/test_store_spans histogram/test_histogram'
talks='put query durable'
if test "$1" = all; then
    programs='store/test_store store/test_store_crashes store/test_store_power
        store/test_store_scan store/test_store_spans histogram/test_histogram
        row/test_mask'
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

for t in $programs; do
    run "$t" "tests/storage/$t"
done
for t in "$srcdir"/tests/uid/*/test_*.c; do
    t=${t#"$srcdir"/}
    test "$1" = all || test "$t" = tests/uid/names/test_uid.c || continue
    run "$t" "${t%.c}"
done
for t in $talks; do
    t=$(basename "$t" .tst)
    run "$t.tst" tests/e2e/talk tests/halite-slow "$srcdir/tests/e2e/$t.tst"
done
# A kill loses what the engine has not made durable; the WAL must have it.
test "$1" != all || run 'kill -9' "$srcdir/tests/crash/kill9.sh" tests/halite-slow 3
exit $failed
