/* A WAL in a pool: what is acknowledged is replayed by whoever fences the
 * member, and nothing is acknowledged or added from then on. */
#include "storage/wal/rados/wal_rados.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/process/log.h"
#include "storage/wal/wal.h"
#include "tests/storage/rados/rados_rig.h"

#define MEMBER "0123456789abcdef"

struct fixture {
    struct rados_rig rig;
    struct ceph *c, *other; /* the member's connection, its heir's */
};

static struct fixture
setup(void)
{
    struct fixture f = { .rig = rados_rig_new("") };
    struct error e = { 0 };

    log_set_level(LOG_ERROR);
    ck_assert_msg(ceph_open(f.rig.at, &f.c, &e) == ST_OK, "%s", e.text);
    ck_assert_msg(ceph_open(f.rig.other, &f.other, &e) == ST_OK, "%s", e.text);
    return f;
}

static void
teardown(struct fixture *f)
{
    ceph_set_fault(f->c, NULL, NULL);
    ceph_close(&f->c);
    ceph_close(&f->other);
    rados_rig_free(&f->rig);
}

static struct wal *
open_wal(struct fixture *f, struct wal_options o)
{
    struct wal *wal = NULL;
    struct error e = { 0 };

    o.medium = wal_rados_new(f->c, MEMBER);
    ck_assert_msg(wal_open(&o, &wal, &e) == ST_OK, "%s", e.text);
    return wal;
}

static enum status
put(struct wal *wal, struct slice payload, struct error *e)
{
    uint64_t lsn = 0;
    enum status st = wal_append(wal, 0, 1, payload, &lsn, e);

    return st == ST_OK ? wal_commit(wal, lsn, false, e) : st;
}

static void
put_ok(struct wal *wal, const char *text)
{
    struct error e = { 0 };

    ck_assert_msg(put(wal, slice_str(text), &e) == ST_OK, "%s", e.text);
}

static void
close_ok(struct wal **wal)
{
    struct error e = { 0 };

    ck_assert_msg(wal_close(wal, &e) == ST_OK, "%s", e.text);
}

/* "segment:payload " of each record; of long ones the size. */
static enum status
note(void *ctx, uint64_t segment, uint8_t type, struct slice payload,
     struct error *e)
{
    (void)type;
    (void)e;
    if (payload.size > 100)
        buf_printf(ctx, "%d:%zu ", (int)segment, payload.size);
    else
        buf_printf(ctx, "%d:%.*s ", (int)segment, SLICE_ARG(payload));
    return ST_OK;
}

static enum status
replay_dead(struct fixture *f, struct buf *out, struct error *e)
{
    const struct wal_options o = { .medium = wal_rados_dead(f->other, MEMBER),
                                   .read_only = true };
    struct wal *wal;
    uint64_t lsn;
    enum status st = wal_open(&o, &wal, e);

    buf_clear(out);
    if (st != ST_OK)
        return st;
    st = wal_replay(wal, note, out, e);
    ck_assert_int_eq(wal_append(wal, 0, 1, slice_str("x"), &lsn, NULL), ST_IO);
    ck_assert_int_eq(wal_close(&wal, NULL), ST_OK);
    return st;
}

static void
expect_dead(struct fixture *f, const char *expected)
{
    struct buf out = BUF_INIT;
    struct error e = { 0 };

    ck_assert_msg(replay_dead(f, &out, &e) == ST_OK, "%s", e.text);
    ck_assert_str_eq(buf_cstr(&out), expected);
    buf_fini(&out);
}

static void
fence(struct fixture *f)
{
    struct error e = { 0 };

    ck_assert_msg(wal_rados_fence(f->other, MEMBER, &e) == ST_OK, "%s", e.text);
}

static enum status
count_object(void *ctx, const char *object, struct error *e)
{
    (void)object;
    (void)e;
    ++*(int *)ctx;
    return ST_OK;
}

static int
objects(struct fixture *f)
{
    int n = 0;

    ck_assert_int_eq(ceph_each_object(f->other, count_object, &n, NULL), ST_OK);
    return n;
}

/* -- what it keeps --------------------------------------------------------- */

static const enum wal_sync modes[] = { WAL_SYNC_ALWAYS, WAL_SYNC_INTERVAL,
                                       WAL_SYNC_OFF };

