/* The UID table, read: cache first, then the store.  Nothing here takes the
 * table's lock. */
#include "uid/names/uid.h"

#include <stdlib.h>

#include "base/process/clock.h"
#include "base/mem.h"
#include "base/sort.h"
#include "uid/names/uid_priv.h"

#define CACHE_ENTRIES 2000000
#define NAMES_MAGIC   FOURCC('U', 'I', 'D', 'N')

/* -- keys ---------------------------------------------------------------- */

unsigned
uid_key_width(const struct key_layout *w, enum uid_kind kind)
{
    return kind == UID_METRIC ? w->metric_width
           : kind == UID_TAGK ? w->tagk_width
                              : w->tagv_width;
}

struct slice
uid_key(const struct key_layout *w, enum uid_kind kind, char what, uint64_t id,
        uint8_t out[UID_KEY_MAX])
{
    out[0] = TABLE_UID;
    out[1] = (uint8_t)UID_KIND_BYTES[kind];
    out[2] = (uint8_t)what;
    key_put_uint(out + 3, id, uid_key_width(w, kind));
    return slice_of(out, 3 + uid_key_width(w, kind));
}

/* Half a key would be another one: a name would be taken for new, and get a
 * second id. */
void
uid_key_name(enum uid_kind kind, struct slice name, struct buf *out)
{
    buf_clear(out);
    buf_make_room(out, 3 + name.size);
    buf_put_u8(out, TABLE_UID);
    buf_put_u8(out, (uint8_t)UID_KIND_BYTES[kind]);
    buf_put_u8(out, 'n');
    buf_put_slice(out, name);
}

uint64_t
uid_max(const struct uid_table *u, enum uid_kind kind)
{
    unsigned width = u->kinds[kind].width;

    return width >= 8 ? INT64_MAX : (UINT64_C(1) << 8 * width) - 1;
}

unsigned
uid_width(const struct uid_table *u, enum uid_kind kind)
{
    OBJ_CHECK(u, UID_MAGIC);
    return u->kinds[kind].width;
}

bool
uid_is_fresh(const struct uid_table *u, enum uid_kind kind, uint64_t id)
{
    return !u->shared && !(kind == UID_METRIC && u->random_metrics) &&
           id > atomic_load(&u->kinds[kind].aged);
}

void
uid_age_ids(struct uid_table *u)
{
    for (int kind = 0; kind < UID_KINDS_ALL; kind++)
        atomic_store(&u->kinds[kind].aged,
                     atomic_load(&u->kinds[kind].highest));
}

const char *
uid_bytes_text(const struct uid_table *u, enum uid_kind kind, uint64_t id,
               char out[UID_BYTES_TEXT])
{
    unsigned width = u->kinds[kind].width;
    size_t n = 0;

    for (unsigned i = 0; i < width; i++)
        n += (size_t)snprintf(out + n, UID_BYTES_TEXT - n, "%s%d",
                              i == 0 ? "[" : ", ",
                              (int8_t)(uint8_t)(id >> 8 * (width - 1 - i)));
    (void)snprintf(out + n, UID_BYTES_TEXT - n, "]");
    return out;
}

/* -- open and close ------------------------------------------------------ */

enum status
uid_read_counter(struct uid_table *u, enum uid_kind kind, uint64_t *out,
                 struct error *e)
{
    uint8_t key[UID_KEY_MAX];
    struct buf value = BUF_INIT;
    enum status st;

    (void)uid_key(store_layout(u->store), kind, 'c', 0, key);
    st = kv_get(store_kv(u->store), slice_of(key, 3), &value, e);
    *out = 0;
    if (st == ST_NOT_FOUND)
        st = ST_OK;
    else if (st == ST_OK && value.size != 8)
        st = error_set(e, ST_CORRUPT, "uid counter of %s: %zu bytes, not 8",
                       uid_kind_name(kind), value.size);
    else if (st == ST_OK)
        *out = key_get_uint(value.data, 8);
    buf_fini(&value);
    return st;
}

