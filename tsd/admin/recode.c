#include "tsd/admin/recode.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/obj.h"
#include "storage/week/week.h"
#include "uid/names/uid.h"
#include "uid/series/tagk_sets.h"

#define RECODE_MAGIC FOURCC('R', 'C', 'O', 'D')
#define TIME_SIZE    8 /* behind the key of a row in quarantine */

/* The tag-key sets of one salt bucket and of the metric that is being read:
 * series come in the order of their metrics. */
struct counted {
    struct counted_set {
        uint8_t key[TAGK_SETS_KEY_MAX];
        size_t size;
        uint64_t series;
    } * sets;
    size_t len;
};

struct recode {
    uint32_t magic;
    struct key_layout from, to;
    struct counted *counted; /* one for each salt bucket of the copy */
    uint8_t metric[8];
    bool moves; /* the original is written to meanwhile */
    struct {
        uint64_t counter, highest;
    } ids[UID_KINDS_ALL];
};

enum status
recode_new(const struct key_layout *from, const struct key_layout *to,
           bool from_shared, struct recode **out, struct error *e)
{
    struct recode *r;

    *out = NULL;
    if (from->metric_width != to->metric_width ||
        from->tagk_width != to->tagk_width ||
        from->tagv_width != to->tagv_width || from->row_hours != to->row_hours)
        return error_set(e, ST_INVALID,
                         "the stores differ in the width of ids or the hours "
                         "of a row: a copy can change salt buckets alone");
    r = mem_new(sizeof *r);
    r->magic = RECODE_MAGIC;
    r->from = *from;
    r->to = *to;
    r->moves = from_shared;
    r->counted = mem_new_array(to->salt_buckets, sizeof *r->counted);
    *out = r;
    return ST_OK;
}

void
recode_free(struct recode **rp)
{
    struct recode *r = OBJ_TAKE(rp, RECODE_MAGIC);

    if (r == NULL)
        return;
    for (size_t i = 0; i < r->to.salt_buckets; i++)
        free(r->counted[i].sets);
    free(r->counted);
    OBJ_FREE(r);
}

/* -- tag-key sets ---------------------------------------------------------- */

/* Puts what was counted of the metric that has ended. */
static void
put_counted(struct recode *r, struct kv_batch *b)
{
    for (size_t i = 0; i < r->to.salt_buckets; i++) {
        struct counted *c = &r->counted[i];

        for (size_t n = 0; n < c->len; n++) {
            uint8_t count[8];

            key_put_uint(count, c->sets[n].series, sizeof count);
            kv_batch_put(b, slice_of(c->sets[n].key, c->sets[n].size),
                         slice_of(count, sizeof count));
        }
        c->len = 0;
    }
}

static void
count_series(struct recode *r, struct slice tsuid)
{
    struct counted *c = &r->counted[key_salt(&r->to, tsuid)];
    uint8_t key[TAGK_SETS_KEY_MAX];
    struct slice set = tagk_sets_key(&r->to, tsuid, key);
    size_t i = 0;

    while (i < c->len &&
           !slice_eq(slice_of(c->sets[i].key, c->sets[i].size), set))
        i++;
    if (i == c->len) {
        c->sets = mem_resize(c->sets, ++c->len, sizeof *c->sets);
        memcpy(c->sets[i].key, key, set.size);
        c->sets[i].size = set.size;
        c->sets[i].series = 0;
    }
    c->sets[i].series++;
}

/* -- rows ------------------------------------------------------------------ */

/* A row's key with the other salt, or as it is when it is none. */
static struct slice
row_key(const struct recode *r, struct slice key, uint8_t out[ROW_KEY_MAX])
{
    struct tsuid tsuid;
    uint32_t base;

    if (key_row_parse(&r->from, key, &base, &tsuid, NULL) != ST_OK)
        return key;
    return slice_of(out, key_row_part(&r->to, tsuid_slice(&tsuid), base, out));
}

/* Copies an entry if rows were dropped from which it was made, or if it cannot
 * be decoded. The copy's store makes the others, and the states, itself. */
static void
put_week(const struct recode *r, struct slice key, struct slice value,
         struct kv_batch *b)
{
    uint8_t out[ROW_KEY_MAX];
    struct tsuid tsuid;
    struct week w;
    uint32_t base;

    if (value.size == 0 || key.size <= 1u + r->from.salt_width ||
        key_week_parse(&r->from, key, &base, &tsuid, NULL) != ST_OK)
        return;
    if (week_decode(value, base, HOURS_NONE, &w, NULL) != ST_OK ||
        week_is_final(&w))
        kv_batch_put(
            b, slice_of(out, key_week(&r->to, tsuid_slice(&tsuid), base, out)),
            value);
}

