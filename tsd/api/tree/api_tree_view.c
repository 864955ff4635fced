/* /api/tree/branch, test, collisions, notmatched: what a tree's rules make of
 * the series. */
#include "tsd/api/meta_json.h"
#include "tsd/api/tree/tree_json.h"
#include "tsd/api/tree/tree_view.h"
#include "web/json/json.h"

/* -- branch ---------------------------------------------------------------- */

struct branch_request {
    int64_t tree;
    struct slice branch;
};

static const struct field of_branch[] = {
#define AT(member) offsetof(struct branch_request, member)
    { "treeid", NULL, FIELD_INT, AT(tree), FIELD_DETAILS, 0,
      "Unable to parse 'tree' value" },
    { "branch", NULL, FIELD_TEXT, AT(branch), 0, 0, NULL },
#undef AT
};

const struct field_table tree_branch_fields = { FIELDS(of_branch) };

/* The id of the branch: from its parameter, or the tree's root. */
static bool
read_branch(const struct api_call *w, struct slice *id)
{
    uint8_t *bytes = arena_alloc(w->arena, 2);
    struct branch_request n = { 0 };
    unsigned seen;
    struct error e;
    enum status st = ST_OK;

    if (!fields_read_params(w->r, FIELDS(of_branch), &n, &seen, w->out))
        return false;
    if (n.branch.size > 0) {
        st = n.branch.size < 4
                 ? error_set(&e, ST_INVALID, "Branch ID was too short")
                 : meta_read_id(n.branch, w->arena, id, &e);
    } else if (n.tree < 1) {
        http_reply_error(w->out, 400, "Missing or invalid branch and tree IDs",
                         NULL);
        return false;
    } else if (n.tree > TREE_ID_MAX) {
        st = error_set(&e, ST_INVALID, "Missing or invalid tree ID");
    } else if (bytes == NULL) {
        st = error_no_memory(&e);
    } else {
        key_put_uint(bytes, (uint64_t)n.tree, 2);
        *id = slice_of(bytes, 2);
    }
    if (st != ST_OK)
        api_reject(w->out, &e);
    return st == ST_OK;
}

static void
write_leaf_end(struct buf *b, struct slice tsuid, struct slice name)
{
    json_put_text(b, "tsuid", tsuid);
    json_put_text(b, "displayName", name);
    buf_put_u8(b, '}');
}

/* Leaves whose series lost a name meanwhile are left out. */
static enum status
write_leaves(const struct api_call *w, const struct tree_branch *branch,
             struct error *e)
{
    struct buf *b = http_reply_body(w->out);
    struct arena *scratch = http_arena_new(w->r);
    bool first = true;
    enum status st = ST_OK;

    for (size_t i = 0; i < branch->leaves.len && st == ST_OK; i++) {
        struct tree_series s;

        st = api_go_on(w->r, w->out, e);
        if (st != ST_OK)
            break;
        arena_reset(scratch);
        st = tree_names(w->a, branch->leaves.entries[i].tsuid, scratch, &s, e);
        if (st == ST_NOT_FOUND) {
            st = ST_OK;
            continue;
        }
        if (st != ST_OK)
            break;
        buf_put_str(b, first ? "[" : ",");
        first = false;
        buf_put_u8(b, '{');
        json_put_text(b, "metric", s.metric);
        field_put_pairs(b, "tags", s.tags, s.tags_len);
        write_leaf_end(b, s.tsuid, branch->leaves.entries[i].name);
    }
    buf_put_str(b, first ? "null" : "]");
    arena_free(&scratch);
    return st;
}

