/* An engine of queries over a store in memory. */
#pragma once

#include "query/engine/engine.h"
#include "tests/harness.h"

#define T0 INT64_C(1356998400000)

static struct error e;

struct world {
    struct store *store;
    struct uid_table *uids;
    struct series_directory *series;
    struct engine *engine;
};

/* 'buckets' 0: no salt. */
static inline struct world
open_engine(unsigned buckets, struct engine_options eo)
{
    struct store_options so = { .layout = KEY_LAYOUT_DEFAULT };
    struct uid_options uo = { 0 };
    struct world w = { 0 };

    so.layout.salt_width = buckets > 0;
    so.layout.salt_buckets = (uint16_t)(buckets > 0 ? buckets : 1);
    ck_assert_int_eq(store_open(&so, &w.store, &e), ST_OK);
    ck_assert_int_eq(uid_open(w.store, &uo, &w.uids, &e), ST_OK);
    ck_assert_int_eq(series_open(w.store, w.uids, &w.series, &e), ST_OK);
    w.engine = engine_new(w.store, w.uids, w.series, &eo);
    return w;
}

static inline struct world
open_world(unsigned buckets, int path)
{
    return open_engine(
        buckets, (struct engine_options){ .threads = 2, .force_path = path });
}

static inline void
close_world(struct world *w)
{
    engine_free(&w->engine);
    series_close(&w->series);
    uid_close(&w->uids);
    ck_assert_int_eq(store_close(&w->store, &e), ST_OK);
}
