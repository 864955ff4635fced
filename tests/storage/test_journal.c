#include "config.h"

#include "storage/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "storage/journal_priv.h"
#include "tests/harness.h"

/* -- a folder of its own -------------------------------------------------- */

static char *
folder_make(void)
{
    const char *tmp = getenv("TMPDIR");
    struct buf b = BUF_INIT;

    log_set_level(LOG_ERROR);
    buf_printf(&b, "%s/halite-journal-XXXXXX", tmp == NULL ? "/tmp" : tmp);
    ck_assert_ptr_nonnull(mkdtemp((char *)b.data));
    return (char *)b.data;
}

static void
folder_remove(char **dir)
{
    DIR *d = opendir(*dir);
    struct dirent *entry;

    ck_assert_ptr_nonnull(d);
    while ((entry = readdir(d)) != NULL)
        (void)unlinkat(dirfd(d), entry->d_name, 0);
    (void)closedir(d);
    ck_assert_int_eq(rmdir(*dir), 0);
    free(*dir);
    *dir = NULL;
}

static struct buf
path_of(const char *dir, uint64_t segment)
{
    char name[JOURNAL_NAME_SIZE];
    struct buf b = BUF_INIT;

    journal_name(segment, name);
    buf_printf(&b, "%s/%s", dir, name);
    return b;
}

static struct buf
file_read(const char *dir, uint64_t segment)
{
    struct buf path = path_of(dir, segment), b = BUF_INIT;
    FILE *f = fopen(buf_cstr(&path), "rb");
    uint8_t piece[4096];
    size_t n;

    ck_assert_msg(f != NULL, "no %s", buf_cstr(&path));
    while ((n = fread(piece, 1, sizeof piece, f)) > 0)
        buf_put(&b, piece, n);
    (void)fclose(f);
    buf_fini(&path);
    return b;
}

static void
file_write(const char *dir, uint64_t segment, struct slice bytes)
{
    struct buf path = path_of(dir, segment);
    FILE *f = fopen(buf_cstr(&path), "wb");

    ck_assert_ptr_nonnull(f);
    if (bytes.size > 0)
        ck_assert_uint_eq(fwrite(bytes.data, 1, bytes.size, f), bytes.size);
    ck_assert_int_eq(fclose(f), 0);
    buf_fini(&path);
}

/* Leaves nothing but one segment. */
static void
folder_fill(const char *dir, uint64_t segment, struct slice bytes)
{
    for (uint64_t i = 1; i <= segment + 2; i++) {
        struct buf path = path_of(dir, i);

        (void)unlink(buf_cstr(&path));
        buf_fini(&path);
    }
    file_write(dir, segment, bytes);
}

/* -- short forms ---------------------------------------------------------- */

static struct journal *
open_with(struct journal_options o)
{
    struct journal *j = NULL;
    struct error e = { 0 };

    ck_assert_msg(journal_open(&o, &j, &e) == ST_OK, "%s", e.text);
    return j;
}

static struct journal *
open_off(const char *dir)
{
    return open_with(
        (struct journal_options){ .dir = dir, .sync = JOURNAL_SYNC_OFF });
}

static void
close_ok(struct journal **j)
{
    struct error e = { 0 };

    ck_assert_msg(journal_close(j, &e) == ST_OK, "%s", e.text);
    ck_assert_ptr_null(*j);
}

static uint64_t
append(struct journal *j, uint8_t type, const char *text)
{
    uint64_t lsn = 0;
    struct error e = { 0 };

    ck_assert_msg(journal_append(j, type, slice_str(text), &lsn, &e) == ST_OK,
                  "%s", e.text);
    return lsn;
}

static void
commit(struct journal *j, uint64_t lsn, bool sync)
{
    struct error e = { 0 };

    ck_assert_msg(journal_commit(j, lsn, sync, &e) == ST_OK, "%s", e.text);
}

/* "segment:type:payload " of each record. */
static enum status
note(void *ctx, uint64_t segment, uint8_t type, struct slice payload,
     struct error *e)
{
    buf_printf(ctx, "%d:%d:%.*s ", (int)segment, type, SLICE_ARG(payload));
    return ST_OK;
}