/* Every mode means the same: what commit() told is there. */
START_TEST(a_dead_members_records_are_replayed)
{
    struct fixture f = setup();
    struct wal *wal = open_wal(
        &f, (struct wal_options){ .sync = modes[_i], .interval_ms = 5 });
    struct wal_counts c;

    put_ok(wal, "a");
    put_ok(wal, "b");
    wal_rotate(wal);
    put_ok(wal, "c");
    c = wal_counts(wal);
    ck_assert_uint_eq(c.segments, 2);
    ck_assert_int_eq(c.unsynced_us, 0);
    ck_assert_uint_eq(c.writes, 3); /* one a commit: no marks */
    ck_assert_uint_eq(latency_below(wal_sync_latency(wal), 64), 3);
    expect_dead(&f, "1:a 1:b 2:c ");
    fence(&f);
    expect_dead(&f, "1:a 1:b 2:c ");
    fence(&f); /* again, as by another heir */
    expect_dead(&f, "1:a 1:b 2:c ");
    ck_assert_int_eq(put(wal, slice_str("d"), NULL), ST_CONFLICT);
    ck_assert_int_eq(wal_close(&wal, NULL), ST_CONFLICT);
    expect_dead(&f, "1:a 1:b 2:c ");
    teardown(&f);
}
END_TEST

START_TEST(segments_are_trimmed_and_removed)
{
    struct fixture f = setup();
    struct wal *wal =
        open_wal(&f, (struct wal_options){ .segment_bytes = 150 });
    struct wal_counts c;
    char text[64];

    for (int i = 0; i < 9; i++) {
        (void)snprintf(text, sizeof text, "%060d", i);
        put_ok(wal, text);
    }
    c = wal_counts(wal);
    ck_assert_uint_eq(c.segments, 5);
    ck_assert_int_eq(objects(&f), 6);
    ck_assert_int_eq(wal_trim(wal, 4, NULL), ST_OK);
    ck_assert_uint_eq(wal_counts(wal).segments, 2);
    ck_assert_uint_lt(wal_counts(wal).bytes, c.bytes / 2);
    ck_assert_int_eq(objects(&f), 3);
    close_ok(&wal);
    expect_dead(&f, "4:000000000000000000000000000000000000000000000000000000"
                    "000006 4:00000000000000000000000000000000000000000000000"
                    "0000000000007 5:0000000000000000000000000000000000000000"
                    "00000000000000000008 ");
    ck_assert_int_eq(wal_rados_remove(f.other, MEMBER, NULL), ST_OK);
    ck_assert_int_eq(objects(&f), 0);
    ck_assert_int_eq(wal_rados_remove(f.other, MEMBER, NULL), ST_OK);
    expect_dead(&f, "");
    teardown(&f);
}
END_TEST

START_TEST(a_name_is_used_once)
{
    struct fixture f = setup();
    struct wal *wal = open_wal(&f, (struct wal_options){ 0 }), *again;
    struct wal_options o = { .medium = wal_rados_new(f.other, MEMBER) };
    struct error e = { 0 };

    ck_assert_int_eq(wal_open(&o, &again, &e), ST_CONFLICT);
    ck_assert_msg(strstr(e.text, MEMBER) != NULL, "%s", e.text);
    put_ok(wal, "a");
    close_ok(&wal);
    teardown(&f);
}
END_TEST

/* One that has no WAL yet can make none afterwards. */
START_TEST(a_member_is_fenced_before_it_has_a_wal)
{
    struct fixture f = setup();
    struct wal_options o = { .medium = wal_rados_new(f.c, MEMBER) };
    struct wal *wal;

    fence(&f);
    expect_dead(&f, "");
    ck_assert_int_eq(wal_open(&o, &wal, NULL), ST_CONFLICT);
    expect_dead(&f, "");
    teardown(&f);
}
END_TEST

START_TEST(a_missing_segment_is_damage)
{
    struct fixture f = setup();
    struct wal *wal = open_wal(&f, (struct wal_options){ 0 });
    struct buf out = BUF_INIT;
    struct error e = { 0 };

    for (int i = 0; i < 3; i++) {
        put_ok(wal, "a");
        wal_rotate(wal);
    }
    close_ok(&wal);
    ck_assert_int_eq(ceph_remove(f.other, "j." MEMBER ".2", NULL), ST_OK);
    ck_assert_int_eq(replay_dead(&f, &out, &e), ST_CORRUPT);
    ck_assert_msg(strstr(e.text, "j." MEMBER ".2: this segment is missing") !=
                      NULL,
                  "%s", e.text);
    buf_fini(&out);
    teardown(&f);
}
END_TEST