static void
put_quarantined(struct recode *r, struct slice key, struct slice value,
                struct kv_batch *b)
{
    uint8_t row[ROW_KEY_MAX], out[1 + ROW_KEY_MAX + TIME_SIZE];
    struct slice new_row;

    if (key.size <= 1 + TIME_SIZE || key.size > sizeof out) {
        kv_batch_put(b, key, value);
        return;
    }
    new_row = row_key(r, slice_of(key.data + 1, key.size - 1 - TIME_SIZE), row);
    out[0] = TABLE_QUARANTINE;
    memcpy(out + 1, new_row.data, new_row.size);
    memcpy(out + 1 + new_row.size, key.data + key.size - TIME_SIZE, TIME_SIZE);
    kv_batch_put(b, slice_of(out, 1 + new_row.size + TIME_SIZE), value);
}

/* -- names ----------------------------------------------------------------- */

/* A new name is entered behind its id and that behind the counter, which is the
 * order of their keys, too: whoever reads them one after the other may miss the
 * id of a name that he sees.  So ids follow from names.  Those that were
 * deleted have no name, and are kept. */
static void
put_uid(struct recode *r, struct slice key, struct slice value,
        struct kv_batch *b)
{
    const char *at = key.size < 3
                         ? NULL
                         : memchr(UID_KIND_BYTES, key.data[1], UID_KINDS_ALL);
    enum uid_kind kind =
        at == NULL ? UID_METRIC : (enum uid_kind)(at - UID_KIND_BYTES);
    unsigned width = uid_key_width(&r->to, kind);
    uint8_t back[UID_KEY_MAX];
    uint64_t id;

    if (at != NULL && key.data[2] == 'i' && value.size > 0)
        return;
    kv_batch_put(b, key, value);
    if (at != NULL && key.data[2] == 'c' && value.size == 8)
        r->ids[kind].counter = key_get_uint(value.data, 8);
    if (at == NULL || key.data[2] != 'n' || value.size < width)
        return;
    id = key_get_uint(value.data, width);
    if (id > r->ids[kind].highest)
        r->ids[kind].highest = id;
    kv_batch_put(b, uid_key(&r->to, kind, 'i', id, back),
                 slice_of(key.data + 3, key.size - 3));
}

static void
put(void *ctx, struct slice key, struct slice value, struct kv_batch *b)
{
    struct recode *r = ctx;
    uint8_t row[ROW_KEY_MAX];

    OBJ_CHECK(r, RECODE_MAGIC);
    switch (key.size == 0 ? 0 : key.data[0]) {
    case TABLE_ROWS:
        kv_batch_put(b, row_key(r, key, row), value);
        break;
    case TABLE_QUARANTINE:
        put_quarantined(r, key, value, b);
        break;
    case TABLE_SERIES: {
        struct slice tsuid = slice_of(key.data + 1, key.size - 1);

        if (tsuid_is_valid(&r->to, tsuid)) {
            if (memcmp(tsuid.data, r->metric, r->to.metric_width) != 0)
                put_counted(r, b);
            memcpy(r->metric, tsuid.data, r->to.metric_width);
            count_series(r, tsuid);
        }
        kv_batch_put(b, key, value);
        break;
    }
    case TABLE_UID:
        if (r->moves)
            put_uid(r, key, value, b);
        else
            kv_batch_put(b, key, value);
        break;
    case TABLE_TAGK_SETS:
    case TABLE_BATCHES:
        break;
    case TABLE_WEEKS:
        put_week(r, key, value, b);
        break;
    default:
        kv_batch_put(b, key, value);
        break;
    }
}

static void
end(void *ctx, struct kv_batch *b)
{
    struct recode *r = ctx;
    uint8_t key[UID_KEY_MAX], counter[8];

    put_counted(r, b);
    /* Not of metrics, which may have ids at random, far above. */
    for (int kind = 0; kind < UID_KINDS_ALL; kind++) {
        if (kind == UID_METRIC || r->ids[kind].highest <= r->ids[kind].counter)
            continue;
        (void)uid_key(&r->to, (enum uid_kind)kind, 'c', 0, key);
        key_put_uint(counter, r->ids[kind].highest, sizeof counter);
        kv_batch_put(b, slice_of(key, 3), slice_of(counter, sizeof counter));
    }
}

struct kv_recode
recode_rules(struct recode *r)
{
    OBJ_CHECK(r, RECODE_MAGIC);
    return (struct kv_recode){ put, end, r };
}