static void
expect_replay(struct journal *j, const char *expected)
{
    struct buf b = BUF_INIT;
    struct error e = { 0 };

    ck_assert_msg(journal_replay(j, note, &b, &e) == ST_OK, "%s", e.text);
    ck_assert_str_eq(buf_cstr(&b), expected);
    buf_fini(&b);
}

/* Opens and replays: the status, and the records that came before it. */
static enum status
reopen(const char *dir, struct buf *records, struct error *e)
{
    const struct journal_options o = { .dir = dir, .sync = JOURNAL_SYNC_OFF };
    struct journal *j;
    enum status st = journal_open(&o, &j, e);

    buf_clear(records);
    if (st != ST_OK)
        return st;
    st = journal_replay(j, note, records, e);
    close_ok(&j);
    return st;
}

/* -- replay --------------------------------------------------------------- */

START_TEST(replays_what_was_appended)
{
    char *dir = folder_make();
    struct journal *j = open_off(dir);

    expect_replay(j, "");
    (void)append(j, 1, "one");
    (void)append(j, 0, "");
    commit(j, append(j, 255, "three"), false);
    close_ok(&j);
    j = open_off(dir);
    expect_replay(j, "1:1:one 1:0: 1:255:three ");
    (void)append(j, 2, "four");
    close_ok(&j);
    j = open_off(dir);
    expect_replay(j, "1:1:one 1:0: 1:255:three 2:2:four ");
    /* The record above was new, so replay had not seen it then. */
    ck_assert_uint_eq(journal_counts(j).segments, 3);
    close_ok(&j);
    folder_remove(&dir);
}
END_TEST

START_TEST(empty_segments_do_not_pile_up)
{
    char *dir = folder_make();

    for (int i = 0; i < 3; i++) {
        struct journal *j = open_off(dir);

        ck_assert_uint_eq(journal_segment(j), 1);
        ck_assert_uint_eq(journal_counts(j).segments, 1);
        close_ok(&j);
    }
    folder_remove(&dir);
}
END_TEST

static enum status
fail_at_two(void *ctx, uint64_t segment, uint8_t type, struct slice payload,
            struct error *e)
{
    ++*(int *)ctx;
    return type == 2 ? error_set(e, ST_LIMIT, "enough") : ST_OK;
}

START_TEST(replay_stops_at_the_first_failure)
{
    char *dir = folder_make();
    struct journal *j = open_off(dir);
    struct error e;
    int seen = 0;

    for (uint8_t type = 1; type <= 3; type++)
        (void)append(j, type, "x");
    close_ok(&j);
    j = open_off(dir);
    ck_assert_int_eq(journal_replay(j, fail_at_two, &seen, &e), ST_LIMIT);
    ck_assert_str_eq(e.text, "enough");
    ck_assert_int_eq(seen, 2);
    close_ok(&j);
    folder_remove(&dir);
}
END_TEST

START_TEST(large_records)
{
    char *dir = folder_make();
    struct journal *j = open_with((struct journal_options){
        .dir = dir, .sync = JOURNAL_SYNC_OFF, .buffer_bytes = 1000 });
    size_t size = 3 << 20;
    uint8_t *big = malloc(JOURNAL_MAX_PAYLOAD + 1);
    struct error e;
    uint64_t lsn;
    struct buf b = BUF_INIT;

    ck_assert_ptr_nonnull(big);
    memset(big, 'x', size);
    ck_assert_int_eq(journal_append(j, 1, slice_of(big, size), &lsn, &e),
                     ST_OK);
    ck_assert_int_eq(
        journal_append(j, 1, slice_of(big, JOURNAL_MAX_PAYLOAD + 1), &lsn, &e),
        ST_LIMIT);
    (void)append(j, 2, "small");
    close_ok(&j);
    ck_assert_int_eq(reopen(dir, &b, &e), ST_OK);
    ck_assert_uint_eq(b.size, strlen("1:1: 1:2:small ") + size);
    ck_assert(memcmp(b.data + 4, big, size) == 0);
    buf_fini(&b);
    free(big);
    folder_remove(&dir);
}
END_TEST

/* -- many threads --------------------------------------------------------- */

#define WRITERS 8
#define ROUNDS  400

