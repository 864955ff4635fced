/* Reading: masks over keys, a group's numbers, and the answer's text. */
#include "bench/micro.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "bench/client.h"
#include "query/aggregate/aggregate.h"
#include "query/parse/parse.h"
#include "storage/row/key.h"
#include "storage/row/mask.h"
#include "tsd/api/query/query_json.h"

static struct deadline deadline; /* without a timeout */

#define KEYS 10000
#define KEY_SIZE                                                \
    21 /* metric, base, two tags less one byte; see make_keys() \
        */
#define SERIES    100
#define POINTS    360
#define BASE_MS   INT64_C(1735689600000)
#define TEXT_ROOM ((size_t)1 << 20)

struct mask_rig {
    uint8_t keys[KEYS][KEY_SIZE];
    struct mask_set *set;
};

/* Every tenth value of the last tag matches. */
static void
make_keys(struct mask_rig *r)
{
    static const uint8_t head[] = { 'r', 3, 0, 0, 1 };
    static const uint8_t tagk[] = { 0, 0, 1 }, tagk2[] = { 0, 0, 2 };
    struct mask *m = mask_new();
    uint64_t set[100];

    for (unsigned i = 0; i < KEYS; i++) {
        uint8_t *k = r->keys[i];

        memcpy(k, head, 5);
        key_put_uint(k + 5, 1735689600, 4);
        memcpy(k + 9, tagk, 3);
        key_put_uint(k + 12, i / 1000, 3);
        memcpy(k + 15, tagk2, 3);
        key_put_uint(k + 18, i % 1000, 3);
    }
    for (unsigned i = 0; i < 100; i++)
        set[i] = i * 10;
    mask_add_fixed(m, slice_of(head, 5));
    mask_add_steps(m, 1735689600, 1735689600 + 36000, 3600, 4);
    mask_add_fixed(m, slice_of(tagk, 3));
    mask_add_any(m, 3);
    mask_add_fixed(m, slice_of(tagk2, 3));
    mask_add_set(m, set, 100, 3);
    r->set = mask_set_new();
    mask_set_give(r->set, &m);
}

static struct slice
key_at(struct mask_rig *r, size_t i)
{
    return slice_of(r->keys[i], KEY_SIZE);
}

static void
match(void *ctx)
{
    struct mask_rig *r = ctx;
    uint64_t n = 0;

    for (size_t i = 0; i < KEYS; i++)
        n += mask_set_match(r->set, key_at(r, i));
    micro_use(n);
}

static void
hint(void *ctx)
{
    struct mask_rig *r = ctx;
    uint8_t out[ROW_KEY_MAX];
    uint64_t n = 0;

    for (size_t i = 0; i < KEYS; i++)
        n += mask_set_hint(r->set, key_at(r, i), out);
    micro_use(n);
}

static void
compare_keys(void *ctx)
{
    struct mask_rig *r = ctx;
    uint64_t n = 0;

    for (size_t i = 1; i < KEYS; i++)
        n += slice_cmp(key_at(r, i - 1), key_at(r, i)) < 0;
    micro_use(n);
}

static void
measure_masks(void)
{
    struct mask_rig *r = mem_new(sizeof *r);

    make_keys(r);
    micro_run(&(struct micro){ "does a key match a mask", "key", KEYS, match,
                               "memcmp of two keys", compare_keys },
              r);
    micro_run(&(struct micro){ "the next key that a mask could take", "key",
                               KEYS, hint, "memcmp of two keys", compare_keys },
              r);
    mask_set_free(&r->set);
    free(r);
}

struct number_rig {
    struct query q;
    struct query_reading reading;
    struct column spans[SERIES];
    int64_t ts[POINTS];
    union number v[SERIES][POINTS];
    uint8_t is_float[POINTS];
    struct arena *arena;
    struct dps dps;
};

