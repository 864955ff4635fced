/* Operations, locks, watches and fences on a real cluster; and each failure
 * that a cluster seldom shows. */
#include "storage/rados/ceph.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/process/clock.h"
#include "storage/rados/ceph_lock.h"
#include "storage/rados/ceph_watch.h"
#include "tests/storage/rados/rados_rig.h"

#define S(literal) slice_of((literal), sizeof(literal) - 1)

struct fixture {
    struct rados_rig rig;
    struct ceph *c, *other;
};

static struct fixture
setup(void)
{
    struct fixture f = { .rig = rados_rig_new("") };
    struct error e = { 0 };

    ck_assert_msg(ceph_open(f.rig.at, &f.c, &e) == ST_OK, "%s", e.text);
    ck_assert_msg(ceph_open(f.rig.other, &f.other, &e) == ST_OK, "%s", e.text);
    return f;
}

static void
teardown(struct fixture *f)
{
    ceph_close(&f->c);
    ceph_close(&f->other);
    rados_rig_free(&f->rig);
}

static const struct {
    const char *at;
    enum status st;
} texts[] = {
    { "tsdb", ST_OK },
    { "tsdb/ns", ST_OK },
    { "tsdb/ns?conf=/a/b&id=halite&timeout=3&connection=7", ST_OK },
    { "tsdb?conf=/a", ST_OK },
    { "", ST_INVALID },
    { "/ns", ST_INVALID },
    { "?conf=/a", ST_INVALID },
    { "tsdb?timeout=0", ST_INVALID },
    { "tsdb?timeout=3x", ST_INVALID },
    { "tsdb?timeout=-1", ST_INVALID },
    { "tsdb?keyring=/a", ST_INVALID },
};

START_TEST(texts_are_checked)
{
    struct error e = { 0 };

    ck_assert_msg(ceph_check(texts[_i].at, &e) == texts[_i].st, "%s: %s",
                  texts[_i].at, e.text);
}
END_TEST

START_TEST(equal_texts_share_a_connection)
{
    struct fixture f = setup();
    struct ceph *again;

    ck_assert_int_eq(ceph_open(f.rig.at, &again, NULL), ST_OK);
    ck_assert_ptr_eq(again, f.c);
    ck_assert_ptr_ne(f.other, f.c);
    ceph_close(&again);
    ck_assert_ptr_null(again);
    teardown(&f);
}
END_TEST

START_TEST(what_is_not_there_is_told)
{
    struct fixture f = setup();
    struct ceph *c;
    struct error e = { 0 };
    struct buf out = BUF_INIT;
    char at[600];

    ck_assert_int_eq(ceph_read(f.c, "none", 0, 10, &out, &e), ST_NOT_FOUND);
    ck_assert_int_eq(ceph_get_omap(f.c, "none", S("k"), &out, &e),
                     ST_NOT_FOUND);
    ck_assert_int_eq(ceph_get_xattr(f.c, "none", "k", &out, &e), ST_NOT_FOUND);
    ck_assert_int_eq(ceph_remove(f.c, "none", &e), ST_OK);
    (void)snprintf(at, sizeof at, "no-such-pool?conf=%s", rados_rig_conf());
    ck_assert_int_eq(ceph_open(at, &c, &e), ST_IO);
    ck_assert_msg(strstr(e.text, "ceph osd pool create") != NULL, "%s", e.text);
    ck_assert_int_eq(ceph_open("tsdb?conf=/no/such/file", &c, &e), ST_IO);
    ck_assert_msg(strstr(e.text, "conf=") != NULL, "%s", e.text);
    ck_assert_ptr_null(c);
    buf_fini(&out);
    teardown(&f);
}
END_TEST

static enum status
append(struct ceph *c, const char *epoch, struct slice bytes)
{
    struct ceph_op *op = ceph_write_new(c);

    ceph_write_expect_xattr(op, "epoch", slice_str(epoch));
    ceph_write_append(op, bytes);
    return ceph_op_run(op, "j.1", NULL);
}