enum status
uid_open(struct store *s, const struct uid_options *o, struct uid_table **out,
         struct error *e)
{
    struct uid_table *u = mem_new(sizeof *u);
    enum status st = ST_OK;

    u->magic = UID_MAGIC;
    u->store = s;
    u->specials = o->allow_specialchars == NULL
                      ? NULL
                      : mem_strdup(o->allow_specialchars);
    u->random_metrics = o->random_metrics;
    u->allow = o->allow;
    u->allow_ctx = o->allow_ctx;
    u->cache =
        uid_cache_new(o->cache_entries == 0 ? CACHE_ENTRIES : o->cache_entries);
    lock_init(&u->lock);
    rwlock_init(&u->deleted_lock);
    u->shared = kv_traits(store_kv(s))->shared;
    for (int kind = 0; kind < UID_KINDS_ALL && st == ST_OK; kind++) {
        struct uid_state *k = &u->kinds[kind];
        uint64_t opened = 0;

        k->width = uid_key_width(store_layout(s), (enum uid_kind)kind);
        st = uid_read_counter(u, (enum uid_kind)kind, &opened, e);
        atomic_store(&k->highest, opened);
        atomic_store(&k->aged, opened);
        k->next = opened + 1;
        k->end = u->shared ? opened : uid_max(u, (enum uid_kind)kind);
        if (st == ST_OK)
            st = uid_deleted_load(u, (enum uid_kind)kind, e);
    }
    if (st != ST_OK)
        uid_close(&u);
    *out = u;
    return st;
}

void
uid_close(struct uid_table **up)
{
    struct uid_table *u = OBJ_TAKE(up, UID_MAGIC);

    if (u == NULL)
        return;
    uid_drop_blocks(u);
    uid_cache_free(&u->cache);
    lock_fini(&u->lock);
    rwlock_fini(&u->deleted_lock);
    for (int kind = 0; kind < UID_KINDS_ALL; kind++)
        free(u->deleted[kind].ids);
    free(u->specials);
    OBJ_FREE(u);
}

/* -- find ---------------------------------------------------------------- */

struct slice
uid_entry(const struct uid_table *u, enum uid_kind kind, uint64_t id,
          uint32_t created_s, uint8_t out[UID_ENTRY_MAX])
{
    unsigned width = u->kinds[kind].width;

    key_put_uint(out, id, width);
    key_put_uint(out + width, created_s, 4);
    return slice_of(out, width + 4);
}

enum status
uid_parse_entry(struct uid_table *u, enum uid_kind kind, struct slice value,
                uint64_t *id, uint32_t *created_s, struct error *e)
{
    unsigned width = u->kinds[kind].width;

    if (value.size != width + 4)
        return error_set(e, ST_CORRUPT, "uid of %s: %zu bytes, not %u",
                         uid_kind_name(kind), value.size, width + 4);
    *id = key_get_uint(value.data, width);
    *created_s = (uint32_t)key_get_uint(value.data + width, 4);
    if (u->shared && uid_is_mark(*created_s))
        uid_expect_marks(u, clock_monotonic_us() + UID_MARKS_US);
    return ST_OK;
}

enum status
uid_read_entry(struct uid_table *u, enum uid_kind kind, struct slice name,
               uint64_t *id, uint32_t *created_s, struct error *e)
{
    struct buf key = BUF_INIT, value = BUF_INIT;
    enum status st;

    uid_key_name(kind, name, &key);
    st = kv_get(store_kv(u->store), buf_slice(&key), &value, e);
    if (st == ST_OK)
        st = uid_parse_entry(u, kind, buf_slice(&value), id, created_s, e);
    buf_fini(&key);
    buf_fini(&value);
    return st;
}

