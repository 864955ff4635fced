/* Ids for names, as many as come together, under one lock in this process.
 *
 * Where it has the engine alone, they are one logged batch: names both ways and
 * the counter, so that these are never seen apart.
 *
 * Where other processes write to the engine, too, ids come from the counter in
 * blocks, and then each is claimed by its entry, and its name by its own, if
 * these are absent: who is slower takes the winner's id, and his own has no
 * name from then on.  So an id leads to a name before the name leads to it, and
 * a name has one id whatever is retried or comes twice. */
#include "uid/names/uid.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/process/clock.h"
#include "base/process/crash.h"
#include "base/hash.h"
#include "base/mem.h"
#include "uid/names/uid_priv.h"

#define RANDOM_ATTEMPTS 10
#define BLOCK_MAX       256
#define BLOCK_US        1000000 /* used up sooner, the next one is larger */

const char *const uid_what_names[UID_KINDS_ALL] = { "metric", "tagk", "tagv",
                                                    "rollup" };

static bool
is_random(const struct uid_table *u, enum uid_kind kind)
{
    return kind == UID_METRIC && u->random_metrics;
}

/* -- ids ------------------------------------------------------------------- */

/* Sets the counter, if it is what it is taken for: ST_CONFLICT. */
static enum status
move_counter(struct uid_table *u, enum uid_kind kind, uint64_t from,
             uint64_t to, struct error *e)
{
    uint8_t key[UID_KEY_MAX], old[8], new[8];
    struct slice expected = { old, 8 };

    (void)uid_key(store_layout(u->store), kind, 'c', 0, key);
    key_put_uint(old, from, 8);
    key_put_uint(new, to, 8);
    return kv_swap(store_kv(u->store), slice_of(key, 3),
                   from == 0 ? NULL : &expected, slice_of(new, 8), e);
}

/* Takes a block of ids from the counter, 'needed' at least if so many are left.
 */
static enum status
take_block(struct uid_table *u, enum uid_kind kind, uint64_t needed,
           struct error *e) REQUIRES(u->lock)
{
    struct uid_state *k = &u->kinds[kind];
    uint64_t max = uid_max(u, kind), at = atomic_load(&k->highest);
    int64_t now_us = clock_monotonic_us();
    enum status st = ST_CONFLICT;

    k->block =
        k->block > 0 && now_us - k->block_us < BLOCK_US ? k->block * 2 : 1;
    if (k->block > BLOCK_MAX)
        k->block = BLOCK_MAX;
    k->block_us = now_us;
    if (k->block > needed)
        needed = k->block;
    while (st == ST_CONFLICT && at < max) {
        if (needed > max - at)
            needed = max - at;
        st = move_counter(u, kind, at, at + needed, e);
        if (st == ST_OK) {
            k->next = at + 1;
            k->end = at + needed;
            atomic_store(&k->highest, k->end);
        } else if (st == ST_CONFLICT) { /* someone else took some */
            enum status read = uid_read_counter(u, kind, &at, e);

            if (read != ST_OK)
                return read;
        }
    }
    return st == ST_CONFLICT ? ST_OK : st;
}

void
uid_drop_blocks(struct uid_table *u)
{
    for (int kind = 0; kind < UID_KINDS_ALL && u->shared; kind++) {
        struct uid_state *k = &u->kinds[kind];

        /* If others took some meanwhile, these are never given out. */
        if (k->next <= k->end && move_counter(u, (enum uid_kind)kind, k->end,
                                              k->next - 1, NULL) == ST_OK)
            k->end = k->next - 1;
    }
}

/* The next id to try, of 'needed': those in order, or at random above them,
 * which are ST_CONFLICT when there are hardly any. */
static enum status
next_id(struct uid_table *u, enum uid_kind kind, size_t needed, uint64_t *id,
        struct error *e) REQUIRES(u->lock)
{
    struct uid_state *k = &u->kinds[kind];
    enum status st = ST_OK;

    if (is_random(u, kind)) {
        for (int i = 0; i < RANDOM_ATTEMPTS; i++) {
            *id = hash_random_seed() & uid_max(u, kind);
            if (*id > atomic_load(&k->highest))
                return ST_OK;
        }
        return ST_CONFLICT;
    }
    if (k->next > k->end && u->shared)
        st = take_block(u, kind, needed, e);
    if (st == ST_OK && k->next > k->end)
        st = error_set(e, ST_LIMIT,
                       "All Unique IDs for %s on %u bytes are already "
                       "assigned!",
                       uid_kind_name(kind), k->width);
    if (st == ST_OK)
        *id = k->next++;
    return st;
}

/* -- entries --------------------------------------------------------------- */

/* A name on its way to an id. */
struct claim {
    struct uid_wanted *wanted;
    uint64_t id;
    bool taken; /* what was to be entered last is there already */
};