/* What a write-ahead log does: create, append while the epoch is ours. */
START_TEST(appends_are_guarded)
{
    struct fixture f = setup();
    struct buf out = BUF_INIT;
    struct ceph_op *op;
    uint64_t size;

    for (int i = 0; i < 2; i++) {
        op = ceph_write_new(f.c);
        ceph_write_create(op, true);
        ceph_write_set_xattr(op, "epoch", S("1"));
        ck_assert_int_eq(ceph_op_run(op, "j.1", NULL),
                         i == 0 ? ST_OK : ST_CONFLICT);
    }
    ck_assert_int_eq(append(f.c, "1", S("abc")), ST_OK);
    ck_assert_int_eq(append(f.c, "1", S("def")), ST_OK);
    op = ceph_write_new(f.other);
    ceph_write_set_xattr(op, "epoch", S("2"));
    ck_assert_int_eq(ceph_op_run(op, "j.1", NULL), ST_OK);
    ck_assert_int_eq(append(f.c, "1", S("ghi")), ST_CONFLICT);
    ck_assert_int_eq(ceph_read(f.c, "j.1", 0, 100, &out, NULL), ST_OK);
    ck_assert(slice_eq(buf_slice(&out), S("abcdef")));
    ck_assert_int_eq(ceph_size(f.c, "j.1", &size, NULL), ST_OK);
    ck_assert_uint_eq(size, 6);
    ck_assert_int_eq(ceph_get_xattr(f.c, "j.1", "epoch", &out, NULL), ST_OK);
    ck_assert(slice_eq(buf_slice(&out), S("2")));
    buf_fini(&out);
    teardown(&f);
}
END_TEST

#define KEYS 2500

static enum status
count_key(void *ctx, struct slice key, struct slice value, struct error *e)
{
    unsigned *n = ctx;
    char expected[16];

    (void)e;
    (void)snprintf(expected, sizeof expected, "k%05u", *n);
    ck_assert(slice_eq_str(key, expected));
    ck_assert_uint_eq(value.size, *n % 7);
    ++*n;
    return ST_OK;
}

START_TEST(omaps_are_read_in_pages_and_by_keys)
{
    static char names[KEYS][16];
    static struct slice keys[KEYS], values[KEYS];
    struct fixture f = setup();
    struct ceph_op *op = ceph_write_new(f.c);
    struct slice some[] = { S("k00003"), S("nope"), S("k02499") };
    struct slice key, value;
    unsigned n = 0;

    for (int i = 0; i < KEYS; i++) {
        (void)snprintf(names[i], sizeof names[i], "k%05d", i);
        keys[i] = slice_str(names[i]);
        values[i] = slice_of("\0\1\2\3\4\5", (size_t)i % 7);
    }
    ceph_write_omap_set(op, keys, values, KEYS);
    ck_assert_int_eq(ceph_op_run(op, "o", NULL), ST_OK);
    ck_assert_int_eq(ceph_each_omap(f.c, "o", count_key, &n, NULL), ST_OK);
    ck_assert_uint_eq(n, KEYS);
    n = 0;
    ck_assert_int_eq(ceph_each_omap(f.c, "none", count_key, &n, NULL), ST_OK);
    ck_assert_uint_eq(n, 0);

    op = ceph_page_new(f.c, S("k00008"), S("k0001"), 5);
    ceph_op_start(op, "o");
    ck_assert_int_eq(ceph_op_wait(op, NULL), ST_OK);
    for (n = 10; ceph_op_next(op, &key, &value);)
        (void)count_key(&n, key, value, NULL);
    ck_assert_uint_eq(n, 15);
    ck_assert(ceph_op_has_more(op));
    ceph_op_free(&op);

    op = ceph_get_new(f.c, some, 3);
    ceph_op_start(op, "o");
    ck_assert_int_eq(ceph_op_wait(op, NULL), ST_OK);
    ck_assert(ceph_op_next(op, &key, &value) && slice_eq(key, some[0]));
    ck_assert_uint_eq(value.size, 3);
    ck_assert(ceph_op_next(op, &key, &value) && slice_eq(key, some[2]));
    ck_assert(!ceph_op_next(op, &key, &value));
    ceph_op_free(&op);

    op = ceph_write_new(f.c);
    ceph_write_omap_remove(op, keys, KEYS - 1);
    ck_assert_int_eq(ceph_op_run(op, "o", NULL), ST_OK);
    n = KEYS - 1;
    ck_assert_int_eq(ceph_each_omap(f.c, "o", count_key, &n, NULL), ST_OK);
    ck_assert_uint_eq(n, KEYS);
    teardown(&f);
}
END_TEST

