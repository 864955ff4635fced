/* Leases: who is live, who is dead, and what the dead leave. */
#include "storage/lease/lease_priv.h"

#include <errno.h>
#include <stdatomic.h>

#include "base/process/clock.h"
#include "base/process/log.h"
#include "storage/wal/rados/wal_rados.h"
#include "storage/wal/wal.h"
#include "tests/storage/rados/rados_rig.h"

#define DURATION_MS 1000

struct side {
    struct ceph *c;
    struct lease *l;
    char name[MEMBER_NAME_SIZE];
    atomic_int lost;
    atomic_int fault; /* of the calls of 'faulty' */
    enum ceph_call faulty;
    atomic_int calls; /* of these */
};

struct fixture {
    struct rados_rig rig;
    struct side a, b;
};

static void
on_lost(void *ctx, const char *why)
{
    ck_assert_uint_gt(strlen(why), 0);
    ++((struct side *)ctx)->lost;
}

static int
fault(void *ctx, enum ceph_call call, const char *object)
{
    struct side *s = ctx;

    (void)object;
    if (call != s->faulty)
        return 0;
    s->calls++;
    return atomic_load(&s->fault);
}

static void
connect_side(struct side *s, const char *at)
{
    struct error e = { 0 };

    ck_assert_msg(ceph_open(at, &s->c, &e) == ST_OK, "%s", e.text);
    s->faulty = CEPH_CALL_LOCK;
    ceph_set_fault(s->c, fault, s);
}

static enum status
lease_of(struct side *s, struct error *e)
{
    const struct lease_options o = {
        .self = { .address = "127.0.0.1:4242",
                  .mode = "rw",
                  .version = "1.2.3",
                  .tls = true,
                  .frame_version = 7 },
        .duration_ms = DURATION_MS,
        .lost = on_lost,
        .ctx = s,
    };
    enum status st = lease_open(s->c, &o, &s->l, e);

    if (st == ST_OK)
        (void)snprintf(s->name, sizeof s->name, "%s", lease_name(s->l));
    return st;
}

static void *
open_main(void *side)
{
    return lease_of(side, NULL) == ST_OK ? NULL : side;
}

/* Side by side: each waits for the monitors. */
static void
setup(struct fixture *f)
{
    struct error e = { 0 };
    pthread_t thread;
    void *failed;

    log_set_level(LOG_ERROR);
    *f = (struct fixture){ .rig = rados_rig_new("") };
    connect_side(&f->a, f->rig.at);
    connect_side(&f->b, f->rig.other);
    ck_assert_int_eq(pthread_create(&thread, NULL, open_main, &f->a), 0);
    ck_assert_msg(lease_of(&f->b, &e) == ST_OK, "%s", e.text);
    ck_assert_int_eq(pthread_join(thread, &failed), 0);
    ck_assert_ptr_null(failed);
}

static void
end(struct side *s)
{
    struct error e = { 0 };

    if (s->l != NULL)
        ck_assert_msg(lease_close(&s->l, &e) == ST_OK, "%s", e.text);
    ceph_set_fault(s->c, NULL, NULL);
    ceph_close(&s->c);
}

static void
teardown(struct fixture *f)
{
    end(&f->a);
    end(&f->b);
    rados_rig_free(&f->rig);
}

static bool
is_there(struct fixture *f, const char *prefix, const char *name)
{
    char object[64];
    uint64_t size;

    (void)snprintf(object, sizeof object, "%s.%s", prefix, name);
    return ceph_size(f->rig.admin, object, &size, NULL) == ST_OK;
}

static struct members
members(struct fixture *f)
{
    struct members m;
    struct error e = { 0 };

    ck_assert_msg(members_read(f->rig.admin, &m, &e) == ST_OK, "%s", e.text);
    return m;
}

static void
own(struct fixture *f, const char *from, uint64_t from_epoch, const char *to)
{
    struct bucket_owner seen = { .epoch = from_epoch };
    struct bucket_owner now = { .epoch = from_epoch + 1 };
    struct error e = { 0 };

    (void)snprintf(seen.member, sizeof seen.member, "%s", from);
    (void)snprintf(now.member, sizeof now.member, "%s", to);
    ck_assert_msg(buckets_change(f->rig.admin, 3, &seen, &now, &e) == ST_OK,
                  "%s", e.text);
}

static void
write_wal(struct side *s)
{
    const struct wal_options o = { .medium = wal_rados_new(s->c, s->name) };
    struct wal *wal;
    struct error e = { 0 };

    ck_assert_msg(wal_open(&o, &wal, &e) == ST_OK, "%s", e.text);
    ck_assert_int_eq(wal_close(&wal, &e), ST_OK);
}

/* -- a member's life ------------------------------------------------------- */

