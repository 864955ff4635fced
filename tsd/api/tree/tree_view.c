/* See tsd/api/tree/tree_view.h.  What one series needs lies in a scratch arena
 * that is reset for the next; what is kept goes into the client's. */
#include "tsd/api/tree/tree_view.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/text/java.h"
#include "query/model/casefold.h"
#include "uid/meta/meta.h"

static bool
is_entry(const void *entries, uint32_t i, const void *key)
{
    const struct tree_entry *all = entries;

    return slice_eq(all[i].key, *(const struct slice *)key);
}

const struct tree_entry *
tree_table_add(struct tree_table *t, struct slice key, struct slice name,
               struct slice tsuid)
{
    uint64_t hash;
    uint32_t i;

    if (t->len == 0)
        t->seed = hash_random_seed();
    hash = hash_slice(key, t->seed);
    i = table_find(&t->table, hash, is_entry, t->entries, &key);
    if (i != TABLE_NONE)
        return &t->entries[i];
    t->entries =
        arena_grow(t->arena, t->entries, t->len, &t->cap, sizeof *t->entries);
    if (t->entries == NULL || !arena_keep(t->arena, &key) ||
        !arena_keep(t->arena, &name) || !arena_keep(t->arena, &tsuid) ||
        !table_try_add(&t->table, hash, (uint32_t)t->len))
        return NULL;
    t->entries[t->len] = (struct tree_entry){ key, name, tsuid, t->len };
    return &t->entries[t->len++];
}

static int
compare_names(struct slice a, struct slice b)
{
    size_t n = a.size < b.size ? a.size : b.size;

    for (size_t i = 0; i < n; i++) {
        int c = casefold_at(a, i) - casefold_at(b, i);

        if (c != 0)
            return c;
    }
    return (a.size > b.size) - (a.size < b.size);
}

static int
compare_entries(const void *a, const void *b)
{
    const struct tree_entry *x = a, *y = b;
    int c = compare_names(x->name, y->name);

    return c != 0 ? c : (x->at > y->at) - (x->at < y->at);
}

void
tree_table_sort(struct tree_table *t)
{
    size_t len = 0;

    if (t->len > 0)
        qsort(t->entries, t->len, sizeof *t->entries, compare_entries);
    for (size_t i = 0; i < t->len; i++)
        if (len == 0 ||
            compare_names(t->entries[len - 1].name, t->entries[i].name) != 0)
            t->entries[len++] = t->entries[i];
    t->len = len;
    table_fini(&t->table);
}

#define ASK_EVERY 64 /* series, each with all the rules of a tree */

/* A walk over all series. */
struct walk {
    const struct api *api;
    const struct tree *tree;
    const struct http_request *request;
    struct arena *arena; /* the request's */
    struct tree_plan *plan;
    struct arena *scratch;
    void (*visit)(struct walk *w, struct slice tsuid,
                  const struct tree_path *path);
    struct slice hashes;       /* of the branch that is asked for */
    struct tree_branch branch; /* its 'path' is NULL: not found yet */
    struct tree_collision *collisions;
    size_t collisions_len, collisions_cap;
    uint64_t seen;
    struct error *e;
    enum status status;
};

static void
fail_memory(struct walk *w)
{
    if (w->status == ST_OK)
        w->status = error_no_memory(w->e);
}

/* -- names ----------------------------------------------------------------- */

static enum status
name_of(const struct api *a, enum uid_kind kind, struct slice id,
        struct arena *arena, struct slice *out, struct error *e)
{
    return uid_name_dup(a->uids, kind, key_get_uint(id.data, (unsigned)id.size),
                        arena, out, e);
}

/* What find_custom() needs. */
struct customs {
    const struct api *api;
    struct slice tsuid;
    struct arena *arena;
};

static bool
find_custom(void *ctx, enum uid_kind kind, size_t i, struct slice name,
            struct slice *out)
{
    const struct customs *c = ctx;
    const struct key_layout *layout = store_layout(c->api->store);
    struct slice id = kind == UID_METRIC ? tsuid_metric(layout, c->tsuid)
                      : kind == UID_TAGK ? tsuid_tagk(layout, c->tsuid, i)
                                         : tsuid_tagv(layout, c->tsuid, i);
    struct meta m;

