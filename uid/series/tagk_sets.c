/* One hash table of keys, without salts.  The key of a metric alone, which is
 * no tag-key set since every series has a tag, heads the list of that metric's
 * tag-key sets and counts their series. */
#include "uid/series/tagk_sets.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/process/lock.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/table.h"

#define TAGK_SETS_MAGIC FOURCC('S', 'H', 'A', 'P')

struct node {
    struct node *next; /* of the same metric, newest first */
    uint64_t series;
    uint32_t *buckets; /* series in each salt bucket; NULL: a metric */
    uint16_t size;
    uint8_t key[];
};

struct tagk_sets {
    uint32_t magic;
    struct key_layout widths;
    uint64_t seed;
    struct lock lock;
    struct hash_table
        table GUARDED_BY(lock); /* of keys: their nodes' indices */
    struct node **nodes GUARDED_BY(lock);
    size_t cap GUARDED_BY(lock); /* of 'nodes' */
    uint64_t total GUARDED_BY(lock);
    uint64_t changes GUARDED_BY(lock);
};

struct tagk_sets *
tagk_sets_new(const struct key_layout *layout)
{
    struct tagk_sets *s = mem_new(sizeof *s);

    s->magic = TAGK_SETS_MAGIC;
    s->widths = *layout;
    s->seed = hash_random_seed();
    lock_init(&s->lock);
    return s;
}

void
tagk_sets_free(struct tagk_sets **sp)
{
    struct tagk_sets *s = OBJ_TAKE(sp, TAGK_SETS_MAGIC);

    if (s == NULL)
        return;
    lock_take(&s->lock);
    for (size_t i = 0; i < s->table.len; i++) {
        free(s->nodes[i]->buckets);
        free(s->nodes[i]);
    }
    free(s->nodes);
    table_fini(&s->table);
    lock_drop(&s->lock);
    lock_fini(&s->lock);
    OBJ_FREE(s);
}

struct slice
tagk_sets_key(const struct key_layout *w, struct slice tsuid,
              uint8_t out[TAGK_SETS_KEY_MAX])
{
    size_t n = 1u + w->metric_width;

    out[0] = TABLE_TAGK_SETS;
    memcpy(out + 1, tsuid.data, w->metric_width);
    for (size_t i = 0; i < tsuid_tags(w, tsuid); i++, n += w->tagk_width)
        memcpy(out + n, tsuid_tagk(w, tsuid, i).data, w->tagk_width);
    out[n++] = (uint8_t)key_salt(w, tsuid);
    return slice_of(out, n);
}

bool
tagk_sets_is_valid(const struct key_layout *w, struct slice key,
                   uint64_t series)
{
    size_t head = 1u + w->metric_width, tagks;

    if (key.size <= head + 1 || key.data[0] != TABLE_TAGK_SETS)
        return false;
    tagks = key.size - head - 1;
    return tagks % w->tagk_width == 0 &&
           tagks / w->tagk_width <= KEY_MAX_TAGS &&
           key.data[key.size - 1] < w->salt_buckets && series <= UINT32_MAX;
}

/* Divides a key into its tag-key set and its salt bucket. */
static struct slice
split(struct slice key, unsigned *bucket)
{
    *bucket = key.data[key.size - 1];
    return slice_of(key.data, key.size - 1);
}

/* What heads the list of a metric. */
static struct slice
metric_key(const struct tagk_sets *s, uint64_t metric, uint8_t out[1 + 8])
{
    out[0] = TABLE_TAGK_SETS;
    key_put_uint(out + 1, metric, s->widths.metric_width);
    return slice_of(out, 1u + s->widths.metric_width);
}

static bool
node_is(const void *nodes, uint32_t i, const void *key)
{
    const struct node *n = ((struct node *const *)nodes)[i];

    return slice_eq(slice_of(n->key, n->size), *(const struct slice *)key);
}

/* NULL when it is not there. */
static struct node *
node_find(const struct tagk_sets *s, struct slice key) REQUIRES(s->lock)
{
    uint32_t i = table_find(&s->table, hash_slice(key, s->seed), node_is,
                            s->nodes, &key);

    return i == TABLE_NONE ? NULL : s->nodes[i];
}

static struct node *
find_or_add(struct tagk_sets *s, struct slice key, bool *added)
    REQUIRES(s->lock)
{
    struct node *n = node_find(s, key);
    size_t len = s->table.len;

    *added = n == NULL;
    if (n != NULL)
        return n;
    s->nodes = mem_grow(s->nodes, len, &s->cap, sizeof *s->nodes);
    n = mem_new(sizeof *n + key.size);
    n->size = (uint16_t)key.size;
    memcpy(n->key, key.data, key.size);
    s->nodes[len] = n;
    table_add(&s->table, hash_slice(key, s->seed), (uint32_t)len);
    return n;
}

