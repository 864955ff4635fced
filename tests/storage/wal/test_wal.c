#include "storage/wal/wal.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/storage/wal_rig.h"

/* -- replay --------------------------------------------------------------- */

START_TEST(replays_what_was_appended)
{
    struct wal *wal = open_off();

    expect_replay(wal, "");
    (void)append(wal, 1, "one");
    (void)append(wal, 4, "");
    commit(wal, append(wal, 254, "three"), false);
    close_ok(&wal);
    wal = open_off();
    expect_replay(wal, "1:1:one 1:4: 1:254:three ");
    (void)append(wal, 2, "four");
    close_ok(&wal);
    wal = open_off();
    expect_replay(wal, "1:1:one 1:4: 1:254:three 2:2:four ");
    /* The record above was new, so replay had not seen it then. */
    ck_assert_uint_eq(wal_counts(wal).segments, 3);
    close_ok(&wal);
}
END_TEST

START_TEST(empty_segments_do_not_pile_up)
{
    for (int i = 0; i < 3; i++) {
        struct wal *wal = open_off();

        ck_assert_uint_eq(wal_segment_now(wal), 1);
        ck_assert_uint_eq(wal_counts(wal).segments, 1);
        close_ok(&wal);
    }
}
END_TEST

static enum status
fail_at_two(void *ctx, uint64_t segment, uint8_t type, struct slice payload,
            struct error *e)
{
    ++*(int *)ctx;
    return type == 2 ? error_set(e, ST_LIMIT, "enough") : ST_OK;
}

/* What is opened only to be read may be opened again. */
START_TEST(an_empty_wal_can_be_read_again)
{
    struct wal *wal;
    struct error e;

    for (int i = 0; i < 3; i++) {
        struct wal_options o = { .medium = wal_files_new(dir),
                                 .sync = WAL_SYNC_OFF,
                                 .read_only = i > 0 };

        ck_assert_int_eq(wal_open(&o, &wal, &e), ST_OK);
        ck_assert_int_eq(wal_close(&wal, &e), ST_OK);
    }
}
END_TEST

START_TEST(replay_stops_at_the_first_failure)
{
    struct wal *wal = open_off();
    struct error e;
    int seen = 0;

    for (uint8_t type = 1; type <= 3; type++)
        (void)append(wal, type, "x");
    close_ok(&wal);
    wal = open_off();
    ck_assert_int_eq(wal_replay(wal, fail_at_two, &seen, &e), ST_LIMIT);
    ck_assert_str_eq(e.text, "enough");
    ck_assert_int_eq(seen, 2);
    close_ok(&wal);
}
END_TEST

START_TEST(large_records)
{
    struct wal *wal =
        open_with((struct wal_options){ .medium = wal_files_new(dir),
                                        .sync = WAL_SYNC_OFF,
                                        .buffer_bytes = 1000 });
    size_t size = WAL_MAX_PAYLOAD;
    uint8_t *big = malloc(WAL_MAX_PAYLOAD + 1);
    struct error e;
    uint64_t lsn;
    struct buf b = BUF_INIT;

    ck_assert_ptr_nonnull(big);
    memset(big, 'x', size);
    ck_assert_int_eq(wal_append(wal, 0, 1, slice_of(big, size), &lsn, &e),
                     ST_OK);
    ck_assert_int_eq(
        wal_append(wal, 0, 1, slice_of(big, WAL_MAX_PAYLOAD + 1), &lsn, &e),
        ST_LIMIT);
    (void)append(wal, 2, "small");
    close_ok(&wal);
    ck_assert_int_eq(reopen(&b, &e), ST_OK);
    ck_assert_uint_eq(b.size, strlen("1:1: 1:2:small ") + size);
    ck_assert(memcmp(b.data + 4, big, size) == 0);
    buf_fini(&b);
    free(big);
}
END_TEST

/* -- many threads --------------------------------------------------------- */

#define WRITERS 8
#define ROUNDS  400

struct writer {
    struct wal *wal;
    uint32_t id;
    bool sync;
};

static void *
writer_main(void *arg)
{
    struct writer *w = arg;
    uint64_t last = 0;

    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t text[20] = { w->id, i };
        uint64_t lsn, segment = wal_segment_now(w->wal);
        size_t size = 8 + i % 64;

        memcpy((uint8_t *)text + 8, &segment, 8);
        if (wal_wait_for_room(w->wal, NULL) != ST_OK ||
            wal_append(w->wal, 0, 7, slice_of(text, size + 8), &lsn, NULL) !=
                ST_OK ||
            lsn <= last)
            return arg;
        last = lsn;
        if (i % 5 == w->id % 5 &&
            wal_commit(w->wal, lsn, w->sync && i % 50 == 0, NULL) != ST_OK)
            return arg;
        if (w->id == 0 && i % 100 == 99)
            wal_rotate(w->wal);
    }
    return NULL;
}