    if (meta_get(c->api->records, (struct meta_of){ (enum meta_kind)kind, id },
                 c->arena, &m, NULL) != ST_OK)
        return false;
    for (size_t k = 0; m.custom.has && k < m.custom.len; k++) {
        if (slice_eq(m.custom.pairs[k].key, name)) {
            *out = m.custom.pairs[k].value;
            return true;
        }
    }
    return false;
}

enum status
tree_names(const struct api *a, struct slice tsuid, struct arena *arena,
           struct tree_series *out, struct error *e)
{
    const struct key_layout *layout = store_layout(a->store);
    size_t len = tsuid_tags(layout, tsuid);
    struct tag *tags = arena_array(arena, len, sizeof *tags);
    struct customs *customs = arena_array(arena, 1, sizeof *customs);
    struct buf hex = BUF_INIT;
    enum status st;

    *out = (struct tree_series){ .tags = tags,
                                 .tags_len = len,
                                 .custom = find_custom,
                                 .custom_ctx = customs };
    if (customs != NULL)
        *customs = (struct customs){ a, tsuid, arena };
    api_put_hex(&hex, tsuid);
    out->tsuid = buf_slice(&hex);
    st = tags != NULL && customs != NULL && arena_keep(arena, &out->tsuid)
             ? name_of(a, UID_METRIC, tsuid_metric(layout, tsuid), arena,
                       &out->metric, e)
             : error_no_memory(e);
    buf_fini(&hex);
    for (size_t i = 0; i < len && st == ST_OK; i++) {
        st = name_of(a, UID_TAGK, tsuid_tagk(layout, tsuid, i), arena,
                     &tags[i].key, e);
        if (st == ST_OK)
            st = name_of(a, UID_TAGV, tsuid_tagv(layout, tsuid, i), arena,
                         &tags[i].value, e);
    }
    return st;
}

/* -- the walk -------------------------------------------------------------- */

static bool
walk_one(void *ctx, struct slice tsuid)
{
    struct walk *w = ctx;
    struct tree_series series;
    struct tree_path path;
    enum status st;

    if (++w->seen % ASK_EVERY == 0 && http_is_cancelled(w->request)) {
        w->status = error_set(w->e, ST_BUSY, "the client is gone");
        return false;
    }
    arena_reset(w->scratch);
    st = tree_names(w->api, tsuid, w->scratch, &series, w->e);
    if (st == ST_OK)
        st = tree_build(w->plan, &series, w->scratch, NULL, &path, w->e);
    if (st == ST_OK)
        w->visit(w, tsuid, &path);
    else if (st != ST_NOT_FOUND && st != ST_INVALID)
        w->status = st;
    return w->status == ST_OK;
}

static enum status
walk_all(struct walk *w)
{
    enum status st = tree_plan_new(w->tree, &w->plan, w->e);

    if (st != ST_OK)
        return st;
    w->arena = http_arena(w->request);
    w->branch.leaves.arena = w->branch.branches.arena = w->arena;
    w->scratch = http_arena_new(w->request);
    st = series_each(w->api->series, 0, NULL, walk_one, w, w->e);
    arena_free(&w->scratch);
    tree_plan_free(&w->plan);
    return w->status != ST_OK ? w->status : st;
}

/* A tree that is not enabled, or has no rules, has no branches, not even the
 * root; nor has one while nothing is sorted into trees. */
static bool
is_filled(const struct api *a, const struct tree *tree)
{
    return tree->enabled && !tree->emptied && tree->rules_len > 0 &&
           a->settings->tree_enable_processing;
}

static bool
is_kept(const struct walk *w, const struct tree_path *path)
{
    return path->top != NULL && !(path->unmatched && w->tree->strict_match);
}

/* -- one branch ------------------------------------------------------------ */

/* The names of the path that led to the branch, root first. */
static void
keep_path(struct walk *w, const struct tree_node *top,
          const struct tree_node *last)
{
    struct tree_branch *b = &w->branch;

    b->path = arena_array(w->arena, w->hashes.size / 4 + 1, sizeof *b->path);
    if (b->path == NULL) {
        fail_memory(w);
        return;
    }
    b->path[b->path_len++] = slice_str("ROOT");
    for (const struct tree_node *n = top; last != NULL; n = n->child) {
        struct slice name = n->name;

        if (!arena_keep(w->arena, &name))
            fail_memory(w);
        else if (!slice_eq(name, b->path[b->path_len - 1]))
            b->path[b->path_len++] = name;
        if (n == last)
            break;
    }
}

