/* Daemons over a pool of a real cluster: puts of new series by all of them, at
 * once and in large bodies, with the events of storage/lease. */
#include <pthread.h>
#include <stdlib.h>

#include "base/process/clock.h"
#include "storage/kv/engine.h"
#include "storage/lease/events.h"
#include "tests/storage/rados/rados_rig.h"
#include "tests/uid/fixture.h"
#include "tsd/put/put.h"
#include "tsd/put/put_json.h"
#include "uid/meta/record.h"
#include "uid/names/uid_events.h"

enum { DAEMONS = 2, THREADS = 6, SERIES = 200, BODY = 10000, ALONE = 30 };
enum { NOW_S = 1356998400, EVENTS_MS = 5000 };

struct daemon {
    char at[600];
    struct ceph *c;
    struct events *events;
    struct uid_events sends;
    struct fixture f;
    struct put_path *path;
};

/* The next store to be opened lies there: stores without a folder do. */
static const char *next_at;

static enum status
open_in_pool(const struct kv_options *o, struct kv **out, struct error *e)
{
    struct kv_options there = *o;

    there.place.at = next_at;
    there.layout = &layout_default;
    return kv_rados_open(&there, out, e);
}

const struct kv_engine_entry kv_engines[] = { { "memory", open_in_pool },
                                              { NULL, NULL } };

static void
hear(void *ctx, unsigned kind, struct slice payload, struct buf *answer)
{
    struct daemon *d = ctx;

    if (kind == EVENTS_MISSED)
        uid_events_missed(d->f.records);
    else
        OK(uid_events_hear(d->f.records, kind, payload, answer, &e));
}

static enum status
announce(void *ctx, enum uid_event kind, struct slice payload,
         struct buf *answers, struct error *e)
{
    struct daemon *d = ctx;

    INSIST(answers == NULL);
    return events_send(d->c, EVENTS_MS, kind, payload, e);
}

static void
daemon_open(struct daemon *d, const struct rados_rig *rig, int number)
{
    const struct put_options o = { .rules = { true, true, true, 8, false } };

    (void)snprintf(d->at, sizeof d->at, "%s&connection=d%d", rig->at, number);
    next_at = d->at;
    OK(ceph_open(d->at, &d->c, &e));
    d->f = fixture_new(layout_default);
    d->sends = (struct uid_events){ .ctx = d, .send = announce };
    uid_set_events(d->f.uids, &d->sends);
    OK(events_open(d->c, EVENTS_MS, &d->events, &e));
    events_on(d->events, UID_EVENT_NAMES, hear, d);
    events_on(d->events, UID_EVENT_SERIES, hear, d);
    events_on(d->events, UID_EVENT_ANNOTATED, hear, d);
    d->path = put_path_new(d->f.store, d->f.series, d->f.uids, &o);
}

static void
daemon_close(struct daemon *d)
{
    put_path_free(&d->path);
    events_close(&d->events);
    fixture_free(&d->f);
    ceph_close(&d->c);
}

static void
reject(void *ctx, size_t id, enum put_fault fault, struct slice why)
{
    (void)ctx;
    (void)fault;
    ck_abort_msg("point %zu: %.*s", id, SLICE_ARG(why));
}

/* A body: "m host=<what><i>" for each. */
struct body {
    struct put_json_point *points;
    unsigned len, next;
};

static void
look_ahead(void *ctx, struct put_batch *b)
{
    const struct body *body = ctx;

    for (unsigned i = body->next; i < body->len; i++)
        put_batch_json_ahead(b, &body->points[i], false);
}