/* No append is larger than an OSD takes, no segment than an object can be. */
START_TEST(bundles_and_segments_are_bounded)
{
    static uint8_t bytes[(size_t)64 << 20];
    struct fixture f = setup();
    struct wal *wal =
        open_wal(&f, (struct wal_options){ .segment_bytes = SIZE_MAX });
    struct buf out = BUF_INIT;
    struct error e = { 0 };
    uint64_t lsn = 0;

    ck_assert_int_eq(
        wal_append(wal, 0, 1, slice_of(bytes, sizeof bytes), &lsn, &e),
        ST_LIMIT);
    for (int i = 0; i < 2; i++)
        ck_assert_msg(put(wal, slice_of(bytes, 40 << 20), &e) == ST_OK, "%s",
                      e.text);
    ck_assert_int_eq(wal_append(wal, 0, 1, slice_of(bytes, 40 << 20), &lsn, &e),
                     ST_OK);
    ck_assert_int_eq(wal_append(wal, 0, 1, slice_of(bytes, 40 << 20), &lsn, &e),
                     ST_BUSY);
    ck_assert_msg(wal_commit(wal, lsn, true, &e) == ST_OK, "%s", e.text);
    close_ok(&wal);
    ck_assert_msg(replay_dead(&f, &out, &e) == ST_OK, "%s", e.text);
    ck_assert_str_eq(buf_cstr(&out), "1:41943040 1:41943040 2:41943040 ");
    buf_fini(&out);
    teardown(&f);
}
END_TEST

/* -- fenced while it works ------------------------------------------------- */

struct writer {
    struct wal *wal;
    atomic_uint acknowledged;
    enum status end;
};

static void *
writer_main(void *ctx)
{
    struct writer *w = ctx;
    char text[16];

    for (unsigned i = 0; w->end == ST_OK; i++) {
        (void)snprintf(text, sizeof text, "%u", i);
        w->end = put(w->wal, slice_str(text), NULL);
        if (w->end == ST_OK)
            atomic_store(&w->acknowledged, i + 1);
        if (i % 8 == 7)
            wal_rotate(w->wal);
    }
    return NULL;
}

static enum status
count_record(void *ctx, uint64_t segment, uint8_t type, struct slice payload,
             struct error *e)
{
    unsigned *n = ctx;
    char text[16];

    (void)segment;
    (void)type;
    (void)e;
    (void)snprintf(text, sizeof text, "%u", *n);
    ck_assert(slice_eq(payload, slice_str(text)));
    ++*n;
    return ST_OK;
}

static unsigned
count_dead(struct fixture *f)
{
    const struct wal_options o = { .medium = wal_rados_dead(f->other, MEMBER),
                                   .read_only = true };
    struct wal *wal;
    struct error e = { 0 };
    unsigned n = 0;

    ck_assert_msg(wal_open(&o, &wal, &e) == ST_OK, "%s", e.text);
    ck_assert_msg(wal_replay(wal, count_record, &n, &e) == ST_OK, "%s", e.text);
    ck_assert_int_eq(wal_close(&wal, &e), ST_OK);
    return n;
}

/* Among appends and new segments: nothing acknowledged is behind the fence. */
START_TEST(fenced_while_it_appends)
{
    struct fixture f = setup();
    struct writer w = { .wal = open_wal(&f, (struct wal_options){ 0 }) };
    pthread_t thread;
    struct error e = { 0 };
    unsigned there;

    ck_assert_int_eq(pthread_create(&thread, NULL, writer_main, &w), 0);
    while (atomic_load(&w.acknowledged) < 20 + (unsigned)_i * 3)
        ;
    fence(&f);
    there = count_dead(&f);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(w.end, ST_CONFLICT);
    ck_assert_uint_eq(count_dead(&f), there);
    ck_assert_uint_ge(there, atomic_load(&w.acknowledged));
    /* For ever. */
    ck_assert_int_eq(wal_status(w.wal, &e), ST_CONFLICT);
    ck_assert_msg(strstr(e.text, "taken over by another daemon") != NULL, "%s",
                  e.text);
    ck_assert_int_eq(wal_restart(w.wal, &e), ST_CONFLICT);
    ck_assert_int_eq(wal_trim(w.wal, 2, &e), ST_CONFLICT);
    ck_assert_uint_eq(count_dead(&f), there);
    ck_assert_int_eq(wal_close(&w.wal, &e), ST_CONFLICT);
    teardown(&f);
}
END_TEST