struct writer {
    struct journal *j;
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
        uint64_t lsn, segment = journal_segment(w->j);
        size_t size = 8 + i % 64;

        memcpy((uint8_t *)text + 8, &segment, 8);
        if (journal_append(w->j, 7, slice_of(text, size + 8), &lsn, NULL) !=
                ST_OK ||
            lsn <= last)
            return arg;
        last = lsn;
        if (i % 5 == w->id % 5 &&
            journal_commit(w->j, lsn, w->sync && i % 50 == 0, NULL) != ST_OK)
            return arg;
        if (w->id == 0 && i % 100 == 99)
            journal_rotate(w->j);
    }
    return NULL;
}

struct tally {
    uint32_t next[WRITERS];
    uint64_t segment;
};

/* Each writer's records in its order, none missing, in the segment that
 * journal_segment() said or a later one. */
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

static const struct journal_options modes[] = {
    { .sync = JOURNAL_SYNC_OFF },
    { .sync = JOURNAL_SYNC_OFF, .buffer_bytes = 300, .segment_bytes = 9000 },
    { .sync = JOURNAL_SYNC_INTERVAL, .interval_ms = 1, .segment_bytes = 30000 },
    { .sync = JOURNAL_SYNC_ALWAYS, .segment_bytes = 50000 },
};

START_TEST(threads_keep_their_order)
{
    char *dir = folder_make();
    struct journal_options o = modes[_i];
    struct journal *j;
    struct writer writers[WRITERS];
    pthread_t threads[WRITERS];
    struct tally t = { 0 };
    struct error e = { 0 };

    o.dir = dir;
    j = open_with(o);
    for (uint32_t i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){ j, i, i % 2 == 0 };
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, writer_main, &writers[i]), 0);
    }
    for (int i = 0; i < WRITERS; i++) {
        void *failed;

        ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
        ck_assert_ptr_null(failed);
    }
    close_ok(&j);
    j = open_off(dir);
    ck_assert_msg(journal_replay(j, check_order, &t, &e) == ST_OK, "%s",
                  e.text);
    for (int i = 0; i < WRITERS; i++)
        ck_assert_uint_eq(t.next[i], ROUNDS);
    close_ok(&j);
    folder_remove(&dir);
}
END_TEST

/* -- damage --------------------------------------------------------------- */

/* Three records, and where each ends in the file. */
static struct buf
sample(const char *dir, size_t ends[3])
{
    struct journal *j = open_off(dir);
    static const char *const texts[] = { "first", "the second record", "3" };
    struct buf b;

    ends[0] = JOURNAL_FILE_HEADER;
    for (int i = 0; i < 3; i++) {
        ends[i] = (i == 0 ? JOURNAL_FILE_HEADER : ends[i - 1]) +
                  JOURNAL_RECORD_HEADER + strlen(texts[i]);
        (void)append(j, (uint8_t)(i + 1), texts[i]);
    }
    close_ok(&j);
    b = file_read(dir, 1);
    ck_assert_uint_eq(b.size, ends[2]);
    return b;
}

static const char *const prefixes[] = {
    "",
    "1:1:first ",
    "1:1:first 1:2:the second record ",
    "1:1:first 1:2:the second record 1:3:3 ",
};

/* How many records end at or before 'size'. */
static int
whole_records(const size_t ends[3], size_t size)
{
    int n = 0;

    while (n < 3 && ends[n] <= size)
        n++;
    return n;
}

START_TEST(cut_at_every_byte)
{
    char *dir = folder_make();
    size_t ends[3];
    struct buf whole = sample(dir, ends), records = BUF_INIT;

    for (size_t size = 0; size <= whole.size; size++) {
        int n = whole_records(ends, size);
        struct error e = { 0 };
        struct buf left;

        folder_fill(dir, 1, slice_of(whole.data, size));
        ck_assert_msg(reopen(dir, &records, &e) == ST_OK, "%zu: %s", size,
                      e.text);
        ck_assert_str_eq(buf_cstr(&records), prefixes[n]);
        left = file_read(dir, 1);
        ck_assert_uint_eq(left.size,
                          n == 0 ? JOURNAL_FILE_HEADER : ends[n - 1]);
        buf_fini(&left);
    }
    buf_fini(&records);
    buf_fini(&whole);
    folder_remove(&dir);
}
END_TEST