struct tally {
    uint32_t next[WRITERS];
    uint64_t segment;
};

/* Each writer's records in its order, none missing, in the segment that
 * wal_segment_now() said or a later one. */
static enum status
check_order(void *ctx, uint64_t segment, uint8_t type, struct slice payload,
            struct error *e)
{
    struct tally *t = ctx;
    uint32_t id, i;
    uint64_t promised;

    memcpy(&id, payload.data, 4);
    memcpy(&i, payload.data + 4, 4);
    memcpy(&promised, payload.data + 8, 8);
    if (type != 7 || id >= WRITERS || t->next[id] != i ||
        payload.size != 16 + i % 64 || segment < promised ||
        segment < t->segment)
        return error_set(e, ST_INVALID, "writer %u, record %u", id, i);
    t->next[id]++;
    t->segment = segment;
    return ST_OK;
}

static const struct wal_options modes[] = {
    { .sync = WAL_SYNC_OFF },
    { .sync = WAL_SYNC_OFF, .buffer_bytes = 300, .segment_bytes = 9000 },
    { .sync = WAL_SYNC_INTERVAL, .interval_ms = 1, .segment_bytes = 30000 },
    { .sync = WAL_SYNC_ALWAYS, .segment_bytes = 50000 },
};

START_TEST(threads_keep_their_order)
{
    struct wal_options o = modes[_i];
    struct wal *wal;
    struct writer writers[WRITERS];
    pthread_t threads[WRITERS];
    struct tally t = { 0 };
    struct error e = { 0 };

    o.medium = wal_files_new(dir);
    wal = open_with(o);
    for (uint32_t i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){ wal, i, i % 2 == 0 };
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, writer_main, &writers[i]), 0);
    }
    for (int i = 0; i < WRITERS; i++) {
        void *failed;

        ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
        ck_assert_ptr_null(failed);
    }
    close_ok(&wal);
    wal = open_off();
    ck_assert_msg(wal_replay(wal, check_order, &t, &e) == ST_OK, "%s", e.text);
    for (int i = 0; i < WRITERS; i++)
        ck_assert_uint_eq(t.next[i], ROUNDS);
    close_ok(&wal);
}
END_TEST

/* -- segments ------------------------------------------------------------- */

START_TEST(rotates_and_trims)
{
    struct wal *wal = open_off();
    struct wal_counts c;

    (void)append(wal, 1, "a");
    ck_assert_uint_eq(wal_segment_now(wal), 1);
    wal_rotate(wal);
    ck_assert_uint_eq(wal_segment_now(wal), 2);
    wal_rotate(wal); /* nothing in it: stays */
    ck_assert_uint_eq(wal_segment_now(wal), 2);
    (void)append(wal, 1, "b");
    wal_rotate(wal);
    (void)append(wal, 1, "c");
    commit(wal, append(wal, 1, "d"), false);
    c = wal_counts(wal);
    ck_assert_uint_eq(c.segments, 3);
    /* Bundles of "a", of "b", of "c" and "d", each with a type and a size. */
    ck_assert_uint_eq(c.bytes,
                      3 * WAL_SEGMENT_HEADER + 3 * WAL_RECORD_HEADER + 4 * 3);
    ck_assert_int_eq(wal_trim(wal, 2, NULL), ST_OK);
    ck_assert_uint_eq(wal_counts(wal).segments, 2);
    ck_assert_int_eq(wal_trim(wal, 1, NULL), ST_OK);
    ck_assert_int_eq(wal_trim(wal, 1000, NULL), ST_OK); /* not the current */
    c = wal_counts(wal);
    ck_assert_uint_eq(c.segments, 1);
    ck_assert_uint_eq(c.bytes, WAL_SEGMENT_HEADER + WAL_RECORD_HEADER + 2 * 3);
    close_ok(&wal);
    wal = open_off();
    expect_replay(wal, "3:1:c 3:1:d ");
    ck_assert_uint_eq(wal_segment_now(wal), 4);
    close_ok(&wal);
}
END_TEST