static void
add_entry(struct walk *w, struct tree_table *t, struct slice name,
          struct slice tsuid)
{
    uint8_t key[4];

    key_put_uint(key, java_hash(name), sizeof key);
    if (tree_table_add(t, slice_of(key, sizeof key), name, tsuid) == NULL)
        fail_memory(w);
}

/* A name that repeats the one before it is the same branch. */
static void
visit_branch(struct walk *w, struct slice tsuid, const struct tree_path *path)
{
    struct slice last = slice_str("ROOT");
    size_t depth = 0, wanted = w->hashes.size / 4;

    if (wanted == 0 && w->branch.path == NULL)
        keep_path(w, NULL, NULL);
    if (!is_kept(w, path))
        return;
    for (const struct tree_node *n = path->top; n != NULL; n = n->child) {
        if (!slice_eq(n->name, last))
            depth++;
        last = n->name;
        if (depth > wanted) {
            add_entry(w, &w->branch.branches, n->name, slice_str(""));
            return;
        }
        /* Is the name's hash the one at this depth of the branch's id? */
        if (depth > 0 && key_get_uint(w->hashes.data + (depth - 1) * 4, 4) !=
                             java_hash(n->name))
            return;
        if (depth < wanted)
            continue;
        if (w->branch.path == NULL)
            keep_path(w, path->top, n);
        if (n->leaf.data != NULL)
            add_entry(w, &w->branch.leaves, n->leaf, tsuid);
    }
}

enum status
tree_view_branch(const struct api *a, const struct http_request *r,
                 const struct tree *tree, struct slice hashes,
                 struct tree_branch *out, struct error *e)
{
    struct walk w = { .api = a,
                      .tree = tree,
                      .request = r,
                      .visit = visit_branch,
                      .hashes = hashes,
                      .e = e };
    enum status st = ST_OK;

    if (hashes.size % 4 == 0 && is_filled(a, tree))
        st = walk_all(&w);
    tree_table_sort(&w.branch.leaves);
    tree_table_sort(&w.branch.branches);
    *out = w.branch;
    return st == ST_OK && w.branch.path == NULL ? ST_NOT_FOUND : st;
}

/* -- collisions ------------------------------------------------------------ */

static void
add_collision(struct walk *w, struct slice tsuid, struct slice existing)
{
    w->collisions = arena_grow(w->arena, w->collisions, w->collisions_len,
                               &w->collisions_cap, sizeof *w->collisions);
    if (w->collisions == NULL || !arena_keep(w->arena, &tsuid)) {
        fail_memory(w);
        return;
    }
    w->collisions[w->collisions_len++] =
        (struct tree_collision){ tsuid, existing };
}

/* The key of a leaf in the whole tree: its branch's hashes and its own. */
static void
visit_leaf(struct walk *w, struct slice tsuid, const struct tree_path *path)
{
    struct slice last = slice_str("ROOT");
    const struct tree_entry *first;
    struct buf key = BUF_INIT;

    if (!is_kept(w, path))
        return;
    for (const struct tree_node *n = path->top; n != NULL; n = n->child) {
        if (!slice_eq(n->name, last))
            buf_put_u32(&key, java_hash(n->name));
        last = n->name;
        if (n->leaf.data == NULL)
            continue;
        buf_put_u32(&key, java_hash(n->leaf));
        first = tree_table_add(&w->branch.leaves, buf_slice(&key),
                               slice_str(""), tsuid);
        if (first == NULL)
            fail_memory(w);
        else if (!slice_eq(first->tsuid, tsuid))
            add_collision(w, tsuid, first->tsuid);
        break;
    }
    buf_fini(&key);
}

enum status
tree_view_collisions(const struct api *a, const struct http_request *r,
                     const struct tree *tree, struct tree_collision **out,
                     size_t *len, struct error *e)
{
    struct walk w = {
        .api = a, .tree = tree, .request = r, .visit = visit_leaf, .e = e
    };
    enum status st = ST_OK;

    if (tree->store_failures && is_filled(a, tree))
        st = walk_all(&w);
    table_fini(&w.branch.leaves.table);
    *out = w.collisions;
    *len = w.collisions_len;
    return st;
}