static void
put_count(struct tagk_sets *s, struct slice key, uint64_t series, bool raise)
{
    unsigned bucket;
    struct slice set = split(key, &bucket);
    struct node *n, *head;
    bool added, head_added;

    OBJ_CHECK(s, TAGK_SETS_MAGIC);
    INSIST(tagk_sets_is_valid(&s->widths, key, series));
    lock_take(&s->lock);
    n = find_or_add(s, set, &added);
    head = find_or_add(s, slice_of(key.data, 1u + s->widths.metric_width),
                       &head_added);
    s->changes++;
    if (added) {
        n->buckets = mem_new_array(s->widths.salt_buckets, sizeof *n->buckets);
        n->next = head->next;
        head->next = n;
    }
    if (!raise || series > n->buckets[bucket]) {
        uint64_t change = series - n->buckets[bucket];

        n->buckets[bucket] = (uint32_t)series;
        n->series += change;
        head->series += change;
        s->total += change;
    }
    lock_drop(&s->lock);
}

void
tagk_sets_set(struct tagk_sets *s, struct slice key, uint64_t series)
{
    put_count(s, key, series, false);
}

void
tagk_sets_raise(struct tagk_sets *s, struct slice key, uint64_t series)
{
    put_count(s, key, series, true);
}

uint64_t
tagk_sets_changes(struct tagk_sets *s)
{
    uint64_t changes;

    OBJ_CHECK(s, TAGK_SETS_MAGIC);
    lock_take(&s->lock);
    changes = s->changes;
    lock_drop(&s->lock);
    return changes;
}

/* No other thread uses 'fresh'. */
bool
tagk_sets_replace(struct tagk_sets *s, struct tagk_sets *fresh,
                  uint64_t changes) NO_TS_CHECK
{
    bool same;

    OBJ_CHECK(s, TAGK_SETS_MAGIC);
    lock_take(&s->lock);
    same = s->changes == changes;
    if (same) {
        struct hash_table table = s->table;
        struct node **nodes = s->nodes;

        s->seed = fresh->seed;
        s->table = fresh->table;
        s->nodes = fresh->nodes;
        s->cap = fresh->cap;
        s->total = fresh->total;
        fresh->table = table;
        fresh->nodes = nodes;
    }
    lock_drop(&s->lock);
    return same;
}

uint64_t
tagk_sets_get(struct tagk_sets *s, struct slice key)
{
    unsigned bucket;
    struct slice set;
    const struct node *n;
    uint64_t series;

    OBJ_CHECK(s, TAGK_SETS_MAGIC);
    set = split(key, &bucket);
    lock_take(&s->lock);
    n = node_find(s, set);
    series = n == NULL ? 0 : n->buckets[bucket];
    lock_drop(&s->lock);
    return series;
}

enum status
tagk_sets_list(struct tagk_sets *s, uint64_t metric, struct arena *a,
               struct series_tagk_set **out, size_t *len, struct error *e)
{
    uint8_t key[1 + 8];
    const struct node *head;
    enum status st = ST_OK;

    OBJ_CHECK(s, TAGK_SETS_MAGIC);
    *out = NULL;
    *len = 0;
    lock_take(&s->lock);
    head = node_find(s, metric_key(s, metric, key));
    if (head != NULL) {
        size_t n = 0;

        for (const struct node *i = head->next; i != NULL; i = i->next)
            n++;
        *out = arena_array(a, n, sizeof **out);
        if (*out == NULL)
            st = error_no_memory(e);
        for (const struct node *i = head->next; i != NULL && *out != NULL;
             i = i->next) {
            struct series_tagk_set *set = &(*out)[(*len)++];

            set->series = i->series;
            for (size_t at = 1u + s->widths.metric_width; at < i->size;
                 at += s->widths.tagk_width)
                set->tagks[set->tagks_len++] =
                    key_get_uint(i->key + at, s->widths.tagk_width);
        }
    }
    lock_drop(&s->lock);
    return st;
}

uint64_t
tagk_sets_count(struct tagk_sets *s, uint64_t metric)
{
    uint8_t key[1 + 8];
    const struct node *head;
    uint64_t series;

    OBJ_CHECK(s, TAGK_SETS_MAGIC);
    lock_take(&s->lock);
    head = node_find(s, metric_key(s, metric, key));
    series = head == NULL ? 0 : head->series;
    lock_drop(&s->lock);
    return series;
}

uint64_t
tagk_sets_total(struct tagk_sets *s)
{
    uint64_t total;

    OBJ_CHECK(s, TAGK_SETS_MAGIC);
    lock_take(&s->lock);
    total = s->total;
    lock_drop(&s->lock);
    return total;
}

uint64_t *
tagk_sets_metrics(struct tagk_sets *s, uint64_t tagk, size_t *len)
{
    const struct key_layout *w = &s->widths;
    uint64_t *out;
    size_t all = 0;

    OBJ_CHECK(s, TAGK_SETS_MAGIC);
    lock_take(&s->lock);
    out = mem_new_array(s->table.len + 1, sizeof *out);
    for (size_t i = 0; i < s->table.len; i++) {
        const struct node *n = s->nodes[i];
        bool has = false;

        for (size_t at = 1u + w->metric_width; at < n->size && n->series > 0;
             at += w->tagk_width)
            has |= key_get_uint(n->key + at, w->tagk_width) == tagk;
        if (has)
            out[all++] = key_get_uint(n->key + 1, w->metric_width);
    }
    lock_drop(&s->lock);
    *len = sort_unique_u64(out, all);
    return out;
}