static enum status
write_branches(const struct api_call *w, int64_t tree,
               const struct tree_branch *branch, struct error *e)
{
    struct buf *b = http_reply_body(w->out);
    struct slice *path =
        arena_array(w->arena, branch->path_len + 1, sizeof *path);
    enum status st = ST_OK;

    if (path == NULL)
        return error_no_memory(e);
    memcpy(path, branch->path, branch->path_len * sizeof *path);
    for (size_t i = 0; i < branch->branches.len && st == ST_OK; i++) {
        st = api_go_on(w->r, w->out, e);
        path[branch->path_len] = branch->branches.entries[i].name;
        buf_put_str(b, i == 0 ? "[" : ",");
        buf_put_str(b, "{\"leaves\":null,\"branches\":null");
        tree_write_branch_end(b, tree, path, branch->path_len + 1);
    }
    buf_put_str(b, branch->branches.len == 0 ? "null" : "]");
    return st;
}

void
api_tree_branch(const struct api_call *w)
{
    struct tree_branch branch;
    struct tree tree;
    struct slice id = { NULL, 0 };
    struct error e;
    enum status st;
    struct buf text = BUF_INIT;

    if (!read_branch(w, &id))
        return;
    st = tree_get(w->a->records, (int64_t)key_get_uint(id.data, 2), w->arena,
                  &tree, &e);
    if (st == ST_OK)
        st = tree_view_branch(w->a, w->r, &tree,
                              slice_of(id.data + 2, id.size - 2), &branch, &e);
    if (st == ST_NOT_FOUND || st == ST_INVALID) {
        buf_put_str(&text, "Unable to locate branch '");
        api_put_hex(&text, id);
        buf_printf(&text, "' for tree '%llu'",
                   (unsigned long long)key_get_uint(id.data, 2));
        http_reply_error(w->out, 404, buf_cstr(&text), NULL);
        buf_fini(&text);
        return;
    }
    if (st == ST_OK) {
        struct buf *b = http_reply_body(w->out);

        buf_put_str(b, "{\"leaves\":");
        st = write_leaves(w, &branch, &e);
        buf_put_str(b, ",\"branches\":");
        if (st == ST_OK)
            st = write_branches(w, tree.id, &branch, &e);
        tree_write_branch_end(b, tree.id, branch.path, branch.path_len);
    }
    if (st != ST_OK)
        http_reply_failure(w->out, &e);
}

/* -- a tree and series ----------------------------------------------------- */

struct tsuids {
    int64_t tree;
    struct field_list list;
};

static const struct field of_tsuids[] = {
#define AT(member) offsetof(struct tsuids, member)
    { "treeid", "treeId", FIELD_INT, AT(tree), FIELD_NEEDED | FIELD_DETAILS, 1,
      "Unable to parse 'tree' value" },
    { "tsuids", "tsuids", FIELD_LIST, AT(list), 0, 0,
      "Unable to convert the given data to a list" },
#undef AT
};

const struct field_table tree_tsuids_fields = { FIELDS(of_tsuids) };

/* Its reply is made when it is false. */
static bool
read_tree_and_tsuids(const struct api_call *w, bool need_tsuids,
                     struct tsuids *t, struct tree *tree)
{
    struct error e;
    unsigned seen;

    *t = (struct tsuids){ 0 };
    if (!fields_read(w->r, FIELDS(of_tsuids), t, &seen, w->out))
        return false;
    if (seen == 0) {
        http_reply_error(w->out, 400, "Missing or invalid Tree ID", NULL);
        return false;
    }
    if (tree_get(w->a->records, t->tree, w->arena, tree, &e) != ST_OK) {
        api_reject(w->out, &e);
        return false;
    }
    if (t->list.len > 0 || !need_tsuids)
        return true;
    http_reply_error(w->out, 400, "Missing or empty TSUID list", NULL);
    return false;
}

/* -- test ------------------------------------------------------------------ */

/* Each series goes through the rules by itself: its answer has the messages of
 * the way and the branches and the leaf that it would get. OpenTSDB builds all
 * series of a request below one root, and shows each of them with the leaves of
 * all. */
struct testing {
    const struct api_call *w;
    const struct tree *tree;
    struct tree_plan *plan;
    struct arena *scratch; /* of one series */
    struct error e;
};