START_TEST(members_are_listed)
{
    struct fixture f;
    struct members m;
    const struct member *a;

    setup(&f);
    ck_assert(lease_is_good(f.a.l));
    m = members(&f);
    ck_assert_uint_eq(m.len, 2);
    a = members_find(&m, f.a.name);
    ck_assert_ptr_nonnull(a);
    ck_assert(a->live);
    ck_assert_str_eq(a->address, "127.0.0.1:4242");
    ck_assert_str_eq(a->mode, "rw");
    ck_assert_str_eq(a->version, "1.2.3");
    ck_assert(a->tls);
    ck_assert_uint_eq(a->frame_version, 7);
    ck_assert_ptr_eq(members_twin(&m, a), members_find(&m, f.b.name));
    ck_assert_ptr_nonnull(strchr(a->rados, '/'));
    ck_assert_int_gt(a->started_ms, 0);
    ck_assert_ptr_null(members_find(&m, "0123456789abcdef"));
    ck_assert_str_ne(f.a.name, f.b.name);
    lease_set_wal_bytes(f.a.l, 12345);
    do {
        members_fini(&m);
        m = members(&f);
        a = members_find(&m, f.a.name);
    } while (a->wal_bytes != 12345);
    members_fini(&m);
    ck_assert_int_eq(lease_set_mode(f.a.l, "leaving", NULL), ST_OK);
    m = members(&f);
    ck_assert_str_eq(members_find(&m, f.a.name)->mode, "leaving");
    members_fini(&m);
    teardown(&f);
}
END_TEST

/* Renewed for longer than it lasts; the other never finds it dead. */
START_TEST(a_live_member_is_not_fenced)
{
    struct fixture f;
    int64_t until_us;

    setup(&f);
    until_us = clock_monotonic_us() + 2 * DURATION_MS * 1000;
    while (clock_monotonic_us() < until_us) {
        ck_assert_int_eq(lease_fence(f.b.l, f.a.name, NULL), ST_BUSY);
        ck_assert_int_eq(lease_forget(f.b.l, f.a.name, NULL), ST_BUSY);
        (void)usleep(10000);
    }
    ck_assert_int_eq(atomic_load(&f.a.lost), 0);
    ck_assert_int_eq(lease_fence(f.b.l, "0123456789abcdef", NULL),
                     ST_NOT_FOUND);
    teardown(&f);
}
END_TEST

START_TEST(one_that_takes_its_leave_leaves_nothing)
{
    struct fixture f;
    struct members m;

    setup(&f);
    write_wal(&f.a);
    ck_assert(is_there(&f, "lease", f.a.name));
    ck_assert(is_there(&f, "j", f.a.name));
    ck_assert_int_eq(lease_close(&f.a.l, NULL), ST_OK);
    ck_assert(!is_there(&f, "lease", f.a.name));
    ck_assert(!is_there(&f, "j", f.a.name));
    m = members(&f);
    ck_assert_uint_eq(m.len, 1);
    ck_assert_str_eq(m.list[0].name, f.b.name);
    members_fini(&m);
    ck_assert_int_eq(atomic_load(&f.a.lost), 0);
    ck_assert_int_eq(lease_fence(f.b.l, f.a.name, NULL), ST_NOT_FOUND);
    ck_assert_int_eq(lease_forget(f.b.l, f.a.name, NULL), ST_OK);
    teardown(&f);
}
END_TEST

/* A bucket names it: heirs need its WAL, and need not wait. */
START_TEST(one_that_ends_as_an_owner_is_dead_at_once)
{
    struct fixture f;
    struct members m;
    struct error e = { 0 };

    setup(&f);
    own(&f, "", 0, f.a.name);
    write_wal(&f.a);
    ck_assert_int_eq(lease_close(&f.a.l, NULL), ST_OK);
    m = members(&f);
    ck_assert_uint_eq(m.len, 2);
    ck_assert(!members_find(&m, f.a.name)->live);
    members_fini(&m);
    ck_assert_msg(lease_fence(f.b.l, f.a.name, &e) == ST_OK, "%s", e.text);
    ck_assert_int_eq(lease_forget(f.b.l, f.a.name, &e), ST_BUSY);
    ck_assert_msg(strstr(e.text, "not taken over yet") != NULL, "%s", e.text);
    ck_assert(is_there(&f, "j", f.a.name));
    own(&f, f.a.name, 1, f.b.name);
    ck_assert_msg(lease_forget(f.b.l, f.a.name, &e) == ST_OK, "%s", e.text);
    ck_assert(!is_there(&f, "j", f.a.name));
    ck_assert(!is_there(&f, "lease", f.a.name));
    m = members(&f);
    ck_assert_uint_eq(m.len, 1);
    members_fini(&m);
    teardown(&f);
}
END_TEST

/* -- losing it ------------------------------------------------------------- */