static void
put_body(struct daemon *d, const char *what, unsigned from, unsigned len)
{
    struct put_batch *b = put_batch_new(d->path, reject, NULL);
    struct body body = { calloc(len, sizeof *body.points), len, 0 };
    char(*tags)[64] = calloc(len, sizeof *tags);
    size_t stored = 0;

    put_batch_set_ahead(b, look_ahead, &body);
    for (unsigned i = 0; i < len; i++) {
        (void)snprintf(tags[i], sizeof tags[i], "{\"host\":\"%s%u\"}", what,
                       from + i);
        body.points[i] = (struct put_json_point){ .metric = slice_str("m"),
                                                  .tags = slice_str(tags[i]),
                                                  .value = slice_str("1"),
                                                  .time = NOW_S };
    }
    for (; body.next < len; body.next++) {
        if (put_batch_is_full(b))
            ck_assert_int_eq(put_batch_flush(b, &stored), ST_OK);
        put_batch_json(b, &body.points[body.next], body.next, false);
    }
    ck_assert_int_eq(put_batch_flush(b, &stored), ST_OK);
    ck_assert_uint_eq(stored, len);
    free(tags);
    free(body.points);
    put_batch_free(&b);
}

START_TEST(new_names_in_a_body_are_much_cheaper)
{
    struct rados_rig rig = rados_rig_new("");
    struct daemon d[DAEMONS];
    int64_t from_us, alone_us, body_us;

    for (int i = 0; i < DAEMONS; i++)
        daemon_open(&d[i], &rig, i);
    put_body(&d[0], "first", 0, 1);
    from_us = clock_monotonic_us();
    for (unsigned i = 0; i < ALONE; i++)
        put_body(&d[0], "alone", i, 1);
    alone_us = (clock_monotonic_us() - from_us) / ALONE;
    from_us = clock_monotonic_us();
    put_body(&d[0], "body", 0, BODY);
    body_us = clock_monotonic_us() - from_us;
    (void)printf("one new series: %lld us; %d in a body: %lld us each, "
                 "1/%lld of that\n",
                 (long long)alone_us, BODY, (long long)(body_us / BODY),
                 (long long)(alone_us * BODY / body_us));
    ck_assert_int_ge(alone_us * BODY / body_us, 30);
    ck_assert_uint_eq(series_total(d[1].f.series), 1 + ALONE + BODY);
    for (int i = 0; i < DAEMONS; i++)
        daemon_close(&d[i]);
    rados_rig_free(&rig);
}
END_TEST

struct putter {
    struct daemon *d;
    unsigned number;
};

static void *
put_some(void *arg)
{
    struct putter *p = arg;
    unsigned step = p->number < 2 ? SERIES : 17;

    for (unsigned n = 0; n < SERIES; n += step)
        put_body(p->d, "h", n, n + step < SERIES ? step : SERIES - n);
    return NULL;
}

/* The same series by all threads of two daemons. */
START_TEST(racing_daemons_agree)
{
    struct rados_rig rig = rados_rig_new("");
    struct daemon d[DAEMONS];
    struct putter p[THREADS];
    pthread_t threads[THREADS];

    for (int i = 0; i < DAEMONS; i++)
        daemon_open(&d[i], &rig, i);
    for (unsigned i = 0; i < THREADS; i++) {
        p[i] = (struct putter){ &d[i % DAEMONS], i };
        ck_assert_int_eq(pthread_create(&threads[i], NULL, put_some, &p[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < DAEMONS; i++) {
        ck_assert_uint_eq(series_total(d[i].f.series), SERIES);
        series_missed(d[i].f.series);
        ck_assert_uint_eq(series_total(d[i].f.series), SERIES);
    }
    OK(uid_rename(d[0].f.uids, UID_TAGV, slice_str("h1"), slice_str("x"), &e));
    put_body(&d[1], "h", 1, 1);
    put_body(&d[1], "h", 2, 1);
    ck_assert_uint_eq(series_total(d[0].f.series), SERIES + 1);
    for (int i = 0; i < DAEMONS; i++)
        daemon_close(&d[i]);
    rados_rig_free(&rig);
}
END_TEST

RADOS_TEST_MAIN("put_rados", TEST(new_names_in_a_body_are_much_cheaper),
                TEST(racing_daemons_agree))
