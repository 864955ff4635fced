/* A skip list.  There are no locks in
 * here and no I/O, so it can be tested, and understood, by itself. */
#include "config.h"

#include "storage/kv/mem/kv_map_priv.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/obj.h"

/* Where a search came down: on each level the last node before the key, NULL
 * for the head. */
struct path {
    struct kv_node *at[KV_MAP_LEVELS];
};

void
kv_map_init(struct kv_map *m)
{
    *m = (struct kv_map){ .random = UINT64_C(0x2545f4914f6cdd1d) };
}

static void
free_versions(struct kv_map *m, struct kv_version *v)
{
    while (v != NULL) {
        struct kv_version *older = v->older;

        m->versions--;
        m->bytes -= v->size;
        free(v);
        v = older;
    }
}

void
kv_map_fini(struct kv_map *m)
{
    struct kv_node *n = m->heads[0];

    INSIST(m->pins == 0);
    while (n != NULL) {
        struct kv_node *next = n->next[0];

        free_versions(m, n->newest);
        free(n);
        n = next;
    }
    free(m->stale);
}

struct kv_version *
kv_version_new(struct slice value)
{
    struct kv_version *v = malloc(sizeof *v + value.size);

    if (v == NULL)
        return NULL;
    *v = (struct kv_version){ .size = value.size };
    if (value.size > 0)
        memcpy(v->data, value.data, value.size);
    return v;
}

static struct kv_node *
next_of(const struct kv_map *m, const struct kv_node *n, size_t level)
{
    return n == NULL ? m->heads[level] : n->next[level];
}

static struct kv_node *
search(const struct kv_map *m, struct slice key, struct path *path)
{
    struct kv_node *at = NULL, *next = NULL;
    const struct kv_node *seen = NULL; /* known to be >= key */

    for (size_t level = KV_MAP_LEVELS; level-- > 0;) {
        for (;;) {
            next = next_of(m, at, level);
            if (next == NULL || next == seen ||
                slice_cmp(kv_node_key(next), key) >= 0)
                break;
            at = next;
        }
        seen = next;
        if (path != NULL)
            path->at[level] = at;
    }
    return next;
}

struct kv_node *
kv_map_seek(const struct kv_map *m, struct slice key)
{
    return search(m, key, NULL);
}

const struct kv_version *
kv_node_version(const struct kv_node *n, uint64_t seq)
{
    const struct kv_version *v = n->newest;

    while (v != NULL && v->seq > seq)
        v = v->older;
    return v == NULL || v->deleted ? NULL : v;
}

static uint32_t
random_levels(struct kv_map *m)
{
    uint64_t r;
    uint32_t levels = 1;

    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    for (r = m->random >> 8; levels < KV_MAP_LEVELS && (r & 3) == 0; r >>= 2)
        levels++;
    return levels;
}

static void
insert(struct kv_map *m, const struct path *path, struct slice key,
       struct kv_version *v)
{
    uint32_t levels = random_levels(m);
    struct kv_node *n =
        mem_new(sizeof *n + levels * sizeof(struct kv_node *) + key.size);

    n->newest = v;
    n->levels = levels;
    n->key_size = (uint32_t)key.size;
    if (key.size > 0)
        memcpy(n->next + levels, key.data, key.size);
    for (size_t i = 0; i < levels; i++) {
        n->next[i] = next_of(m, path->at[i], i);
        if (path->at[i] == NULL)
            m->heads[i] = n;
        else
            path->at[i]->next[i] = n;
    }
    m->nodes++;
    m->bytes += key.size;
}

static void
erase(struct kv_map *m, struct kv_node *n)
{
    struct path path;

    INSIST(search(m, kv_node_key(n), &path) == n);
    for (size_t i = 0; i < n->levels; i++) {
        if (path.at[i] == NULL)
            m->heads[i] = n->next[i];
        else
            path.at[i]->next[i] = n->next[i];
    }
    m->nodes--;
    m->bytes -= n->key_size;
    free_versions(m, n->newest);
    free(n);
}

static void
push_stale(struct kv_map *m, struct kv_node *n, uint64_t seq)
{
    if (m->stale_len == m->stale_cap) {
        size_t cap = m->stale_cap == 0 ? 64 : m->stale_cap * 2;
        struct kv_stale *ring = mem_new_array(cap, sizeof *ring);

        for (size_t i = 0; i < m->stale_len; i++)
            ring[i] = m->stale[(m->stale_at + i) & (m->stale_cap - 1)];
        free(m->stale);
        m->stale = ring;
        m->stale_at = 0;
        m->stale_cap = cap;
    }
    m->stale[(m->stale_at + m->stale_len++) & (m->stale_cap - 1)] =
        (struct kv_stale){ n, seq };
}