struct fencer {
    struct fixture *f;
    int before;     /* this write of the member's */
    unsigned there; /* records, when it was fenced */
    atomic_int writes;
};

static int
fence_before(void *ctx, enum ceph_call call, const char *object)
{
    struct fencer *x = ctx;

    (void)object;
    if (call == CEPH_CALL_WRITE &&
        atomic_fetch_add(&x->writes, 1) == x->before) {
        fence(x->f);
        x->there = count_dead(x->f);
    }
    return 0;
}

/* Each write of a WAL in turn is on its way while it is fenced: appends, the
 * naming and the making of segments. */
START_TEST(fenced_before_each_write)
{
    struct fixture f = setup();
    struct fencer x = { .f = &f, .before = _i };
    struct wal *wal = open_wal(&f, (struct wal_options){ 0 });
    unsigned acknowledged = 0;
    char text[16];

    ceph_set_fault(f.c, fence_before, &x);
    for (unsigned i = 0; i < 6; i++) {
        (void)snprintf(text, sizeof text, "%u", i);
        if (put(wal, slice_str(text), NULL) == ST_OK)
            acknowledged++;
        if (i % 2 == 1)
            wal_rotate(wal);
    }
    ck_assert_int_gt(atomic_load(&x.writes), _i); /* it was */
    ck_assert_int_eq(wal_status(wal, NULL), ST_CONFLICT);
    ck_assert_int_eq(wal_restart(wal, NULL), ST_CONFLICT);
    ck_assert_uint_le(acknowledged, x.there);
    ck_assert_uint_eq(count_dead(&f), x.there);
    ck_assert_int_eq(wal_close(&wal, NULL), ST_CONFLICT);
    ck_assert_uint_eq(count_dead(&f), x.there);
    teardown(&f);
}
END_TEST

/* -- failures -------------------------------------------------------------- */

struct fault {
    int error;          /* as ceph_fault_fn returns it */
    int after;          /* so many writes go well before */
    const char *object; /* which must have this in its name */
    atomic_int writes;
};

static int
fail_write(void *ctx, enum ceph_call call, const char *object)
{
    struct fault *x = ctx;

    if (call != CEPH_CALL_WRITE || strstr(object, x->object) == NULL)
        return 0;
    return atomic_fetch_add(&x->writes, 1) >= x->after ? x->error : 0;
}

static const struct {
    int error;
    const char *object, *text;
    bool kept; /* what was not acknowledged is there */
} failures[] = {
    { -ENOSPC, ".1", "full", false },
    { -ETIMEDOUT, ".1", "no answer", false },
    { ETIMEDOUT, ".1", "no answer", true }, /* done, without an answer */
    { -ENOSPC, MEMBER, "full", false },
};

/* Without an answer, or without room, nothing is acknowledged any more and
 * nothing tried again; it works again when all is safe elsewhere. */
START_TEST(works_again_after_a_restart)
{
    struct fixture f = setup();
    struct wal *wal = open_wal(&f, (struct wal_options){ 0 });
    struct fault x = { .error = failures[_i].error,
                       .object = failures[_i].object,
                       .after = 1 };
    struct error e = { 0 };

    put_ok(wal, "a");
    ceph_set_fault(f.c, fail_write, &x);
    put_ok(wal, "b");
    ck_assert_int_eq(put(wal, slice_str("c"), &e), ST_IO);
    ck_assert_msg(strstr(e.text, failures[_i].text) != NULL, "%s", e.text);
    ceph_set_fault(f.c, NULL, NULL);
    ck_assert_int_eq(put(wal, slice_str("d"), &e), ST_IO);
    wal_rotate(wal);
    ck_assert_int_eq(atomic_load(&x.writes), 2);
    expect_dead(&f, failures[_i].kept ? "1:a 1:b 1:c " : "1:a 1:b ");
    ck_assert_msg(wal_restart(wal, &e) == ST_OK, "%s", e.text);
    put_ok(wal, "e");
    close_ok(&wal);
    expect_dead(&f, "2:e ");
    teardown(&f);
}
END_TEST