bool
uid_find_cached(struct uid_table *u, enum uid_kind kind, struct slice name,
                uint64_t *id)
{
    struct uid_state *k = &u->kinds[kind];
    bool found = uid_cache_find_id(u->cache, kind, name, id);

    if (found)
        atomic_fetch_add_explicit(&k->hits, 1, memory_order_relaxed);
    return found;
}

enum status
uid_lookup(struct uid_table *u, enum uid_kind kind, struct slice name,
           uint64_t *id, struct error *e)
{
    struct uid_wanted w = { .name = name };
    enum status st;

    if (uid_find_cached(u, kind, name, id))
        return ST_OK;
    st = uid_lookup_many(u, kind, &w, 1, e);
    *id = w.id;
    return st == ST_OK && w.id == 0 ? ST_NOT_FOUND : st;
}

enum status
uid_find(struct uid_table *u, enum uid_kind kind, struct slice name,
         uint64_t *id, struct error *e)
{
    enum status st;

    OBJ_CHECK(u, UID_MAGIC);
    st = uid_lookup(u, kind, name, id, e);
    if (st == ST_NOT_FOUND)
        return error_set(e, st, "No such name for '%s': '%.*s'",
                         uid_kind_name(kind), SLICE_ARG(name));
    return st;
}

enum status
uid_lookup_many(struct uid_table *u, enum uid_kind kind,
                struct uid_wanted *wanted, size_t len, struct error *e)
{
    struct uid_state *k = &u->kinds[kind];
    uint64_t epoch = uid_cache_epoch(u->cache); /* before they are read */
    struct uid_wanted **lacking =
        mem_new_array(len, sizeof(struct uid_wanted *));
    struct slice *keys = mem_new_array(2 * len, sizeof *keys);
    struct slice *values = keys + len;
    struct buf *bytes = mem_new_array(len, sizeof *bytes);
    struct arena *a = arena_new(0);
    size_t unknown = 0, hits = 0;
    enum status st = ST_OK;

    for (size_t i = 0; i < len; i++) {
        struct uid_wanted *w = &wanted[i];

        if (w->id != 0 || w->name.size == 0 || w->name.size > UID_NAME_MAX)
            continue;
        if (uid_cache_find_id(u->cache, kind, w->name, &w->id)) {
            hits++;
            continue;
        }
        uid_key_name(kind, w->name, &bytes[unknown]);
        keys[unknown] = buf_slice(&bytes[unknown]);
        lacking[unknown++] = w;
    }
    atomic_fetch_add_explicit(&k->hits, hits, memory_order_relaxed);
    atomic_fetch_add_explicit(&k->misses, unknown, memory_order_relaxed);
    if (unknown > 0)
        st = kv_read_many(store_kv(u->store), keys, unknown, a, values, e);
    for (size_t i = 0; i < unknown && st == ST_OK; i++) {
        struct uid_wanted *w = lacking[i];
        uint32_t created_s;

        if (values[i].data == NULL)
            continue;
        st = uid_parse_entry(u, kind, values[i], &w->id, &created_s, e);
        if (st == ST_OK)
            uid_cache_add(u->cache, kind, w->name, w->id, epoch);
    }
    for (size_t i = 0; i < unknown; i++)
        buf_fini(&bytes[i]);
    arena_free(&a);
    free(bytes);
    free(keys);
    free(lacking);
    return st;
}

static enum status
no_such_id(const struct uid_table *u, enum uid_kind kind, uint64_t id,
           struct error *e)
{
    char text[UID_BYTES_TEXT];

    return error_set(e, ST_NOT_FOUND, "No such unique ID for '%s': %s",
                     uid_kind_name(kind), uid_bytes_text(u, kind, id, text));
}

enum status
uid_name(struct uid_table *u, enum uid_kind kind, uint64_t id, struct buf *out,
         struct error *e)
{
    enum status st = ST_OK;