/* No reader is before 'min' any more.  'seq' says for which version of the node
 * this is done: only the newest one's turn may take the node away, because
 * later turns would find it gone. */
static void
prune(struct kv_map *m, struct kv_node *n, uint64_t seq, uint64_t min)
{
    struct kv_version *v = n->newest;

    while (v != NULL && v->seq > min)
        v = v->older;
    if (v == NULL)
        return;
    free_versions(m, v->older);
    v->older = NULL;
    if (v == n->newest && v->deleted && v->seq == seq)
        erase(m, n);
}

static void
sweep(struct kv_map *m)
{
    uint64_t min = m->oldest_pin == NULL ? UINT64_MAX : m->oldest_pin->seq;

    while (m->stale_len > 0 && m->stale[m->stale_at].seq <= min) {
        struct kv_stale s = m->stale[m->stale_at];

        m->stale_at = (m->stale_at + 1) & (m->stale_cap - 1);
        m->stale_len--;
        prune(m, s.node, s.seq, min);
    }
    if (m->stale_len == 0 && m->stale_cap > 4096) {
        free(m->stale);
        m->stale = NULL;
        m->stale_at = m->stale_cap = 0;
    }
}

static struct kv_version *
tombstone(void)
{
    struct kv_version *v = mem_new(sizeof *v);

    v->deleted = true;
    return v;
}

static void
supersede(struct kv_map *m, struct kv_node *n, uint64_t seq,
          struct kv_version *v)
{
    struct kv_version *old = n->newest;
    bool same_batch = old->seq == seq;

    if (v == NULL && old->deleted)
        return;
    if (same_batch && v == NULL && old->older == NULL) {
        erase(m, n); /* put and deleted in one batch: no reader ever saw it */
        return;
    }
    if (v == NULL)
        v = tombstone();
    v->seq = seq;
    v->older = same_batch ? old->older : old;
    n->newest = v;
    m->versions++;
    m->bytes += v->size;
    if (same_batch) {
        old->older = NULL;
        free_versions(m, old);
    } else if (m->pins == 0)
        prune(m, n, seq, UINT64_MAX);
    else
        push_stale(m, n, seq);
}

void
kv_map_apply(struct kv_map *m, uint64_t seq, struct slice key,
             struct kv_version *v)
{
    struct path path;
    struct kv_node *n = search(m, key, &path);

    if (n != NULL && slice_eq(kv_node_key(n), key))
        supersede(m, n, seq, v);
    else if (v != NULL) {
        v->seq = seq;
        m->versions++;
        m->bytes += v->size;
        insert(m, &path, key, v);
    }
}

void
kv_map_pin(struct kv_map *m, struct kv_pin *pin, uint64_t seq,
           struct kv_pin *after)
{
    if (after == NULL)
        after = m->newest_pin;
    INSIST(after == NULL || after->seq <= seq);
    *pin = (struct kv_pin){ .seq = seq, .older = after };
    pin->newer = after == NULL ? NULL : after->newer;
    if (pin->newer == NULL)
        m->newest_pin = pin;
    else
        pin->newer->older = pin;
    if (after == NULL)
        m->oldest_pin = pin;
    else
        after->newer = pin;
    m->pins++;
}

void
kv_map_unpin(struct kv_map *m, struct kv_pin *pin)
{
    if (pin->older == NULL)
        m->oldest_pin = pin->newer;
    else
        pin->older->newer = pin->newer;
    if (pin->newer == NULL)
        m->newest_pin = pin->older;
    else
        pin->newer->older = pin->older;
    m->pins--;
    sweep(m);
}

/* Counts on the highest level that shows enough of the range: a node there
 * stands for 4^level. */
uint64_t
kv_map_estimate(const struct kv_map *m, struct slice from, struct slice to)
{
    enum { ENOUGH = 64 };
    struct path path;
    uint64_t count = 0;
    size_t level = KV_MAP_LEVELS;

    (void)search(m, from, &path);
    while (level-- > 0) {
        const struct kv_node *n = next_of(m, path.at[level], level);

        for (count = 0; n != NULL && slice_cmp(kv_node_key(n), to) < 0; count++)
            n = n->next[level];
        if (count >= ENOUGH || level == 0)
            break;
    }
    return m->nodes == 0 ? 0 : (count << 2 * level) * (m->bytes / m->nodes);
}