/* Writes null if there is no leaf. */
static void
write_test_leaf(struct buf *b, struct slice tsuid, struct slice name)
{
    if (name.data == NULL) {
        buf_put_str(b, "null");
        return;
    }
    buf_put_str(b, "[{\"metric\":\"\",\"tags\":null");
    write_leaf_end(b, tsuid, name);
    buf_put_u8(b, ']');
}

/* Writes the branches below the root. Each is the only child of the one before
 * it. */
static enum status
write_test_chain(struct testing *t, struct buf *b, struct slice tsuid,
                 const struct tree_node *top)
{
    struct slice *path;
    size_t *ends, len = 0, depth = 1;

    for (const struct tree_node *n = top; n != NULL; n = n->child)
        len++;
    path = arena_array(t->scratch, len + 1, sizeof *path);
    ends = arena_array(t->scratch, len + 1, sizeof *ends);
    if (path == NULL || ends == NULL)
        return error_no_memory(&t->e);
    path[0] = slice_str("ROOT");
    len = 0;
    for (const struct tree_node *n = top; n != NULL; n = n->child) {
        if (!slice_eq(n->name, path[depth - 1]))
            path[depth++] = n->name;
        ends[len++] = depth;
        buf_put_str(b, "[{\"leaves\":");
        write_test_leaf(b, tsuid, n->leaf);
        buf_put_str(b, ",\"branches\":");
    }
    buf_put_str(b, "null");
    while (len-- > 0) {
        tree_write_branch_end(b, t->tree->id, path, ends[len]);
        buf_put_u8(b, ']');
    }
    return ST_OK;
}

static enum status
write_test_root(struct testing *t, struct buf *b, struct slice tsuid,
                const struct tree_path *way)
{
    const struct slice path[1] = { slice_str("ROOT") };
    bool is_kept = !way->unmatched || !t->tree->strict_match;
    enum status st;

    buf_put_str(b, "{\"leaves\":");
    write_test_leaf(b, tsuid, way->root_leaf);
    buf_put_str(b, ",\"branches\":");
    st = write_test_chain(t, b, tsuid, is_kept ? way->top : NULL);
    tree_write_branch_end(b, t->tree->id, path, 1);
    return st;
}

static enum status
write_test_meta(struct testing *t, struct buf *b, struct slice tsuid,
                const struct meta *meta)
{
    const struct api *a = t->w->a;
    struct series_points points;
    enum status st =
        series_points(a->store, &tsuid, 1, &points, api_cancel(t->w->r), &t->e);

    return st == ST_OK ? meta_write_series(a, b, tsuid, meta, &points,
                                           t->scratch, &t->e)
                       : st;
}

static enum status
test_one(struct testing *t, struct slice text, struct buf *b)
{
    const char *missing = "Unable to locate TSUID meta data";
    struct slice tsuid;
    struct meta meta;
    size_t start;
    enum status st = meta_read_id(text, t->w->arena, &tsuid, &t->e);
    struct tree_path path = { 0 };
    struct tree_series series;

    json_put_item(b, text);
    buf_put_u8(b, ':');
    start = b->size;
    if (st == ST_OK)
        st = meta_get_series(t->w->a, tsuid, t->w->arena, &meta, &t->e);
    if (st == ST_OK && t->plan == NULL)
        return error_set(&t->e, ST_INVALID, "The tree has no rules");
    if (st == ST_OK) {
        arena_reset(t->scratch);
        buf_put_str(b, "{\"meta\":");
        st = write_test_meta(t, b, tsuid, &meta);
        buf_put_str(b, ",\"messages\":[");
        if (st == ST_OK)
            st = tree_names(t->w->a, tsuid, t->scratch, &series, &t->e);
        if (st == ST_OK)
            st = tree_build(t->plan, &series, t->scratch, b, &path, &t->e);
        buf_put_str(b, "],\"branch\":");
        if (st == ST_OK)
            st = write_test_root(t, b, series.tsuid, &path);
        buf_put_u8(b, '}');
        if (st == ST_NOT_FOUND)
            (void)error_wrap(&t->e, st, "TSUID was missing a UID name");
        missing = t->e.text;
    }
    if (st != ST_NOT_FOUND)
        return st;
    b->size = start;
    /* A series without a branch: what is missing is its message. */
    buf_put_str(b, "{\"meta\":null,\"messages\":[");
    json_put_string(b, slice_str(missing));
    buf_put_str(b, "],\"branch\":null}");
    return ST_OK;
}