/* A new entry, and what it is part of. */
struct entry {
    struct buf key;
    struct buf value;
    uint64_t group;
    struct claim *claim;
};

static int
compare_groups(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    return (x->group > y->group) - (x->group < y->group);
}

/* Writes those entries that are absent, all of some groups or each for itself,
 * and marks the claims of those that are not. */
static enum status
create_parts(struct kv *kv, struct entry *entries, size_t len, bool alone,
             struct error *e)
{
    struct kv_expected *expected = mem_new_array(len, sizeof *expected);
    struct kv_guarded *parts = mem_new_array(len, sizeof *parts);
    struct kv_batch **batches = mem_new_array(len, sizeof(struct kv_batch *));
    size_t n = 0, at = 0;
    enum status st;

    for (size_t i = 0; i < len; i++) {
        if (i == 0 || alone || entries[i].group != entries[i - 1].group) {
            batches[n] = kv_batch_new();
            parts[n] =
                (struct kv_guarded){ batches[n], &expected[i], 0, ST_OK };
            n++;
        }
        expected[i] = (struct kv_expected){ buf_slice(&entries[i].key), NULL };
        kv_batch_put(batches[n - 1], expected[i].key,
                     buf_slice(&entries[i].value));
        parts[n - 1].len++;
    }
    st = kv_write_if_many(kv, parts, n, e);
    for (size_t i = 0; i < n; at += parts[i++].len) {
        for (size_t j = at; j < at + parts[i].len; j++)
            entries[j].claim->taken = parts[i].status == ST_CONFLICT;
        kv_batch_free(&batches[i]);
    }
    free(batches);
    free(parts);
    free(expected);
    return st;
}

/* Enters those claims that are not taken yet, by id or by name ('forward'): all
 * of a group at once, and where one is there already, each of that group for
 * itself. */
static enum status
create_claimed(struct uid_table *u, enum uid_kind kind, struct claim *claims,
               size_t len, bool forward, struct error *e)
{
    struct kv *kv = store_kv(u->store);
    struct entry *entries = mem_new_array(len, sizeof *entries);
    uint32_t now_s = clock_now_s(&clock_system);
    uint8_t bytes[UID_KEY_MAX > UID_ENTRY_MAX ? UID_KEY_MAX : UID_ENTRY_MAX];
    size_t rest = 0;
    enum status st;

    for (size_t i = 0; i < len; i++) {
        struct entry *x = &entries[i];

        x->claim = &claims[i];
        if (forward) {
            uid_key_name(kind, claims[i].wanted->name, &x->key);
            buf_put_slice(&x->value,
                          uid_entry(u, kind, claims[i].id, now_s, bytes));
        } else {
            buf_put_slice(&x->key, uid_key(store_layout(u->store), kind, 'i',
                                           claims[i].id, bytes));
            buf_put_slice(&x->value, claims[i].wanted->name);
        }
        x->group = kv_group(kv, buf_slice(&x->key));
    }
    qsort(entries, len, sizeof *entries, compare_groups);
    st = create_parts(kv, entries, len, false, e);
    for (size_t i = 0; i < len && st == ST_OK; i++)
        if (entries[i].claim->taken) {
            struct entry x = entries[i];

            entries[i] = entries[rest];
            entries[rest++] = x;
        }
    if (st == ST_OK && rest > 0)
        st = create_parts(kv, entries, rest, true, e);
    for (size_t i = 0; i < len; i++) {
        buf_fini(&entries[i].key);
        buf_fini(&entries[i].value);
    }
    free(entries);
    return st;
}

static void
note_taken(void *ctx, size_t i, const struct slice *value)
{
    ((struct claim *)ctx)[i].taken = value != NULL;
}

/* Which ids have an entry.  Where no other process writes, ids in order are
 * free: only metrics may have had random ones, which lie ahead. */
static enum status
find_taken(struct uid_table *u, enum uid_kind kind, struct claim *claims,
           size_t len, struct error *e)
{
    uint8_t(*bytes)[UID_KEY_MAX];
    struct slice *keys;
    enum status st;

    if (kind != UID_METRIC) {
        for (size_t i = 0; i < len; i++)
            claims[i].taken = false;
        return ST_OK;
    }
    bytes = mem_new_array(len, sizeof *bytes);
    keys = mem_new_array(len, sizeof *keys);
    for (size_t i = 0; i < len; i++)
        keys[i] =
            uid_key(store_layout(u->store), kind, 'i', claims[i].id, bytes[i]);
    st = kv_get_many(store_kv(u->store), keys, len, note_taken, claims, e);
    free(keys);
    free(bytes);
    return st;
}

