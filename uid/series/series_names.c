/* Kind by kind: a tagk is created only for a series whose metric has an id, a
 * tagv only for one whose tagks all have one. */
#include "uid/series/series_names.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"
#include "uid/series/series_priv.h"

#define NAMES_MAGIC FOURCC('S', 'N', 'A', 'M')

/* Different names of a kind, in the order in which they came. */
struct names {
    struct hash_table table;
    struct uid_wanted *all;
    size_t len, cap;
};

struct series {
    uint32_t metric;
    size_t pairs, pairs_len; /* places in 'pairs' */
    bool full;               /* no room: nothing is created for it */
    bool dropped;            /* a name has no id */
};

struct series_names {
    uint32_t magic;
    struct series_directory *directory;
    const struct series_rules *rules;
    struct arena *arena; /* of names */
    uint64_t seed;
    struct names kinds[UID_KINDS];
    struct series *series;
    size_t series_len, series_cap;
    uint32_t (*pairs)[2]; /* tagk, tagv */
    size_t pairs_len, pairs_cap;
};

struct series_names *
series_names_new(struct series_directory *d, const struct series_rules *rules)
{
    struct series_names *n = mem_new(sizeof *n);

    n->magic = NAMES_MAGIC;
    n->directory = d;
    n->rules = rules;
    n->arena = arena_new(0);
    n->seed = hash_random_seed();
    return n;
}

static bool
is_name(const void *all, uint32_t i, const void *name)
{
    return slice_eq(((const struct uid_wanted *)all)[i].name,
                    *(const struct slice *)name);
}

/* Where the name is among those of its kind. */
static uint32_t
place_of(struct series_names *n, enum uid_kind kind, struct slice name)
{
    struct names *k = &n->kinds[kind];
    uint64_t hash = hash_slice(name, n->seed);
    uint32_t i = table_find(&k->table, hash, is_name, k->all, &name);

    if (i != TABLE_NONE)
        return i;
    if (k->len == k->cap) {
        k->cap += k->cap / 2 + 64;
        k->all = mem_resize(k->all, k->cap, sizeof *k->all);
    }
    k->all[k->len] =
        (struct uid_wanted){ .name = slice_of(arena_strdup(n->arena, name),
                                              name.size) };
    table_add(&k->table, hash, (uint32_t)k->len);
    return (uint32_t)k->len++;
}

void
series_names_add(struct series_names *n, const struct series_text *x)
{
    struct tag_set set;
    struct series *s;

    OBJ_CHECK(n, NAMES_MAGIC);
    if (series_check(n->directory->uids, n->rules, x, &set, NULL) != ST_OK)
        return;
    if (n->series_len == n->series_cap) {
        n->series_cap += n->series_cap / 2 + 64;
        n->series = mem_resize(n->series, n->series_cap, sizeof *n->series);
    }
    if (n->pairs_len + set.len > n->pairs_cap) {
        n->pairs_cap += n->pairs_cap / 2 + 64 + set.len;
        n->pairs = mem_resize(n->pairs, n->pairs_cap, sizeof *n->pairs);
    }
    s = &n->series[n->series_len++];
    *s = (struct series){ .metric = place_of(n, UID_METRIC, x->metric),
                          .pairs = n->pairs_len,
                          .pairs_len = set.len,
                          .full = series_is_full(n->directory, x->metric) };
    for (size_t i = 0; i < set.len; i++, n->pairs_len++) {
        n->pairs[n->pairs_len][0] = place_of(n, UID_TAGK, set.tags[i]->key);
        n->pairs[n->pairs_len][1] = place_of(n, UID_TAGV, set.tags[i]->value);
    }
}

/* The names of a kind that a series has: places in 'kinds[kind].all'. */
static size_t
places_of(const struct series_names *n, enum uid_kind kind,
          const struct series *s, uint32_t out[TAG_SET_MAX])
{
    if (kind == UID_METRIC) {
        out[0] = s->metric;
        return 1;
    }
    for (size_t i = 0; i < s->pairs_len; i++)
        out[i] = n->pairs[s->pairs + i][kind == UID_TAGV];
    return s->pairs_len;
}

static void
resolve_kind(struct series_names *n, enum uid_kind kind, bool create)
{
    struct names *k = &n->kinds[kind];
    uint32_t places[TAG_SET_MAX];
    size_t len;

    for (size_t i = 0; i < n->series_len && create; i++) {
        const struct series *s = &n->series[i];

        len = s->full || s->dropped ? 0 : places_of(n, kind, s, places);
        while (len > 0)
            k->all[places[--len]].create = true;
    }
    if (uid_resolve(n->directory->uids, kind, k->all, k->len, NULL) != ST_OK)
        for (size_t i = 0; i < k->len; i++)
            k->all[i].id = 0;
    for (size_t i = 0; i < n->series_len; i++) {
        struct series *s = &n->series[i];

        len = places_of(n, kind, s, places);
        while (len > 0)
            s->dropped |= k->all[places[--len]].id == 0;
    }
}

void
series_names_resolve(struct series_names **np)
{
    struct series_names *n = OBJ_TAKE(np, NAMES_MAGIC);

    resolve_kind(n, UID_METRIC, n->rules->create_metrics);
    resolve_kind(n, UID_TAGK, n->rules->create_tagks);
    resolve_kind(n, UID_TAGV, n->rules->create_tagvs);
    for (int kind = 0; kind < UID_KINDS; kind++) {
        table_fini(&n->kinds[kind].table);
        free(n->kinds[kind].all);
    }
    arena_free(&n->arena);
    free(n->series);
    free(n->pairs);
    OBJ_FREE(n);
}