/* An id that is named several times is tested once. */
static enum status
test_tree(struct testing *t, const struct field_list *ids)
{
    struct buf *b = http_reply_body(t->w->out);
    struct tree_table done = { .arena = t->w->arena };
    enum status st = ST_OK;

    if (t->tree->rules_len > 0)
        st = tree_plan_new(t->tree, &t->plan, &t->e);
    buf_put_u8(b, '{');
    for (size_t i = 0, len; i < ids->len && st == ST_OK; i++) {
        len = done.len;
        if (tree_table_add(&done, ids->texts[i], slice_str(""),
                           slice_str("")) == NULL)
            st = error_no_memory(&t->e);
        else if (done.len > len)
            st = api_go_on(t->w->r, t->w->out, &t->e);
        if (st == ST_OK && done.len > len)
            st = test_one(t, ids->texts[i], b);
    }
    buf_put_u8(b, '}');
    table_fini(&done.table);
    return st;
}

void
api_tree_test(const struct api_call *w)
{
    struct testing t = { .w = w };
    struct tsuids ids;
    struct tree tree;

    if (!read_tree_and_tsuids(w, true, &ids, &tree))
        return;
    t.tree = &tree;
    t.scratch = http_arena_new(w->r);
    if (test_tree(&t, &ids.list) != ST_OK)
        api_reject(w->out, &t.e);
    tree_plan_free(&t.plan);
    arena_free(&t.scratch);
}

/* -- collisions ------------------------------------------------------------ */

static void
list_collisions(const struct api_call *w, bool unmatched)
{
    struct buf *b = http_reply_body(w->out);
    struct tree_collision *all = NULL;
    struct tsuids ids;
    struct tree tree;
    size_t len = 0;
    struct error e;
    enum status st = ST_OK;

    if (!read_tree_and_tsuids(w, false, &ids, &tree))
        return;
    /* Texts to bytes, sorted. */
    for (size_t i = 0; i < ids.list.len && st == ST_OK; i++)
        st = meta_read_id(ids.list.texts[i], w->arena, &ids.list.texts[i], &e);
    if (st == ST_OK)
        ids.list.len = slices_sort_unique(ids.list.texts, ids.list.len);
    if (st == ST_OK && !unmatched)
        st = tree_view_collisions(w->a, w->r, &tree, &all, &len, &e);
    if (st != ST_OK) {
        api_reject(w->out, &e);
        return;
    }
    buf_put_u8(b, '{');
    for (size_t i = 0; i < len; i++) {
        if (ids.list.len > 0 &&
            bsearch(&all[i].tsuid, ids.list.texts, ids.list.len,
                    sizeof *ids.list.texts, slice_compare) == NULL)
            continue;
        json_open(b, NULL, '"');
        api_put_hex(b, all[i].tsuid);
        buf_put_str(b, "\":\"");
        api_put_hex(b, all[i].existing);
        buf_put_u8(b, '"');
    }
    buf_put_u8(b, '}');
}

void
api_tree_collisions(const struct api_call *w)
{
    list_collisions(w, false);
}

/* OpenTSDB never notes what did not match: it looks for earlier notes before
 * it makes the first one.  So the list is empty, with it and with us. */
void
api_tree_unmatched(const struct api_call *w)
{
    list_collisions(w, true);
}