static void
make_series(struct number_rig *r, const char *downsample)
{
    char body[300];
    struct parse_options o = { .now_ms = BASE_MS };
    struct parse_error e;

    memset(r, 0, sizeof *r);
    r->arena = arena_new(0);
    for (size_t i = 0; i < POINTS; i++) {
        r->ts[i] = BASE_MS + (int64_t)i * 10000;
        r->is_float[i] = 1;
    }
    for (size_t k = 0; k < SERIES; k++) {
        for (size_t i = 0; i < POINTS; i++)
            r->v[k][i].d = (double)(k * 31 + i * 7 % 100) / 4;
        r->spans[k] = (struct column){
            .ts_ms = r->ts, .v = r->v[k], .is_float = r->is_float, .len = POINTS
        };
    }
    (void)snprintf(body, sizeof body,
                   "{\"start\":%lld,\"end\":%lld,\"queries\":[{"
                   "\"aggregator\":\"sum\",\"metric\":\"m\"%s%s%s}]}",
                   (long long)BASE_MS, (long long)BASE_MS + 3599999,
                   *downsample ? ",\"downsample\":\"" : "", downsample,
                   *downsample ? "\"" : "");
    if (query_parse_json(slice_str(body), &o, arena_new(0), &r->q, &e) != ST_OK)
        client_die(e.message.text);
    reading_make(&r->reading, &r->q, r->q.subs);
}

static void
run_numbers(void *ctx)
{
    struct number_rig *r = ctx;
    const struct aggregate_job job = { .q = &r->q,
                                       .sq = r->q.subs,
                                       .reading = &r->reading,
                                       .deadline = &deadline };
    struct column spans[SERIES];

    arena_reset(r->arena);
    memcpy(spans, r->spans, sizeof spans);
    if (aggregate_group(&job, spans, SERIES, r->arena, &r->dps, NULL) != ST_OK)
        client_die("the numbers failed");
    micro_use(r->dps.len);
}

static void
add_up(void *ctx)
{
    struct number_rig *r = ctx;
    double sums[4] = { 0 };

    for (size_t k = 0; k < SERIES; k++)
        for (size_t i = 0; i < POINTS; i += 4)
            for (size_t j = 0; j < 4; j++)
                sums[j] += r->v[k][i + j].d;
    micro_use((uint64_t)(sums[0] + sums[1] + sums[2] + sums[3]));
}

static void
measure_numbers(const char *what, const char *downsample)
{
    struct number_rig *r = mem_new(sizeof *r);

    make_series(r, downsample);
    micro_run(&(struct micro){ what, "point", SERIES * POINTS, run_numbers,
                               "a loop that adds them", add_up },
              r);
    query_fini(&r->q);
    arena_free(&r->arena);
    free(r);
}

struct json_rig {
    struct query q;
    struct sub_query sub;
    struct result_group g;
    struct result_stats stats;
    int64_t ts[KEYS];
    union number v[KEYS];
    uint8_t kind[KEYS];
    struct buf out;
    uint8_t copy[TEXT_ROOM];
    struct arena *arena;
};

static void
write_json(void *ctx)
{
    struct json_rig *r = ctx;
    const struct group_json j = { .q = &r->q,
                                  .group = &r->g,
                                  .stats = &r->stats };

    buf_clear(&r->out);
    micro_use(query_json_group(&r->out, &j, NULL));
}

static void
copy_text(void *ctx)
{
    struct json_rig *r = ctx;

    memcpy(r->copy, r->out.data, r->out.size);
    micro_use(r->copy[r->out.size - 1]);
}

static void
measure_json(const char *what, bool floats)
{
    struct json_rig *r = mem_new(sizeof *r);

    r->arena = arena_new(0);
    r->sub.aggregator_name = r->sub.metric = r->g.metric = slice_str("m");
    r->q.subs = &r->sub;
    r->q.subs_len = 1;
    r->q.start_ms = BASE_MS;
    r->q.end_ms = BASE_MS + KEYS * 10000;
    r->g.sub = &r->sub;
    r->g.dps = (struct dps){ r->ts, r->v, r->kind, KEYS };
    for (size_t i = 0; i < KEYS; i++) {
        r->ts[i] = BASE_MS + (int64_t)i * 10000;
        r->kind[i] = floats ? DP_DOUBLE : DP_INT;
        if (floats)
            r->v[i].d = sin((double)i) * 50;
        else
            r->v[i].i = (int64_t)i * 7 % 100;
    }
    write_json(r);
    if (r->out.size > sizeof r->copy)
        client_die("the text is too long");
    micro_run(&(struct micro){ what, "point", KEYS, write_json,
                               "memcpy of the text", copy_text },
              r);
    buf_fini(&r->out);
    arena_free(&r->arena);
    free(r);
}

void
micro_query(void)
{
    measure_masks();
    measure_numbers("sum of 100 series", "");
    measure_numbers("sum of 100 series, each a mean a minute", "1m-avg");
    measure_json("write the answer, whole numbers", false);
    measure_json("write the answer, doubles of 16 digits", true);
}