START_TEST(a_comparison_that_is_not_met_is_a_conflict)
{
    struct fixture f = setup();
    const struct slice keys[] = { S("a"), S("b") };
    const struct slice values[] = { S("1"), S("2") };
    struct ceph_op *op = ceph_write_new(f.c);

    ceph_write_omap_expect(op, keys[0], S(""));
    ceph_write_omap_set(op, keys, values, 2);
    ck_assert_int_eq(ceph_op_run(op, "o", NULL), ST_NOT_FOUND);

    op = ceph_write_new(f.c);
    ceph_write_create(op, false);
    ceph_write_omap_expect(op, keys[0], S(""));
    ceph_write_omap_set(op, keys, values, 2);
    ck_assert_int_eq(ceph_op_run(op, "o", NULL), ST_OK);

    op = ceph_write_new(f.c);
    ceph_write_omap_expect(op, keys[0], values[0]);
    ceph_write_omap_expect(op, keys[1], values[0]);
    ceph_write_omap_expect(op, S("c"), values[0]);
    ceph_write_omap_remove(op, keys, 2);
    ceph_op_start(op, "o");
    ck_assert_int_eq(ceph_op_wait(op, NULL), ST_CONFLICT);
    ceph_op_free(&op);
    teardown(&f);
}
END_TEST

START_TEST(reads_in_flight_can_be_dropped)
{
    struct fixture f = setup();
    struct ceph_op *ops[32];

    for (int i = 0; i < 32; i++) {
        ops[i] = ceph_page_new(f.c, S(""), S(""), 10);
        ceph_op_start(ops[i], "o");
    }
    for (int i = 0; i < 32; i++)
        ceph_op_free(&ops[i]);
    teardown(&f);
}
END_TEST

START_TEST(a_lock_ends_by_itself)
{
    struct fixture f = setup();
    char who[CEPH_COOKIE_SIZE];
    int64_t end_us = clock_monotonic_us() + 60000000;
    enum status st;

    ck_assert_int_eq(
        ceph_lock_take(f.c, "lease.a", "lease", "x", 400, CEPH_LOCK_TAKE, NULL),
        ST_OK);
    ck_assert_int_eq(ceph_lock_owner(f.other, "lease.a", "lease", who, NULL),
                     ST_OK);
    ck_assert_str_eq(who, "x");
    do
        st = ceph_lock_take(f.other, "lease.a", "lease", "y", 60000,
                            CEPH_LOCK_TAKE, NULL);
    while (st == ST_BUSY && clock_monotonic_us() < end_us);
    ck_assert_int_eq(st, ST_OK);
    ck_assert_int_eq(
        ceph_lock_take(f.c, "lease.a", "lease", "x", 400, CEPH_LOCK_KEEP, NULL),
        ST_BUSY);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(ceph_lock_take(f.c, "lease.c", "lease", "x", 400,
                                        CEPH_LOCK_KEEP, NULL),
                         ST_OK);
    ck_assert_int_eq(ceph_lock_drop(f.c, "lease.a", "lease", "x", NULL),
                     ST_NOT_FOUND);
    ck_assert_int_eq(ceph_lock_owner(f.c, "lease.a", "lease", who, NULL),
                     ST_OK);
    ck_assert_str_eq(who, "y");
    ck_assert_int_eq(ceph_lock_drop(f.other, "lease.a", "lease", "y", NULL),
                     ST_OK);
    ck_assert_int_eq(ceph_lock_owner(f.c, "lease.a", "lease", who, NULL),
                     ST_OK);
    ck_assert_str_eq(who, "");
    teardown(&f);
}
END_TEST