/* An id of its own for each claim. */
static enum status
claim_ids(struct uid_table *u, enum uid_kind kind, struct claim *claims,
          size_t len, struct error *e) REQUIRES(u->lock)
{
    size_t left = len;
    enum status st = ST_OK;

    for (int round = 0; left > 0 && st == ST_OK; round++) {
        size_t taken = 0;

        if (is_random(u, kind) && round == RANDOM_ATTEMPTS)
            st = ST_CONFLICT;
        for (size_t i = 0; i < left && st == ST_OK; i++)
            st = next_id(u, kind, left - i, &claims[i].id, e);
        crash_point("uid-chosen");
        if (st == ST_OK)
            st = u->shared ? create_claimed(u, kind, claims, left, false, e)
                           : find_taken(u, kind, claims, left, e);
        for (size_t i = 0; i < left; i++)
            if (claims[i].taken) {
                struct claim x = claims[i];

                claims[i] = claims[taken];
                claims[taken++] = x;
            }
        left = taken;
    }
    return st != ST_CONFLICT
               ? st
               : error_set(e, ST_LIMIT,
                           "Failed to assign random ID for kind='metrics' "
                           "name='%.*s' after %d attempts",
                           SLICE_ARG(claims[0].wanted->name), RANDOM_ATTEMPTS);
}

/* -- assignment ------------------------------------------------------------ */

/* Names and counter in one batch: no other process writes. */
static enum status
write_claims(struct uid_table *u, enum uid_kind kind,
             const struct claim *claims, size_t len, uint64_t *lsn,
             struct error *e) REQUIRES(u->lock)
{
    struct uid_state *k = &u->kinds[kind];
    const struct key_layout *w = store_layout(u->store);
    uint32_t now_s = clock_now_s(&clock_system);
    uint8_t entry[UID_ENTRY_MAX], counter[8], key[UID_KEY_MAX];
    struct kv_batch *b = kv_batch_new();
    struct buf forward = BUF_INIT;
    enum status st;

    for (size_t i = 0; i < len; i++) {
        struct slice name = claims[i].wanted->name;

        uid_key_name(kind, name, &forward);
        kv_batch_put(b, uid_key(w, kind, 'i', claims[i].id, key), name);
        kv_batch_put(b, buf_slice(&forward),
                     uid_entry(u, kind, claims[i].id, now_s, entry));
    }
    if (!is_random(u, kind)) {
        key_put_uint(counter, k->next - 1, 8);
        (void)uid_key(w, kind, 'c', 0, key);
        kv_batch_put(b, slice_of(key, 3), slice_of(counter, 8));
    }
    st = store_write(u->store, b, lsn, e);
    if (st == ST_OK && !is_random(u, kind))
        atomic_store(&k->highest, k->next - 1);
    kv_batch_free(&b);
    buf_fini(&forward);
    return st;
}

/* Names that got an id meanwhile have it; no name has those that were claimed
 * for them, from now on. */
static enum status
lose_names(struct uid_table *u, enum uid_kind kind, struct claim *claims,
           size_t len, struct error *e)
{
    struct kv_batch *b = kv_batch_new();
    uint8_t key[UID_KEY_MAX];
    enum status st = ST_OK;

    for (size_t i = 0; i < len && st == ST_OK; i++) {
        struct claim *c = &claims[i];

        if (!c->taken)
            continue;
        st = uid_lookup(u, kind, c->wanted->name, &c->wanted->id, e);
        if (st == ST_NOT_FOUND)
            st = error_set(e, ST_BUSY, "the name %.*s changes just now",
                           SLICE_ARG(c->wanted->name));
        if (st == ST_OK && c->wanted->id != c->id)
            kv_batch_put(b,
                         uid_key(store_layout(u->store), kind, 'i', c->id, key),
                         slice_of("", 0));
    }
    if (st == ST_OK && kv_batch_len(b) > 0)
        st = kv_write(store_kv(u->store), b, e);
    kv_batch_free(&b);
    return st;
}

static enum status
assign_claims(struct uid_table *u, enum uid_kind kind, struct claim *claims,
              size_t len, uint64_t *lsn, struct error *e) REQUIRES(u->lock)
{
    struct uid_state *k = &u->kinds[kind];
    uint64_t epoch = uid_cache_epoch(u->cache), first = k->next;
    enum status st = claim_ids(u, kind, claims, len, e);

    if (st == ST_OK && u->shared)
        st = create_claimed(u, kind, claims, len, true, e);
    else if (st == ST_OK)
        st = write_claims(u, kind, claims, len, lsn, e);
    crash_point("uid-assigned");
    if (st != ST_OK && !u->shared)
        k->next = first;
    for (size_t i = 0; i < len && st == ST_OK; i++) {
        struct uid_wanted *w = claims[i].wanted;

        if (claims[i].taken)
            continue;
        w->id = claims[i].id;
        w->is_new = true;
        uid_cache_add(u->cache, kind, w->name, w->id, epoch);
    }
    return st == ST_OK && u->shared ? lose_names(u, kind, claims, len, e) : st;
}