/* The new segment is named in the header, made or not, without an answer; the
 * heir makes it so that the member cannot. */
START_TEST(a_segment_that_was_only_named)
{
    static const int errors[] = { -ETIMEDOUT, ETIMEDOUT };
    struct fixture f = setup();
    struct wal *wal = open_wal(&f, (struct wal_options){ 0 });
    struct fault x = { .error = errors[_i], .object = MEMBER ".2" };
    struct error e = { 0 };

    put_ok(wal, "a");
    ceph_set_fault(f.c, fail_write, &x);
    wal_rotate(wal);
    ck_assert_int_eq(wal_status(wal, &e), ST_IO);
    ceph_set_fault(f.c, NULL, NULL);
    expect_dead(&f, "1:a ");
    fence(&f);
    expect_dead(&f, "1:a ");
    ck_assert_int_eq(wal_restart(wal, &e), ST_CONFLICT);
    expect_dead(&f, "1:a ");
    ck_assert_int_eq(wal_close(&wal, NULL), ST_IO);
    ck_assert_int_eq(wal_rados_remove(f.other, MEMBER, NULL), ST_OK);
    ck_assert_int_eq(objects(&f), 0);
    teardown(&f);
}
END_TEST

/* A restart that fails half-way, again and again. */
START_TEST(restarts_that_fail)
{
    struct fixture f = setup();
    struct wal *wal = open_wal(&f, (struct wal_options){ 0 });
    struct fault x = { .error = -ENOSPC, .object = "j." };
    struct error e = { 0 };

    put_ok(wal, "a");
    wal_rotate(wal);
    ceph_set_fault(f.c, fail_write, &x);
    ck_assert_int_eq(put(wal, slice_str("b"), &e), ST_IO);
    for (int i = 0; i < 8; i++) {
        atomic_store(&x.writes, 0);
        x.after = i;
        if (wal_restart(wal, &e) == ST_OK)
            break;
        ck_assert_int_eq(wal_status(wal, NULL), ST_IO);
    }
    ceph_set_fault(f.c, NULL, NULL);
    ck_assert_msg(wal_restart(wal, &e) == ST_OK, "%s", e.text);
    put_ok(wal, "c");
    close_ok(&wal);
    ck_assert_int_eq(objects(&f), 2);
    teardown(&f);
}
END_TEST

/* Blocklisted is fenced. */
START_TEST(blocklisted)
{
    struct fixture f = setup();
    struct wal *wal = open_wal(&f, (struct wal_options){ 0 });
    struct buf address = BUF_INIT;
    struct error e = { 0 };

    put_ok(wal, "a");
    ck_assert_int_eq(ceph_address(f.c, &address, &e), ST_OK);
    ck_assert_msg(ceph_blocklist(f.other, buf_cstr(&address), 60, &e) == ST_OK,
                  "%s", e.text);
    expect_dead(&f, "1:a "); /* and the object's OSD has the newer map */
    ck_assert_int_eq(put(wal, slice_str("b"), &e), ST_CONFLICT);
    ck_assert_int_eq(wal_restart(wal, &e), ST_CONFLICT);
    ck_assert_int_eq(wal_close(&wal, &e), ST_CONFLICT);
    expect_dead(&f, "1:a ");
    buf_fini(&address);
    teardown(&f);
}
END_TEST

RADOS_TEST_MAIN("wal_rados", LOOP(a_dead_members_records_are_replayed, modes),
                TEST(segments_are_trimmed_and_removed),
                TEST(a_name_is_used_once),
                TEST(a_member_is_fenced_before_it_has_a_wal),
                TEST(a_missing_segment_is_damage),
                TEST(bundles_and_segments_are_bounded),
                TIMES(fenced_while_it_appends, 8),
                TIMES(fenced_before_each_write, 12),
                LOOP(works_again_after_a_restart, failures),
                TIMES(a_segment_that_was_only_named, 2),
                TEST(restarts_that_fail), TEST(blocklisted))