/* The file has its length, but zeros from some byte on. */
START_TEST(zeros_from_every_byte)
{
    char *dir = folder_make();
    size_t ends[3];
    struct buf whole = sample(dir, ends), records = BUF_INIT;

    for (size_t size = 0; size < whole.size; size++) {
        struct buf cut = BUF_INIT;
        struct error e = { 0 };
        enum status st;

        buf_put(&cut, whole.data, size);
        while (cut.size < whole.size + 5000)
            buf_put_u8(&cut, 0);
        folder_fill(dir, 1, buf_slice(&cut));
        st = reopen(dir, &records, &e);
        /* A header is synced before the first record: half of one is damage. */
        if (size > 0 && size < JOURNAL_FILE_HEADER) {
            bool same = memcmp(cut.data, whole.data, JOURNAL_FILE_HEADER) == 0;

            ck_assert_int_eq(st, same ? ST_OK : ST_CORRUPT);
        } else {
            int n = whole_records(ends, size);

            ck_assert_msg(st == ST_OK, "%zu: %s", size, e.text);
            /* The last bytes may have been zeros anyway. */
            ck_assert(strncmp(buf_cstr(&records), prefixes[n],
                              strlen(prefixes[n])) == 0);
        }
        buf_fini(&cut);
    }
    buf_fini(&records);
    buf_fini(&whole);
    folder_remove(&dir);
}
END_TEST

static size_t
record_start(const size_t ends[3], size_t at)
{
    int n = whole_records(ends, at);

    if (at < JOURNAL_FILE_HEADER)
        return 0;
    return n == 0 ? JOURNAL_FILE_HEADER : ends[n - 1];
}

/* In the last file: damage before a whole record is refused with its place, in
 * the last record it cannot be told from a torn tail. */
START_TEST(flip_every_bit_of_the_last_file)
{
    char *dir = folder_make();
    size_t ends[3];
    struct buf whole = sample(dir, ends), records = BUF_INIT;

    for (size_t bit = 0; bit < whole.size * 8; bit++) {
        struct error e = { 0 };
        char place[64];
        enum status st;

        whole.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        folder_fill(dir, 1, buf_slice(&whole));
        whole.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        st = reopen(dir, &records, &e);
        if (bit / 8 >= ends[1]) {
            ck_assert_msg(st == ST_OK, "bit %zu: %s", bit, e.text);
            ck_assert_str_eq(buf_cstr(&records), prefixes[2]);
            continue;
        }
        ck_assert_msg(st == ST_CORRUPT, "bit %zu: %d", bit, st);
        (void)snprintf(place, sizeof place,
                       "/00000000000000000001.wal at offset %zu:",
                       record_start(ends, bit / 8));
        ck_assert_msg(strstr(e.text, place) != NULL, "bit %zu: %s", bit,
                      e.text);
    }
    buf_fini(&records);
    buf_fini(&whole);
    folder_remove(&dir);
}
END_TEST

/* In a file that is not the last, any flip and any cut is damage. */
START_TEST(damage_before_the_last_file)
{
    char *dir = folder_make();
    size_t ends[3];
    struct buf whole = sample(dir, ends), records = BUF_INIT, second;
    struct journal *j = open_off(dir);

    (void)append(j, 9, "later");
    close_ok(&j);
    second = file_read(dir, 2);
    for (size_t at = 0; at < whole.size; at++) {
        struct error e = { 0 };
        bool cut_between = whole_records(ends, at) > 0 &&
                           ends[whole_records(ends, at) - 1] == at;

        whole.data[at] ^= 0x10;
        folder_fill(dir, 1, buf_slice(&whole));
        whole.data[at] ^= 0x10;
        file_write(dir, 2, buf_slice(&second));
        ck_assert_int_eq(reopen(dir, &records, &e), ST_CORRUPT);
        ck_assert_msg(strstr(e.text, "1.wal at offset ") != NULL, "%s", e.text);
        folder_fill(dir, 1, slice_of(whole.data, at));
        file_write(dir, 2, buf_slice(&second));
        if (!cut_between && at != JOURNAL_FILE_HEADER)
            ck_assert_int_eq(reopen(dir, &records, &e), ST_CORRUPT);
    }
    buf_fini(&second);
    buf_fini(&records);
    buf_fini(&whole);
    folder_remove(&dir);
}
END_TEST