/* Its own clock gives up before another can take over; and what it writes
 * then is rejected. */
START_TEST(a_member_whose_renewals_fail)
{
    struct fixture f;
    struct ceph_op *op;
    struct error e = { 0 };
    bool was_good;
    enum status st;

    setup(&f);
    own(&f, "", 0, f.a.name);
    write_wal(&f.a);
    atomic_store(&f.a.fault, -ETIMEDOUT);
    do {
        was_good = lease_is_good(f.a.l);
        st = lease_fence(f.b.l, f.a.name, &e);
        ck_assert_msg(st == ST_OK || st == ST_BUSY, "%s", e.text);
        if (st == ST_OK)
            ck_assert(!was_good);
    } while (st != ST_OK);
    ck_assert_int_eq(lease_fence(f.b.l, f.a.name, &e), ST_OK);
    ck_assert_int_eq(atomic_load(&f.a.lost), 0); /* no answer: not known */
    ck_assert(!ceph_is_blocklisted(f.a.c));
    op = ceph_write_new(f.b.c);
    ceph_write_full(op, slice_str("the heir's"));
    ck_assert_int_eq(ceph_op_run(op, "o", NULL), ST_OK);
    op = ceph_write_new(f.a.c);
    ceph_write_full(op, slice_str("the dead one's"));
    ck_assert_int_eq(ceph_op_run(op, "o", NULL), ST_IO);
    ck_assert(ceph_is_blocklisted(f.a.c));
    atomic_store(&f.a.fault, 0);
    while (atomic_load(&f.a.lost) == 0)
        (void)usleep(1000);
    lease_lose(f.a.l, "again");
    ck_assert_int_eq(atomic_load(&f.a.lost), 1);
    ck_assert(!lease_is_good(f.a.l));
    /* It leaves all to its heirs. */
    ck_assert_int_eq(lease_close(&f.a.l, NULL), ST_OK);
    ck_assert(is_there(&f, "j", f.a.name));
    teardown(&f);
}
END_TEST

static const int short_faults[] = { -ETIMEDOUT, ETIMEDOUT, -EIO };

/* A renewal without an answer loses nothing yet. */
START_TEST(one_renewal_may_fail)
{
    struct fixture f;
    int64_t until_us;

    setup(&f);
    atomic_store(&f.a.fault, short_faults[_i]);
    for (int n = atomic_load(&f.a.calls); atomic_load(&f.a.calls) == n;)
        (void)usleep(100);
    atomic_store(&f.a.fault, 0);
    until_us = clock_monotonic_us() + DURATION_MS * 1500;
    while (clock_monotonic_us() < until_us)
        (void)usleep(1000);
    ck_assert(lease_is_good(f.a.l));
    ck_assert_int_eq(atomic_load(&f.a.lost), 0);
    teardown(&f);
}
END_TEST

static void
let_it_end(struct fixture *f)
{
    struct members m = { NULL, 0 };

    atomic_store(&f->a.fault, -ETIMEDOUT);
    do {
        members_fini(&m);
        m = members(f);
    } while (members_find(&m, f->a.name)->live);
    members_fini(&m);
    ck_assert(!lease_is_good(f->a.l));
}

/* OSDs gave no answer for longer than it lasts, and no heir came. */
START_TEST(one_that_ended_goes_on)
{
    struct fixture f;

    setup(&f);
    let_it_end(&f);
    atomic_store(&f.a.fault, 0);
    while (!lease_is_good(f.a.l))
        (void)usleep(1000);
    ck_assert_int_eq(atomic_load(&f.a.lost), 0);
    ck_assert_int_eq(lease_fence(f.b.l, f.a.name, NULL), ST_BUSY);
    teardown(&f);
}
END_TEST

/* The heir has the lock, for ever; the blocklist would tell, too. */
START_TEST(one_that_is_fenced_is_lost)
{
    struct fixture f;

    setup(&f);
    let_it_end(&f);
    f.b.l->without = LEASE_WITHOUT_BLOCKLIST;
    ck_assert_int_eq(lease_fence(f.b.l, f.a.name, NULL), ST_OK);
    atomic_store(&f.a.fault, 0);
    while (atomic_load(&f.a.lost) == 0)
        (void)usleep(1000);
    ck_assert(!lease_is_good(f.a.l));
    teardown(&f);
}
END_TEST

/* All that was its is gone, and stays so. */
START_TEST(one_that_is_forgotten_is_lost)
{
    struct fixture f;
    struct members m;

    setup(&f);
    let_it_end(&f);
    f.b.l->without = LEASE_WITHOUT_BLOCKLIST;
    ck_assert_int_eq(lease_forget(f.b.l, f.a.name, NULL), ST_OK);
    atomic_store(&f.a.fault, 0);
    while (atomic_load(&f.a.lost) == 0)
        ck_assert(!lease_is_good(f.a.l));
    ck_assert(!is_there(&f, "lease", f.a.name));
    m = members(&f);
    ck_assert_ptr_null(members_find(&m, f.a.name));
    members_fini(&m);
    teardown(&f);
}
END_TEST

