/* Events: the sender goes on when all have heard, and who may have missed some
 * knows it. */
#include "storage/lease/events.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/process/clock.h"
#include "base/process/log.h"
#include "tests/storage/rados/rados_rig.h"

#define NAMES  1
#define OWNERS 2

struct listener {
    struct ceph *c;
    struct events *ev;
    atomic_uint names, owners, missed;
    atomic_bool held;   /* its function does not return */
    atomic_bool broken; /* its watch */
    char last[32];
};

static void
on_event(void *ctx, unsigned kind, struct slice payload, struct buf *answer)
{
    struct listener *l = ctx;

    if (answer != NULL)
        buf_put_slice(answer, payload);
    while (atomic_load(&l->held))
        ;
    (void)snprintf(l->last, sizeof l->last, "%.*s", SLICE_ARG(payload));
    if (kind == EVENTS_MISSED)
        l->missed++;
    else if (kind == NAMES)
        l->names++;
    else
        l->owners++;
}

static int
break_watch(void *ctx, enum ceph_call call, const char *object)
{
    const struct listener *l = ctx;

    (void)object;
    return call == CEPH_CALL_WATCH && atomic_load(&l->broken) ? -ENOTCONN : 0;
}

static void
listen_to(struct listener *l, const char *at, unsigned timeout_ms)
{
    struct error e = { 0 };

    log_set_level(LOG_ERROR);
    *l = (struct listener){ .c = NULL };
    ck_assert_msg(ceph_open(at, &l->c, &e) == ST_OK, "%s", e.text);
    ceph_set_fault(l->c, break_watch, l);
    ck_assert_msg(events_open(l->c, timeout_ms, &l->ev, &e) == ST_OK, "%s",
                  e.text);
    events_on(l->ev, NAMES, on_event, l);
}

static void
end(struct listener *l)
{
    events_close(&l->ev);
    ceph_set_fault(l->c, NULL, NULL);
    ceph_close(&l->c);
}

static enum status
send_to(struct ceph *c, unsigned kind, const char *payload)
{
    return events_send(c, 2000, kind, slice_str(payload), NULL);
}

START_TEST(all_have_heard_when_the_sender_goes_on)
{
    struct rados_rig rig = rados_rig_new("");
    struct listener a, b;

    /* None listens, and the object is not there. */
    ck_assert_int_eq(send_to(rig.admin, NAMES, "x"), ST_OK);
    listen_to(&a, rig.at, 2000);
    listen_to(&b, rig.other, 2000);
    events_on(b.ev, OWNERS, on_event, &b);
    ck_assert(events_are_heard(a.ev));
    for (unsigned i = 1; i <= 50; i++) {
        char text[16];

        (void)snprintf(text, sizeof text, "name %u", i);
        ck_assert_int_eq(send_to(a.c, NAMES, text), ST_OK);
        ck_assert_uint_eq(atomic_load(&a.names), i);
        ck_assert_uint_eq(atomic_load(&b.names), i);
        ck_assert_str_eq(a.last, text);
        ck_assert_str_eq(b.last, text);
    }
    ck_assert_int_eq(send_to(rig.admin, OWNERS, ""), ST_OK);
    ck_assert_uint_eq(atomic_load(&a.owners), 0);
    ck_assert_uint_eq(atomic_load(&b.owners), 1);
    ck_assert_str_eq(b.last, "");
    ck_assert_int_eq(send_to(rig.admin, 7, "of a later version"), ST_OK);
    ck_assert_uint_eq(atomic_load(&a.missed) + atomic_load(&b.missed), 0);
    end(&b);
    ck_assert_int_eq(send_to(a.c, NAMES, "alone"), ST_OK);
    ck_assert_uint_eq(atomic_load(&a.names), 51);
    end(&a);
    rados_rig_free(&rig);
}
END_TEST

START_TEST(those_who_listen_answer)
{
    struct rados_rig rig = rados_rig_new("");
    struct buf answers = BUF_INIT;
    struct error e = { 0 };
    struct listener a, b;

    ck_assert_int_eq(
        events_ask(rig.admin, 2000, NAMES, slice_str("x"), &answers, &e),
        ST_OK);
    ck_assert_uint_eq(answers.size, 0);
    listen_to(&a, rig.at, 2000);
    listen_to(&b, rig.other, 2000);
    ck_assert_int_eq(
        events_ask(a.c, 2000, NAMES, slice_str("abc"), &answers, &e), ST_OK);
    ck_assert_str_eq(buf_cstr(&answers), "\3abc\3abc");
    buf_clear(&answers);
    atomic_store(&b.held, true);
    ck_assert_int_eq(events_ask(a.c, 1000, NAMES, slice_str("x"), &answers, &e),
                     ST_TIMEOUT);
    atomic_store(&b.held, false);
    end(&b);
    end(&a);
    buf_fini(&answers);
    rados_rig_free(&rig);
}
END_TEST

/* A watch says often enough that it lives. */
START_TEST(an_idle_watch_stays)
{
    struct rados_rig rig = rados_rig_new("");
    int64_t until_us = clock_monotonic_us() + 5000000;
    struct listener a;

    listen_to(&a, rig.at, 2000);
    while (clock_monotonic_us() < until_us) {
        ck_assert(events_are_heard(a.ev));
        (void)usleep(10000);
    }
    ck_assert_uint_eq(atomic_load(&a.missed), 0);
    end(&a);
    rados_rig_free(&rig);
}
END_TEST

START_TEST(who_may_have_missed_some_is_told)
{
    struct rados_rig rig = rados_rig_new("");
    struct listener a;
    unsigned heard;

    listen_to(&a, rig.at, 2000);
    ck_assert(events_are_heard(a.ev));
    atomic_store(&a.broken, true);
    ck_assert(!events_are_heard(a.ev));
    do { /* until its watch is closed */
        heard = atomic_load(&a.names);
        ck_assert_int_eq(send_to(rig.admin, NAMES, "missed"), ST_OK);
    } while (atomic_load(&a.names) != heard);
    ck_assert_uint_eq(atomic_load(&a.missed), 0);
    atomic_store(&a.broken, false);
    while (!events_are_heard(a.ev))
        (void)usleep(1000);
    ck_assert_uint_eq(atomic_load(&a.missed), 1);
    ck_assert_int_eq(send_to(rig.admin, NAMES, "heard"), ST_OK);
    ck_assert_uint_eq(atomic_load(&a.names), heard + 1);
    end(&a);
    rados_rig_free(&rig);
}
END_TEST

/* One that is alive and does not answer: the sender is told so. */
START_TEST(a_silent_listener_is_told)
{
    struct rados_rig rig = rados_rig_new("");
    struct listener a;
    struct error e = { 0 };

    listen_to(&a, rig.at, 4000);
    atomic_store(&a.held, true);
    ck_assert_int_eq(events_send(rig.admin, 1000, NAMES, slice_str("x"), &e),
                     ST_TIMEOUT);
    atomic_store(&a.held, false);
    while (atomic_load(&a.names) == 0)
        ;
    ck_assert_int_eq(send_to(rig.admin, NAMES, "x"), ST_OK);
    end(&a);
    rados_rig_free(&rig);
}
END_TEST

RADOS_TEST_MAIN("events", TEST(all_have_heard_when_the_sender_goes_on),
                TEST(those_who_listen_answer), TEST(an_idle_watch_stays),
                TEST(who_may_have_missed_some_is_told),
                TEST(a_silent_listener_is_told))