START_TEST(rotates_by_size)
{
    struct wal *wal =
        open_with((struct wal_options){ .medium = wal_files_new(dir),
                                        .sync = WAL_SYNC_OFF,
                                        .segment_bytes = 100 });

    for (int i = 0; i < 10; i++) {
        ck_assert_uint_eq(wal_segment_now(wal), (unsigned)i / 2 + 1);
        commit(wal, append(wal, 1, "thirty-six bytes with all it carries"),
               false);
    }
    ck_assert_uint_eq(wal_counts(wal).segments, 6);
    close_ok(&wal);
}
END_TEST

/* -- syncs and failures --------------------------------------------------- */

static atomic_int faults; /* how many calls still go well */

static ssize_t
write_until(int fd, const void *data, size_t size)
{
    if (atomic_fetch_sub(&faults, 1) <= 0) {
        errno = EIO;
        return -1;
    }
    return write(fd, data, size);
}

static int
sync_until(int fd)
{
    if (atomic_fetch_sub(&faults, 1) <= 0) {
        errno = EIO;
        return -1;
    }
    return fdatasync(fd);
}

static ssize_t
write_fine(int fd, const void *data, size_t size)
{
    return write(fd, data, size);
}

static int
sync_fine(int fd)
{
    return fdatasync(fd);
}

static ssize_t
write_haltingly(int fd, const void *data, size_t size)
{
    if (atomic_fetch_add(&faults, 1) % 2 == 0) {
        errno = EINTR;
        return -1;
    }
    return write(fd, data, size > 3 ? 3 : size);
}

static int
sync_haltingly(int fd)
{
    if (atomic_fetch_add(&faults, 1) % 3 != 0) {
        errno = EINTR;
        return -1;
    }
    return fdatasync(fd);
}

START_TEST(interrupted_and_short_writes)
{
    const struct wal_io io = { write_haltingly, sync_haltingly };
    struct wal *wal = open_off();

    atomic_store(&faults, 0);
    *wal_files_io(wal->medium) = io;
    for (int i = 0; i < 5; i++)
        commit(wal, append(wal, 1, "interrupted"), true);
    close_ok(&wal);
    wal = open_off();
    expect_replay(wal, "1:1:interrupted 1:1:interrupted 1:1:interrupted "
                       "1:1:interrupted 1:1:interrupted ");
    close_ok(&wal);
}
END_TEST

/* Bytes wait from their writing to the end of a sync that began later. */
START_TEST(tells_how_long_bytes_wait)
{
    const struct wal_io failing = { write_fine, sync_until };
    struct wal *wal =
        open_with((struct wal_options){ .medium = wal_files_new(dir),
                                        .sync = WAL_SYNC_INTERVAL,
                                        .interval_ms = 3600000 });
    struct wal_counts before = wal_counts(wal), c;
    struct error e;

    ck_assert_int_eq(before.synced_us, 0);
    ck_assert_int_eq(before.unsynced_us, 0);
    commit(wal, append(wal, 1, "a"), false);
    do
        c = wal_counts(wal);
    while (c.unsynced_us == 0);
    ck_assert_int_eq(c.synced_us, 0);
    commit(wal, append(wal, 1, "b"), true);
    c = wal_counts(wal);
    ck_assert_int_eq(c.unsynced_us, 0);
    ck_assert_int_gt(c.synced_us, 0);
    ck_assert_uint_eq(c.syncs, before.syncs + 1);
    ck_assert_uint_eq(latency_below(wal_sync_latency(wal), 64), 1);
    /* One that fails leaves them waiting. */
    atomic_store(&faults, 0);
    *wal_files_io(wal->medium) = failing;
    ck_assert_int_eq(wal_commit(wal, append(wal, 1, "c"), true, &e), ST_IO);
    ck_assert_int_eq(wal_counts(wal).synced_us, c.synced_us);
    ck_assert_uint_eq(wal_counts(wal).syncs, c.syncs);
    while (wal_counts(wal).unsynced_us == 0)
        ;
    ck_assert_int_eq(wal_close(&wal, &e), ST_IO);
    /* Where none is waited for, none wait. */
    wal = open_off();
    commit(wal, append(wal, 1, "d"), false);
    ck_assert_int_eq(wal_counts(wal).unsynced_us, 0);
    close_ok(&wal);
}
END_TEST

static const struct {
    struct wal_io io;
    enum wal_sync sync;
    int calls; /* for each commit; a mark follows a sync */
    const char *text;
} failures[] = {
    { { write_until, sync_fine }, WAL_SYNC_OFF, 1, "write to the WAL" },
    { { write_until, sync_fine }, WAL_SYNC_ALWAYS, 2, "write to the WAL" },
    { { write_fine, sync_until }, WAL_SYNC_ALWAYS, 1, "sync the WAL" },
};

/* The n-th call fails: what was acknowledged before is there, nothing is
 * acknowledged afterwards, though the disk would be well again. */