START_TEST(a_missing_file_is_damage)
{
    char *dir = folder_make();
    struct journal *j = open_off(dir);
    struct buf path = path_of(dir, 2), records = BUF_INIT;
    struct error e = { 0 };

    for (int i = 0; i < 3; i++) {
        (void)append(j, 1, "x");
        journal_rotate(j);
    }
    close_ok(&j);
    ck_assert_int_eq(unlink(buf_cstr(&path)), 0);
    ck_assert_int_eq(reopen(dir, &records, &e), ST_CORRUPT);
    ck_assert_msg(strstr(e.text, "segment 2 is missing") != NULL, "%s", e.text);
    buf_fini(&path);
    folder_remove(&dir);
}
END_TEST

/* Bytes of another segment, or of another journal, are no records here. */
START_TEST(foreign_bytes_are_no_records)
{
    char *dir = folder_make();
    size_t ends[3];
    struct buf a = sample(dir, ends), b, records = BUF_INIT;
    struct error e = { 0 };

    folder_fill(dir, 1, slice_of(a.data, 0));
    b = sample(dir, ends); /* the same number and records, another nonce */
    ck_assert_uint_eq(a.size, b.size);
    memcpy(b.data + ends[0], a.data + ends[0], ends[2] - ends[0]);
    folder_fill(dir, 1, buf_slice(&b));
    ck_assert_msg(reopen(dir, &records, &e) == ST_OK, "%s", e.text);
    ck_assert_str_eq(buf_cstr(&records), prefixes[1]);
    folder_fill(dir, 2, buf_slice(&a)); /* a file under another name */
    ck_assert_int_eq(reopen(dir, &records, &e), ST_CORRUPT);
    buf_fini(&a);
    buf_fini(&b);
    buf_fini(&records);
    folder_remove(&dir);
}
END_TEST

/* After a crash and a cut, life goes on behind the cut. */
START_TEST(appends_after_a_torn_tail)
{
    char *dir = folder_make();
    size_t ends[3];
    struct buf whole = sample(dir, ends);
    struct journal *j;

    folder_fill(dir, 1, slice_of(whole.data, ends[1] + 3));
    j = open_off(dir);
    expect_replay(j, prefixes[2]);
    (void)append(j, 4, "more");
    close_ok(&j);
    j = open_off(dir);
    expect_replay(j, "1:1:first 1:2:the second record 2:4:more ");
    close_ok(&j);
    buf_fini(&whole);
    folder_remove(&dir);
}
END_TEST

/* -- segments ------------------------------------------------------------- */

START_TEST(rotates_and_trims)
{
    char *dir = folder_make();
    struct journal *j = open_off(dir);
    struct journal_counts c;

    (void)append(j, 1, "a");
    ck_assert_uint_eq(journal_segment(j), 1);
    journal_rotate(j);
    ck_assert_uint_eq(journal_segment(j), 2);
    journal_rotate(j); /* nothing in it: stays */
    ck_assert_uint_eq(journal_segment(j), 2);
    (void)append(j, 1, "b");
    journal_rotate(j);
    (void)append(j, 1, "c");
    commit(j, append(j, 1, "d"), false);
    c = journal_counts(j);
    ck_assert_uint_eq(c.segments, 3);
    ck_assert_uint_eq(c.bytes, 3 * JOURNAL_FILE_HEADER +
                                   4 * (JOURNAL_RECORD_HEADER + 1));
    ck_assert_uint_eq(c.appended_bytes, 4 * (JOURNAL_RECORD_HEADER + 1));
    ck_assert_uint_eq(c.written_bytes, c.appended_bytes);
    ck_assert_int_eq(journal_trim(j, 2, NULL), ST_OK);
    ck_assert_uint_eq(journal_counts(j).segments, 2);
    ck_assert_int_eq(journal_trim(j, 1, NULL), ST_OK);
    ck_assert_int_eq(journal_trim(j, 1000, NULL), ST_OK); /* not the current */
    c = journal_counts(j);
    ck_assert_uint_eq(c.segments, 1);
    ck_assert_uint_eq(c.bytes,
                      JOURNAL_FILE_HEADER + 2 * (JOURNAL_RECORD_HEADER + 1));
    close_ok(&j);
    j = open_off(dir);
    expect_replay(j, "3:1:c 3:1:d ");
    ck_assert_uint_eq(journal_segment(j), 4);
    close_ok(&j);
    folder_remove(&dir);
}
END_TEST