    OBJ_CHECK(u, UID_MAGIC);
    if (uid_cache_find_name(u->cache, kind, id, out)) {
        atomic_fetch_add_explicit(&u->kinds[kind].hits, 1,
                                  memory_order_relaxed);
    } else {
        struct arena *a = arena_new(0);
        struct slice name;

        st = uid_name_dup(u, kind, id, a, &name, e);
        if (st == ST_OK)
            buf_put_slice(out, name);
        arena_free(&a);
    }
    return st == ST_OK && out->failed
               ? error_set(e, ST_BUSY, "no memory for a name")
               : st;
}

enum status
uid_name_many(struct uid_table *u, enum uid_kind kind, const uint64_t *ids,
              size_t len, struct arena *a, struct slice *names, struct error *e)
{
    uint64_t epoch = uid_cache_epoch(u->cache); /* before they are read */
    uint8_t(*bytes)[UID_KEY_MAX];
    struct slice *keys, *values;
    size_t *places, hits = 0, n = 0; /* of each key, in 'ids' and 'names' */
    enum status st = ST_OK;

    OBJ_CHECK(u, UID_MAGIC);
    if (!uid_cache_find_names(u->cache, kind, ids, len, a, names))
        return error_no_memory(e);
    for (size_t i = 0; i < len; i++)
        hits += names[i].data != NULL;
    atomic_fetch_add_explicit(&u->kinds[kind].hits, hits, memory_order_relaxed);
    atomic_fetch_add_explicit(&u->kinds[kind].misses, len - hits,
                              memory_order_relaxed);
    if (hits == len)
        return ST_OK;
    bytes = mem_new_array(len - hits, sizeof *bytes);
    keys = mem_new_array(len - hits, sizeof *keys);
    values = mem_new_array(len - hits, sizeof *values);
    places = mem_new_array(len - hits, sizeof *places);
    for (size_t i = 0; i < len; i++) {
        if (names[i].data != NULL || ids[i] == 0 || ids[i] > uid_max(u, kind))
            continue;
        places[n] = i;
        keys[n] = uid_key(store_layout(u->store), kind, 'i', ids[i], bytes[n]);
        n++;
    }
    if (n > 0)
        st = kv_read_many(store_kv(u->store), keys, n, a, values, e);
    for (size_t i = 0; i < n && st == ST_OK; i++) {
        uint64_t id = ids[places[i]];

        if (values[i].data != NULL && values[i].size == 0) {
            uid_deleted_note(u, kind, id); /* this marks a deleted name */
        } else if (values[i].data != NULL) {
            uid_cache_add(u->cache, kind, values[i], id, epoch);
            names[places[i]] = values[i];
        }
    }
    for (size_t i = 0; i < len && st == ST_OK; i++)
        if (names[i].data == NULL)
            st = no_such_id(u, kind, ids[i], e);
    free(places);
    free(values);
    free(keys);
    free(bytes);
    return st;
}

enum status
uid_created(struct uid_table *u, enum uid_kind kind, uint64_t id,
            uint32_t *created_s, struct error *e)
{
    struct buf name = BUF_INIT;
    uint64_t found = 0;
    enum status st = uid_name(u, kind, id, &name, e);

    if (st == ST_OK)
        st = uid_read_entry(u, kind, buf_slice(&name), &found, created_s, e);
    /* Renamed or deleted since. */
    if (st == ST_NOT_FOUND || (st == ST_OK && found != id))
        st = no_such_id(u, kind, id, e);
    buf_fini(&name);
    return st;
}

enum status
uid_name_dup(struct uid_table *u, enum uid_kind kind, uint64_t id,
             struct arena *a, struct slice *out, struct error *e)
{
    return uid_name_many(u, kind, &id, 1, a, out, e);
}

/* -- lists of names ------------------------------------------------------ */

struct uid_names {
    uint32_t magic;
    struct uid_table *u;
    enum uid_kind kind;
    struct buf start; /* what their keys start with */
    struct kv_iter *it;
    bool begun;
    enum status st;
    struct error why;
};