START_TEST(a_failure_is_final)
{
    const struct wal_io well = { write_fine, sync_fine };
    struct error e = { 0 }, again = { 0 };

    for (int n = 0; n < 4; n++) {
        struct wal *wal = open_with((struct wal_options){
            .medium = wal_files_new(dir), .sync = failures[_i].sync });
        struct buf records = BUF_INIT;
        uint64_t lsn;

        *wal_files_io(wal->medium) = failures[_i].io;
        atomic_store(&faults, n * failures[_i].calls);
        for (int i = 0; i < n; i++)
            commit(wal, append(wal, 1, "x"), false);
        ck_assert_int_eq(wal_status(wal, &e), ST_OK);
        lsn = append(wal, 1, "x");
        ck_assert_int_eq(wal_commit(wal, lsn, false, &e), ST_IO);
        ck_assert_msg(strstr(e.text, failures[_i].text) != NULL, "%s", e.text);
        *wal_files_io(wal->medium) = well;
        ck_assert_int_eq(wal_append(wal, 0, 1, slice_str("y"), &lsn, &again),
                         ST_IO);
        ck_assert_str_eq(again.text, e.text);
        ck_assert_int_eq(wal_commit(wal, 0, false, &again), ST_IO);
        wal_rotate(wal);
        ck_assert_int_eq(wal_status(wal, &again), ST_IO);
        ck_assert_str_eq(again.text, e.text);
        ck_assert_int_eq(wal_close(&wal, &again), ST_IO);
        ck_assert_ptr_null(wal);
        ck_assert_int_eq(reopen(&records, &e), ST_OK);
        ck_assert_uint_ge(records.size, (size_t)n * strlen("1:1:x "));
        buf_fini(&records);
        teardown();
        setup();
    }
}
END_TEST

/* When all is safe elsewhere it begins anew, and what was in it is gone. */
START_TEST(works_again_after_a_restart)
{
    const struct wal_io well = { write_fine, sync_fine };
    struct error e = { 0 };

    for (int n = 0; n < 3; n++) {
        struct wal *wal = open_with((struct wal_options){
            .medium = wal_files_new(dir), .sync = failures[_i].sync });
        uint64_t lsn;

        ck_assert_int_eq(wal_restart(wal, &e), ST_OK); /* a no-op */
        commit(wal, append(wal, 1, "before"), false);
        ck_assert_uint_eq(wal_segment_now(wal), 1);
        *wal_files_io(wal->medium) = failures[_i].io;
        atomic_store(&faults, n * failures[_i].calls);
        for (int i = 0; i < n; i++)
            commit(wal, append(wal, 1, "x"), false);
        lsn = append(wal, 1, "y");
        ck_assert_int_eq(wal_commit(wal, lsn, true, &e), ST_IO);
        *wal_files_io(wal->medium) = well;
        ck_assert_int_eq(wal_restart(wal, &e), ST_OK);
        ck_assert_int_eq(wal_status(wal, &e), ST_OK);
        commit(wal, lsn, true); /* it is safe now */
        (void)append(wal, 1, "after");
        close_ok(&wal);
        wal = open_off();
        expect_replay(wal, "2:1:after ");
        close_ok(&wal);
        teardown();
        setup();
    }
}
END_TEST

static size_t
open_files(void)
{
    DIR *d = opendir("/proc/self/fd");
    size_t n = 0;

    ck_assert_ptr_nonnull(d);
    while (readdir(d) != NULL)
        n++;
    (void)closedir(d);
    return n;
}

/* The new file is there, and its header cannot be written. */
START_TEST(a_failed_restart_leaves_no_file_open)
{
    const struct wal_io well = { write_fine, sync_fine };
    struct error e = { 0 };
    struct rlimit limit;
    struct wal *wal = open_off();
    uint64_t lsn;
    size_t before;
    rlim_t most;

    *wal_files_io(wal->medium) = failures[0].io;
    atomic_store(&faults, 0);
    lsn = append(wal, 1, "x");
    ck_assert_int_eq(wal_commit(wal, lsn, true, &e), ST_IO);
    *wal_files_io(wal->medium) = well;
    (void)signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    most = limit.rlim_cur;
    limit.rlim_cur = 1;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    before = open_files();
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(wal_restart(wal, &e), ST_IO);
    ck_assert_uint_eq(open_files(), before);
    limit.rlim_cur = most;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(wal_restart(wal, &e), ST_OK);
    close_ok(&wal);
}
END_TEST