START_TEST(rotates_by_size)
{
    char *dir = folder_make();
    struct journal *j = open_with((struct journal_options){
        .dir = dir, .sync = JOURNAL_SYNC_OFF, .segment_bytes = 100 });

    for (int i = 0; i < 10; i++) {
        ck_assert_uint_eq(journal_segment(j), (unsigned)i / 2 + 1);
        commit(j, append(j, 1, "thirty-six bytes with all it carries"), false);
    }
    ck_assert_uint_eq(journal_counts(j).segments, 6);
    close_ok(&j);
    folder_remove(&dir);
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
    const struct journal_io io = { write_haltingly, sync_haltingly };
    char *dir = folder_make();
    struct journal *j = open_off(dir);

    atomic_store(&faults, 0);
    journal_set_io(j, &io);
    for (int i = 0; i < 5; i++)
        commit(j, append(j, 1, "interrupted"), true);
    close_ok(&j);
    j = open_off(dir);
    expect_replay(j, "1:1:interrupted 1:1:interrupted 1:1:interrupted "
                     "1:1:interrupted 1:1:interrupted ");
    close_ok(&j);
    folder_remove(&dir);
}
END_TEST

static const struct {
    struct journal_io io;
    enum journal_sync sync;
    const char *text;
} failures[] = {
    { { write_until, sync_fine }, JOURNAL_SYNC_OFF, "write to the journal" },
    { { write_until, sync_fine }, JOURNAL_SYNC_ALWAYS, "write to the journal" },
    { { write_fine, sync_until }, JOURNAL_SYNC_ALWAYS, "sync the journal" },
};

/* The n-th call fails: what was acknowledged before is there, nothing is
 * acknowledged afterwards, though the disk would be well again. */
START_TEST(a_failure_is_final)
{
    const struct journal_io well = { write_fine, sync_fine };
    struct error e = { 0 }, again = { 0 };

    log_set_level(LOG_ERROR);
    for (int n = 0; n < 4; n++) {
        char *dir = folder_make();
        struct journal *j = open_with(
            (struct journal_options){ .dir = dir, .sync = failures[_i].sync });
        struct buf records = BUF_INIT;
        uint64_t lsn;

        journal_set_io(j, &failures[_i].io);
        atomic_store(&faults, n);
        for (int i = 0; i < n; i++)
            commit(j, append(j, 1, "x"), false);
        ck_assert_int_eq(journal_status(j, &e), ST_OK);
        lsn = append(j, 1, "x");
        ck_assert_int_eq(journal_commit(j, lsn, false, &e), ST_IO);
        ck_assert_msg(strstr(e.text, failures[_i].text) != NULL, "%s", e.text);
        journal_set_io(j, &well);
        ck_assert_int_eq(journal_append(j, 1, slice_str("y"), &lsn, &again),
                         ST_IO);
        ck_assert_str_eq(again.text, e.text);
        ck_assert_int_eq(journal_commit(j, 0, false, &again), ST_IO);
        journal_rotate(j);
        ck_assert_int_eq(journal_status(j, &again), ST_IO);
        ck_assert_str_eq(again.text, e.text);
        ck_assert_int_eq(journal_close(&j, &again), ST_IO);
        ck_assert_ptr_null(j);
        ck_assert_int_eq(reopen(dir, &records, &e), ST_OK);
        ck_assert_uint_ge(records.size, (size_t)n * strlen("1:1:x "));
        buf_fini(&records);
        folder_remove(&dir);
    }
}
END_TEST