struct uid_names *
uid_names_open(struct uid_table *u, enum uid_kind kind, struct slice prefix)
{
    struct uid_names *n = mem_new(sizeof *n);

    OBJ_CHECK(u, UID_MAGIC);
    n->magic = NAMES_MAGIC;
    n->u = u;
    n->kind = kind;
    if (prefix.size > UID_NAME_MAX)
        return n;
    uid_key_name(kind, prefix, &n->start);
    n->it = kv_iter_open(store_kv(u->store), KEY_TABLE(TABLE_UID));
    return n;
}

bool
uid_names_next(struct uid_names *n, struct slice *name, uint64_t *id)
{
    uint32_t created_s;
    struct slice key;
    bool on;

    OBJ_CHECK(n, NAMES_MAGIC);
    if (n->it == NULL || n->st != ST_OK)
        return false;
    on = n->begun ? kv_iter_next(n->it)
                  : kv_iter_seek(n->it, buf_slice(&n->start));
    n->begun = true;
    if (!on || !slice_starts(kv_iter_key(n->it), buf_slice(&n->start)))
        return false;
    n->st = uid_parse_entry(n->u, n->kind, kv_iter_value(n->it), id, &created_s,
                            &n->why);
    key = kv_iter_key(n->it);
    *name = slice_of(key.data + 3, key.size - 3);
    return n->st == ST_OK;
}

enum status
uid_names_close(struct uid_names **np, struct error *e)
{
    struct uid_names *n = OBJ_TAKE(np, NAMES_MAGIC);
    enum status st;

    if (n == NULL)
        return ST_OK;
    st = n->st;
    if (st != ST_OK)
        (void)error_set(e, st, "%s", n->why.text);
    if (n->it != NULL)
        st = kv_iter_end(&n->it, st, e);
    buf_fini(&n->start);
    OBJ_FREE(n);
    return st;
}

enum status
uid_suggest(struct uid_table *u, enum uid_kind kind, struct slice prefix,
            size_t max, bool (*f)(void *ctx, struct slice name, uint64_t id),
            void *ctx, struct error *e)
{
    struct uid_names *names = uid_names_open(u, kind, prefix);
    struct slice name;
    uint64_t id;

    for (size_t n = 0; max == 0 || n < max; n++)
        if (!uid_names_next(names, &name, &id) || !f(ctx, name, id))
            break;
    return uid_names_close(&names, e);
}

/* -- the rest ------------------------------------------------------------ */

uint64_t
uid_epoch(const struct uid_table *u)
{
    OBJ_CHECK(u, UID_MAGIC);
    return uid_cache_epoch(u->cache);
}

void
uid_drop_caches(struct uid_table *u)
{
    OBJ_CHECK(u, UID_MAGIC);
    uid_cache_clear(u->cache);
}

void
uid_shrink_caches(struct uid_table *u)
{
    OBJ_CHECK(u, UID_MAGIC);
    uid_cache_shrink(u->cache);
}

struct uid_counts
uid_counts(struct uid_table *u, enum uid_kind kind)
{
    struct uid_state *k = &u->kinds[kind];
    struct uid_counts counts;
    uint64_t used;

    OBJ_CHECK(u, UID_MAGIC);
    counts.ids_used = atomic_load(&k->highest);
    /* What others gave out is in the engine alone. */
    if (u->shared && uid_read_counter(u, kind, &used, NULL) == ST_OK)
        counts.ids_used = used;
    counts.cache_hits = atomic_load_explicit(&k->hits, memory_order_relaxed);
    counts.cache_misses =
        atomic_load_explicit(&k->misses, memory_order_relaxed);
    counts.cache_size = uid_cache_len(u->cache, kind);
    counts.ids_available = uid_max(u, kind) - counts.ids_used;
    counts.rejected = atomic_load(&u->kinds[kind].rejected);
    return counts;
}