/* The kernel itself rejects in the middle of a record. */
START_TEST(a_full_file_leaves_a_torn_tail)
{
    struct wal *wal = open_off();
    struct rlimit limit = { 100, 100 };
    struct error e = { 0 };
    uint64_t lsn;

    (void)signal(SIGXFSZ, SIG_IGN);
    commit(wal, append(wal, 1, "this fits"), false);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    lsn = append(wal, 1,
                 "this is too long for what is left of the file, so a "
                 "chunk of it is written");
    ck_assert_int_eq(wal_commit(wal, lsn, false, &e), ST_IO);
    ck_assert_int_eq(wal_close(&wal, &e), ST_IO);
    wal = open_off();
    expect_replay(wal, "1:1:this fits ");
    close_ok(&wal);
}
END_TEST

START_TEST(cannot_open)
{
    struct buf path = BUF_INIT;
    struct wal_options o = { .sync = WAL_SYNC_OFF };
    struct wal *wal;
    struct error e = { 0 };

    buf_printf(&path, "%s/absent/journal", dir);
    o.medium = wal_files_new(buf_cstr(&path));
    ck_assert_int_eq(wal_open(&o, &wal, &e), ST_IO);
    ck_assert_ptr_null(wal);
    ck_assert_msg(strstr(e.text, "is not there") != NULL, "%s", e.text);
    ck_assert_int_eq(wal_close(&wal, &e), ST_OK);
    buf_fini(&path);
}
END_TEST

START_TEST(syncs_as_its_mode_says)
{
    struct wal *wal = open_off();
    uint64_t lsn = 0;

    for (int i = 0; i < 5; i++)
        commit(wal, lsn = append(wal, 1, "x"), false);
    ck_assert_uint_eq(wal_counts(wal).writes, 5);
    ck_assert_uint_eq(wal_counts(wal).syncs, 0);
    commit(wal, lsn, true);
    commit(wal, lsn, true);
    ck_assert_uint_eq(wal_counts(wal).syncs, 1);
    ck_assert_uint_eq(wal_counts(wal).writes, 6); /* with a mark */
    /* What others appended too. */
    (void)append(wal, 1, "x");
    commit(wal, 0, true);
    ck_assert_uint_eq(wal_counts(wal).syncs, 2);
    close_ok(&wal);
    wal = open_with((struct wal_options){ .medium = wal_files_new(dir),
                                          .sync = WAL_SYNC_ALWAYS });
    for (int i = 0; i < 5; i++)
        (void)append(wal, 1, "x");
    for (int i = 0; i < 5; i++)
        commit(wal, append(wal, 1, "x"), false);
    ck_assert_uint_eq(wal_counts(wal).writes, 10);
    ck_assert_uint_eq(wal_counts(wal).syncs, 5);
    close_ok(&wal);
    wal = open_with((struct wal_options){ .medium = wal_files_new(dir),
                                          .sync = WAL_SYNC_INTERVAL,
                                          .interval_ms = 1000000 });
    for (int i = 0; i < 5; i++)
        commit(wal, append(wal, 1, "x"), false);
    ck_assert_uint_eq(wal_counts(wal).syncs, 0);
    close_ok(&wal);
}
END_TEST

/* The thread commits and syncs by itself what no caller waits for. */
START_TEST(the_interval_thread_syncs)
{
    struct wal *wal =
        open_with((struct wal_options){ .medium = wal_files_new(dir),
                                        .sync = WAL_SYNC_INTERVAL,
                                        .interval_ms = 1 });

    for (uint64_t i = 1; i <= 3; i++) {
        (void)append(wal, 1, "x");
        while (wal_counts(wal).syncs < i)
            (void)sched_yield();
    }
    ck_assert_uint_ge(wal_counts(wal).writes, 3); /* and marks */
    close_ok(&wal);
}
END_TEST

TEST_MAIN_FORKED_WITH(
    setup, teardown, "wal", TEST(replays_what_was_appended),
    TEST(empty_segments_do_not_pile_up), TEST(an_empty_wal_can_be_read_again),
    TEST(replay_stops_at_the_first_failure), TEST(large_records),
    LOOP(threads_keep_their_order, modes), TEST(rotates_and_trims),
    TEST(rotates_by_size), TEST(interrupted_and_short_writes),
    TEST(tells_how_long_bytes_wait), LOOP(a_failure_is_final, failures),
    LOOP(works_again_after_a_restart, failures),
    TEST(a_failed_restart_leaves_no_file_open),
    TEST(a_full_file_leaves_a_torn_tail), TEST(cannot_open),
    TEST(syncs_as_its_mode_says), TEST(the_interval_thread_syncs))