/* The kernel itself refuses in the middle of a record. */
START_TEST(a_full_file_leaves_a_torn_tail)
{
    char *dir = folder_make();
    struct journal *j = open_off(dir);
    struct rlimit limit = { 100, 100 };
    struct error e = { 0 };
    uint64_t lsn;

    (void)signal(SIGXFSZ, SIG_IGN);
    commit(j, append(j, 1, "this fits"), false);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    lsn = append(j, 1,
                 "this is too long for what is left of the file, so a "
                 "piece of it is written");
    ck_assert_int_eq(journal_commit(j, lsn, false, &e), ST_IO);
    ck_assert_int_eq(journal_close(&j, &e), ST_IO);
    j = open_off(dir);
    expect_replay(j, "1:1:this fits ");
    close_ok(&j);
    folder_remove(&dir);
}
END_TEST

START_TEST(cannot_open)
{
    char *dir = folder_make();
    struct buf path = BUF_INIT;
    struct journal_options o = { .sync = JOURNAL_SYNC_OFF };
    struct journal *j;
    struct error e = { 0 };

    buf_printf(&path, "%s/absent/journal", dir);
    o.dir = buf_cstr(&path);
    ck_assert_int_eq(journal_open(&o, &j, &e), ST_IO);
    ck_assert_ptr_null(j);
    ck_assert_msg(strstr(e.text, "No such file") != NULL, "%s", e.text);
    ck_assert_int_eq(journal_close(&j, &e), ST_OK);
    buf_fini(&path);
    folder_remove(&dir);
}
END_TEST

START_TEST(syncs_as_its_mode_says)
{
    char *dir = folder_make();
    struct journal *j = open_off(dir);
    uint64_t lsn = 0;

    for (int i = 0; i < 5; i++)
        commit(j, lsn = append(j, 1, "x"), false);
    ck_assert_uint_eq(journal_counts(j).writes, 5);
    ck_assert_uint_eq(journal_counts(j).syncs, 0);
    commit(j, lsn, true);
    commit(j, lsn, true);
    ck_assert_uint_eq(journal_counts(j).syncs, 1);
    close_ok(&j);
    j = open_with(
        (struct journal_options){ .dir = dir, .sync = JOURNAL_SYNC_ALWAYS });
    for (int i = 0; i < 5; i++)
        (void)append(j, 1, "x");
    for (int i = 0; i < 5; i++)
        commit(j, append(j, 1, "x"), false);
    ck_assert_uint_eq(journal_counts(j).writes, 5);
    ck_assert_uint_eq(journal_counts(j).syncs, 5);
    close_ok(&j);
    j = open_with((struct journal_options){
        .dir = dir, .sync = JOURNAL_SYNC_INTERVAL, .interval_ms = 1000000 });
    for (int i = 0; i < 5; i++)
        commit(j, append(j, 1, "x"), false);
    ck_assert_uint_eq(journal_counts(j).syncs, 0);
    close_ok(&j);
    folder_remove(&dir);
}
END_TEST

/* The thread commits and syncs by itself what nobody waits for. */
START_TEST(the_interval_thread_syncs)
{
    char *dir = folder_make();
    struct journal *j = open_with((struct journal_options){
        .dir = dir, .sync = JOURNAL_SYNC_INTERVAL, .interval_ms = 1 });

    for (uint64_t i = 1; i <= 3; i++) {
        (void)append(j, 1, "x");
        while (journal_counts(j).syncs < i)
            (void)sched_yield();
    }
    ck_assert_uint_eq(journal_counts(j).writes, 3);
    close_ok(&j);
    folder_remove(&dir);
}
END_TEST

TEST_MAIN("journal", TEST(replays_what_was_appended),
          TEST(empty_segments_do_not_pile_up),
          TEST(replay_stops_at_the_first_failure), TEST(large_records),
          LOOP(threads_keep_their_order, modes), TEST(cut_at_every_byte),
          TEST(zeros_from_every_byte), TEST(flip_every_bit_of_the_last_file),
          TEST(damage_before_the_last_file), TEST(a_missing_file_is_damage),
          TEST(foreign_bytes_are_no_records), TEST(appends_after_a_torn_tail),
          TEST(rotates_and_trims), TEST(rotates_by_size),
          TEST(interrupted_and_short_writes),
          LOOP(a_failure_is_final, failures),
          TEST(a_full_file_leaves_a_torn_tail), TEST(cannot_open),
          TEST(syncs_as_its_mode_says), TEST(the_interval_thread_syncs))