/* Two heirs fence it side by side. */
START_TEST(two_may_fence_it)
{
    struct fixture f;
    struct side c = { .c = NULL };
    struct error e = { 0 };

    setup(&f);
    c.faulty = CEPH_CALL_LOCK;
    ck_assert_int_eq(ceph_open(f.rig.other, &c.c, &e), ST_OK);
    ck_assert_msg(lease_of(&c, &e) == ST_OK, "%s", e.text);
    let_it_end(&f);
    ck_assert_msg(lease_fence(f.b.l, f.a.name, &e) == ST_OK, "%s", e.text);
    ck_assert_msg(lease_fence(c.l, f.a.name, &e) == ST_OK, "%s", e.text);
    atomic_store(&f.a.fault, 0);
    while (atomic_load(&f.a.lost) == 0)
        (void)usleep(1000);
    ck_assert_int_eq(lease_close(&c.l, &e), ST_OK);
    ceph_close(&c.c);
    teardown(&f);
}
END_TEST

START_TEST(what_another_finds_is_a_loss)
{
    struct fixture f;

    setup(&f);
    lease_lose(f.a.l, "the WAL was taken over");
    ck_assert(!lease_is_good(f.a.l));
    ck_assert_int_eq(atomic_load(&f.a.lost), 1);
    teardown(&f);
}
END_TEST

/* -- opening --------------------------------------------------------------- */

START_TEST(who_may_not_fence_does_not_begin)
{
    struct fixture f = { .rig = rados_rig_new("") };
    struct members m;
    struct error e = { 0 };

    log_set_level(LOG_ERROR);
    connect_side(&f.a, f.rig.at);
    f.a.faulty = CEPH_CALL_CLUSTER;
    atomic_store(&f.a.fault, -EACCES);
    ck_assert_int_eq(lease_of(&f.a, &e), ST_IO);
    ck_assert_msg(strstr(e.text, "mon 'profile rbd'") != NULL, "%s", e.text);
    ck_assert_ptr_null(f.a.l);
    ck_assert_int_eq(atomic_load(&f.a.calls), 1);
    m = members(&f);
    ck_assert_uint_eq(m.len, 0);
    members_fini(&m);
    end(&f.a);
    rados_rig_free(&f.rig);
}
END_TEST

static const struct {
    const char *name, *entry;
    enum status st;
} entries[] = {
    { "0123456789abcdef", "rados 1/1\n", ST_OK },
    { "0123456789abcdef", "later what\nrados 1/1\nframe 9\n", ST_OK },
    { "0123456789abcdef", "", ST_CORRUPT },
    { "0123456789abcdef", "address a\n", ST_CORRUPT },
    { "0123456789abcdef", "rados 1/1", ST_CORRUPT },
    { "0123456789abcdef", "rados 1/1\nframe\n", ST_CORRUPT },
    { "0123456789abcdef", "rados 1/1\nframe -1\n", ST_CORRUPT },
    { "0123456789abcdef", "rados 1/1\nstarted x\n", ST_CORRUPT },
    { "0123456789abcde", "rados 1/1\n", ST_CORRUPT },
};

START_TEST(entries_are_checked)
{
    struct rados_rig rig = rados_rig_new("");
    struct ceph_op *op = ceph_write_new(rig.admin);
    struct slice key = slice_str(entries[_i].name);
    struct slice value = slice_str(entries[_i].entry);
    struct members m;

    ceph_write_omap_set(op, &key, &value, 1);
    ck_assert_int_eq(ceph_op_run(op, "members", NULL), ST_OK);
    ck_assert_int_eq(members_read(rig.admin, &m, NULL), entries[_i].st);
    ck_assert_uint_eq(m.len, entries[_i].st == ST_OK);
    if (m.len > 0)
        ck_assert(!m.list[0].live);
    members_fini(&m);
    rados_rig_free(&rig);
}
END_TEST

RADOS_TEST_MAIN("lease", TEST(members_are_listed),
                TEST(a_live_member_is_not_fenced),
                TEST(one_that_takes_its_leave_leaves_nothing),
                TEST(one_that_ends_as_an_owner_is_dead_at_once),
                TEST(a_member_whose_renewals_fail),
                LOOP(one_renewal_may_fail, short_faults),
                TEST(one_that_ended_goes_on), TEST(one_that_is_fenced_is_lost),
                TEST(one_that_is_forgotten_is_lost), TEST(two_may_fence_it),
                TEST(what_another_finds_is_a_loss),
                TEST(who_may_not_fence_does_not_begin),
                LOOP(entries_are_checked, entries))