struct heard {
    atomic_uint times, broken;
    char last[32];
};

static void
note_heard(void *ctx, struct slice payload, struct buf *answer)
{
    struct heard *h = ctx;

    (void)snprintf(h->last, sizeof h->last, "%.*s", SLICE_ARG(payload));
    atomic_fetch_add(&h->times, 1);
    buf_put_slice(answer, payload);
}

static void
note_broken(void *ctx)
{
    struct heard *h = ctx;

    atomic_fetch_add(&h->broken, 1);
}

static const struct ceph_watch_calls hear = { note_heard, note_broken };

START_TEST(who_watches_has_heard_when_the_sender_goes_on)
{
    struct fixture f = setup();
    struct heard a = { 0 }, b = { 0 };
    struct ceph_watch *first, *second;
    struct buf answers = BUF_INIT;
    struct error e = { 0 };

    ck_assert_msg(ceph_watch_open(f.c, "events", 5, &hear, &a, &first, &e) ==
                      ST_OK,
                  "%s", e.text);
    ck_assert_int_eq(
        ceph_watch_open(f.other, "events", 5, &hear, &b, &second, &e), ST_OK);
    ck_assert_int_eq(
        ceph_notify(f.c, "events", S("rename"), 5000, &answers, &e), ST_OK);
    ck_assert_str_eq(buf_cstr(&answers), "\6rename\6rename");
    ck_assert_uint_eq(atomic_load(&a.times), 1);
    ck_assert_uint_eq(atomic_load(&b.times), 1);
    ck_assert_str_eq(b.last, "rename");
    ck_assert_int_eq(ceph_watch_check(first, NULL, &e), ST_OK);
    ceph_watch_close(&second);
    ck_assert_int_eq(ceph_notify(f.c, "events", S("x"), 5000, NULL, &e), ST_OK);
    ck_assert_uint_eq(atomic_load(&a.times), 2);
    ck_assert_uint_eq(atomic_load(&b.times), 1);
    ceph_watch_close(&first);
    buf_fini(&answers);
    teardown(&f);
}
END_TEST

/* What it wrote before it heard of that fails, too. */
START_TEST(a_blocklisted_client_writes_nothing_more)
{
    struct fixture f = setup();
    struct buf address = BUF_INIT;
    struct heard h = { 0 };
    struct ceph_watch *w;
    struct ceph_op *op;
    struct error e = { 0 };

    ck_assert_int_eq(ceph_watch_open(f.other, "events", 5, &hear, &h, &w, &e),
                     ST_OK);
    ck_assert_int_eq(ceph_address(f.other, &address, &e), ST_OK);
    ck_assert_int_eq(ceph_blocklist(f.c, "nonsense", 60, &e), ST_INVALID);
    ck_assert_msg(ceph_blocklist(f.c, buf_cstr(&address), 60, &e) == ST_OK,
                  "%s", e.text);
    op = ceph_write_new(f.c);
    ceph_write_append(op, S("mine"));
    ck_assert_int_eq(ceph_op_run(op, "o", &e), ST_OK);
    op = ceph_write_new(f.other);
    ceph_write_append(op, S("late"));
    ck_assert_int_eq(ceph_op_run(op, "o", &e), ST_IO);
    ck_assert_msg(strstr(e.text, "blocklisted") != NULL, "%s", e.text);
    ck_assert(ceph_is_blocklisted(f.other));
    ck_assert(!ceph_is_blocklisted(f.c));
    /* Of its watch librados hears on its own time. */
    for (int n = 0; n < 100 && ceph_watch_check(w, NULL, &e) == ST_OK; n++)
        (void)usleep(100000);
    ck_assert_int_eq(ceph_watch_check(w, NULL, &e), ST_IO);
    ceph_watch_close(&w);
    buf_fini(&address);
    teardown(&f);
}
END_TEST