/* Gives an id to those that are to have one, and had none when 'changes' was
 * read. */
static enum status
assign(struct uid_table *u, enum uid_kind kind, struct uid_wanted *wanted,
       size_t len, uint64_t changes, uint64_t *lsn, struct error *e)
{
    struct claim *claims = mem_new_array(len, sizeof *claims);
    size_t n = 0, step = is_random(u, kind) ? 1 : len;
    enum status st = ST_OK;

    lock_take(&u->lock);
    /* Another thread may have been faster. */
    if (atomic_load(&u->changes) != changes)
        st = uid_lookup_many(u, kind, wanted, len, e);
    for (size_t i = 0; i < len; i++)
        if (wanted[i].create && wanted[i].id == 0)
            claims[n++] = (struct claim){ .wanted = &wanted[i] };
    for (size_t i = 0; i < n && st == ST_OK; i += step) {
        st = assign_claims(u, kind, claims + i, step < n - i ? step : n - i,
                           lsn, e);
        atomic_fetch_add(&u->changes, 1);
    }
    lock_drop(&u->lock);
    free(claims);
    return st;
}

static bool
is_allowed(struct uid_table *u, enum uid_kind kind, struct slice name)
{
    return u->allow == NULL || u->allow(u->allow_ctx, kind, name);
}

enum status
uid_resolve(struct uid_table *u, enum uid_kind kind, struct uid_wanted *wanted,
            size_t len, struct error *e)
{
    uint64_t changes = atomic_load(&u->changes), lsn;
    bool any = false;
    enum status st;

    OBJ_CHECK(u, UID_MAGIC);
    for (size_t i = 0; i < len; i++) {
        wanted[i].id = 0;
        wanted[i].is_new = false;
    }
    st = uid_lookup_many(u, kind, wanted, len, e);
    for (size_t i = 0; i < len && st == ST_OK; i++) {
        struct uid_wanted *w = &wanted[i];

        w->create = w->create && w->id == 0 &&
                    uid_validate_name(u, "", w->name, NULL) == ST_OK &&
                    is_allowed(u, kind, w->name);
        any |= w->create;
    }
    return any ? assign(u, kind, wanted, len, changes, &lsn, e) : st;
}

/* Finds or assigns. (Without a WAL '*lsn' is 0.) */
static enum status
find_or_assign(struct uid_table *u, enum uid_kind kind, struct slice name,
               struct uid_wanted *out, uint64_t *lsn, struct error *e)
{
    uint64_t changes = atomic_load(&u->changes);
    enum status st;

    *out = (struct uid_wanted){ .name = name, .create = true };
    *lsn = 0;
    st = uid_lookup(u, kind, name, &out->id, e);
    if (st != ST_NOT_FOUND)
        return st;
    if (kind != UID_ROLLUP) { /* its names are ours */
        st = uid_validate_name(u, uid_what_names[kind], name, e);
        if (st != ST_OK)
            return st;
        if (!is_allowed(u, kind, name)) {
            atomic_fetch_add(&u->kinds[kind].rejected, 1);
            return error_set(e, ST_INVALID,
                             "Failed to assign an ID for kind='%s' "
                             "name='%.*s': Blocked by UID filter.",
                             uid_kind_name(kind), SLICE_ARG(name));
        }
    }
    return assign(u, kind, out, 1, changes, lsn, e);
}

enum status
uid_get_or_create(struct uid_table *u, enum uid_kind kind, struct slice name,
                  uint64_t *id, struct error *e)
{
    struct uid_wanted w;
    uint64_t lsn;
    enum status st;

    OBJ_CHECK(u, UID_MAGIC);
    st = find_or_assign(u, kind, name, &w, &lsn, e);
    *id = w.id;
    return st;
}

enum status
uid_assign(struct uid_table *u, enum uid_kind kind, struct slice name,
           uint64_t *id, struct error *e)
{
    struct uid_wanted w = { .id = 0 };
    uint64_t lsn = 0;
    enum status st;

    OBJ_CHECK(u, UID_MAGIC);
    st = uid_validate_name(u, uid_what_names[kind], name, e);
    if (st == ST_OK)
        st = find_or_assign(u, kind, name, &w, &lsn, e);
    *id = w.id;
    if (st != ST_OK)
        return st;
    if (!w.is_new)
        return error_set(e, ST_INVALID,
                         "Name already exists with UID: %0*" PRIX64,
                         (int)u->kinds[kind].width * 2, *id);
    return store_commit(u->store, lsn, false, e);
}