START_TEST(a_cluster_that_is_new_enough_is_taken)
{
    struct fixture f = setup();
    struct error e = { 0 };

    ck_assert_msg(ceph_check_version(f.c, &e) == ST_OK, "%s", e.text);
    teardown(&f);
}
END_TEST

struct fault {
    enum ceph_call call;
    int error;
    unsigned calls;
};

static int
fail_call(void *ctx, enum ceph_call call, const char *object)
{
    struct fault *f = ctx;

    (void)object;
    if (call != f->call)
        return 0;
    f->calls++;
    return f->error;
}

static const struct {
    int error;
    enum status st;
    const char *text;
} failures[] = {
    { -ETIMEDOUT, ST_TIMEOUT, "no answer" },
    { ETIMEDOUT, ST_TIMEOUT, "no answer" },
    { -ENOSPC, ST_IO, "full" },
    { -ESHUTDOWN, ST_IO, "blocklisted" },
    { -ECANCELED, ST_CONFLICT, "changed meanwhile" },
    { -EPERM, ST_IO, "auth caps" },
    { -EIO, ST_IO, "Input/output error" },
};

START_TEST(failures_have_their_status_and_text)
{
    struct fault fault = { CEPH_CALL_WRITE, failures[_i].error, 0 };
    struct fixture f = setup();
    struct ceph_op *op = ceph_write_new(f.c);
    struct buf out = BUF_INIT;
    struct error e = { 0 };

    ceph_set_fault(f.c, fail_call, &fault);
    ceph_write_full(op, S("x"));
    ck_assert_int_eq(ceph_op_run(op, "o", &e), failures[_i].st);
    ck_assert_msg(strstr(e.text, failures[_i].text) != NULL, "%s", e.text);
    ck_assert_uint_eq(fault.calls, 1);
    ck_assert_int_eq(ceph_is_full(f.c), failures[_i].error == -ENOSPC);
    ck_assert_int_eq(ceph_is_blocklisted(f.c),
                     failures[_i].error == -ESHUTDOWN);
    ceph_set_fault(f.c, NULL, NULL);
    ck_assert_int_eq(ceph_read(f.c, "o", 0, 1, &out, &e),
                     failures[_i].error > 0 ? ST_OK : ST_NOT_FOUND);
    op = ceph_write_new(f.c);
    ceph_write_full(op, S("x"));
    ck_assert_int_eq(ceph_op_run(op, "o", &e), ST_OK);
    ck_assert(!ceph_is_full(f.c));
    buf_fini(&out);
    teardown(&f);
}
END_TEST

/* Whatever an OSD means by it, the pool takes writes. */
START_TEST(a_read_finds_no_pool_full)
{
    struct fault fault = { CEPH_CALL_READ, -ENOSPC, 0 };
    struct fixture f = setup();
    struct buf out = BUF_INIT;
    struct error e = { 0 };

    ceph_set_fault(f.c, fail_call, &fault);
    ck_assert_int_eq(ceph_read(f.c, "o", 0, 1, &out, &e), ST_IO);
    ck_assert_str_eq(e.text, "read o: No space left on device");
    ck_assert(!ceph_is_full(f.c));
    ceph_set_fault(f.c, NULL, NULL);
    buf_fini(&out);
    teardown(&f);
}
END_TEST

RADOS_TEST_MAIN("ceph", LOOP(texts_are_checked, texts),
                TEST(equal_texts_share_a_connection),
                TEST(what_is_not_there_is_told), TEST(appends_are_guarded),
                TEST(omaps_are_read_in_pages_and_by_keys),
                TEST(a_comparison_that_is_not_met_is_a_conflict),
                TEST(reads_in_flight_can_be_dropped),
                TEST(a_lock_ends_by_itself),
                TEST(who_watches_has_heard_when_the_sender_goes_on),
                TEST(a_blocklisted_client_writes_nothing_more),
                TEST(a_cluster_that_is_new_enough_is_taken),
                TEST(a_read_finds_no_pool_full),
                LOOP(failures_have_their_status_and_text, failures))
