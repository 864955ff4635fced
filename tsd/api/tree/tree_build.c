/* OpenTSDB recurses from level to level and passes two branches on the way
 * back; here the way down makes a list, and the way back is a loop over it. */
#include "tsd/api/tree/tree_build.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/obj.h"
#include "query/model/regexp.h"
#include "web/json/json.h"

#define PLAN_MAGIC FOURCC('T', 'R', 'P', 'L')
/* Group 0 and those that a rule may name. */
#define GROUPS_MAX  100
#define MESSAGE_MAX ((size_t)64 << 10)

/* A rule's expressions, NULL where it has none. */
struct step {
    struct regexp *regex, *separator;
    struct error separator_error;
};

struct tree_plan {
    uint32_t magic;
    const struct tree *tree;
    struct step *steps; /* as tree->rules */
};

/* A series being built. */
struct work {
    const struct tree_plan *plan;
    const struct tree_series *series;
    struct arena *arena;
    struct buf *messages;
    const struct tree_rule *rule;
    const struct step *step;
    struct tree_node *node; /* being named */
    size_t nodes_len;
    bool splitting; /* 'splits' are those of the level */
    struct slice *splits;
    size_t splits_len, split_at;
    struct error *e;
    enum status status;
};

/* -- the plan -------------------------------------------------------------- */

/* A separator that is none is found out by the series that need it. */
static enum status
plan_step(const struct tree_rule *rule, struct step *s, struct error *e)
{
    struct error *why = &s->separator_error;

    if (rule->regex.size > 0)
        return regexp_new(rule->regex, &s->regex, e);
    if (rule->separator.size > 0 &&
        regexp_new(rule->separator, &s->separator, why) != ST_OK)
        s->separator = NULL;
    return ST_OK;
}

enum status
tree_plan_new(const struct tree *tree, struct tree_plan **out, struct error *e)
{
    struct tree_plan *p = mem_new(sizeof *p);
    enum status st = ST_OK;

    INSIST(tree->rules_len > 0);
    p->magic = PLAN_MAGIC;
    p->tree = tree;
    p->steps = mem_try_array(tree->rules_len, sizeof *p->steps);
    if (p->steps == NULL) {
        OBJ_FREE(p);
        *out = NULL;
        return error_no_memory(e);
    }
    for (size_t i = 0; i < tree->rules_len && st == ST_OK; i++)
        st = plan_step(&tree->rules[i], &p->steps[i], e);
    if (st != ST_OK)
        tree_plan_free(&p);
    *out = p;
    return st;
}

void
tree_plan_free(struct tree_plan **pp)
{
    struct tree_plan *p = OBJ_TAKE(pp, PLAN_MAGIC);

    if (p == NULL)
        return;
    for (size_t i = 0; i < p->tree->rules_len; i++) {
        regexp_free(&p->steps[i].regex);
        regexp_free(&p->steps[i].separator);
    }
    free(p->steps);
    OBJ_FREE(p);
}

/* -- what is said ---------------------------------------------------------- */

static void
fail(struct work *w, enum status st, const char *text)
{
    if (w->status == ST_OK)
        w->status = error_set(w->e, st, "%s", text);
}

static void say(struct work *w, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void
say(struct work *w, const char *fmt, ...)
{
    struct buf text;
    va_list args;

    if (w->messages == NULL)
        return;
    buf_init(&text, MESSAGE_MAX);
    va_start(args, fmt);
    buf_vprintf(&text, fmt, args);
    va_end(args);
    if (!text.failed)
        json_put_item(w->messages, buf_slice(&text));
    if (text.failed || w->messages->failed)
        fail(w, ST_LIMIT, "the answer is too large");
    buf_fini(&text);
}

/* A rule in a text: "[1:0:0:METRIC]". */
#define RULE_FORMAT "[%lld:%lld:%lld:%s]"
#define RULE_ARGS(r)                                                    \
    (long long)(r)->tree, (long long)(r)->level, (long long)(r)->order, \
        tree_rule_type_name((r)->type)

/* -- the way down: a name for each level ----------------------------------- */

/* Puts 'with' for each 'what' in the text. */
static struct slice
replace(struct work *w, struct slice text, const char *what, struct slice with)
{
    struct slice token = slice_str(what), done;
    struct buf b;

    if (memmem(text.data, text.size, token.data, token.size) == NULL)
        return text;
    buf_init(&b, RECORD_BYTES);
    while (text.size > 0) {
        bool found = slice_starts(text, token);
        size_t step = found ? token.size : 1;

        buf_put_slice(&b, found ? with : slice_of(text.data, 1));
        text = slice_of(text.data + step, text.size - step);
    }
    done = arena_take(w->arena, &b);
    if (done.data == NULL)
        fail(w, ST_LIMIT, "the request needs too much memory");
    return done.data == NULL ? slice_str("") : done;
}

/* What {tag_name} stands for. */
static struct slice
tag_name(struct work *w)
{
    enum tree_rule_type type = w->rule->type;

    if (type == TREE_RULE_TAGK)
        return w->rule->field;
    if (type != TREE_RULE_METRIC)
        return w->rule->custom_field;
    say(w,
        "Display rule " RULE_FORMAT
        " was of the wrong type to match on {tag_name}",
        RULE_ARGS(w->rule));
    return slice_str("");
}

static void
set_name(struct work *w, struct slice original, struct slice extracted)
{
    struct slice text = w->rule->display_format;
    const char *token = "{tag_name}";

    w->node->name = extracted;
    if (text.size == 0)
        return;
    text = replace(w, text, "{ovalue}", original);
    text = replace(w, text, "{value}", extracted);
    text = replace(w, text, "{tsuid}", w->series->tsuid);
    if (memmem(text.data, text.size, token, strlen(token)) != NULL)
        text = replace(w, text, token, tag_name(w));
    w->node->name = text;
}

static bool
add_split(struct work *w, struct slice part, size_t *cap)
{
    w->splits =
        arena_grow(w->arena, w->splits, w->splits_len, cap, sizeof part);
    if (w->splits == NULL) {
        w->splits_len = 0;
        fail(w, ST_LIMIT, "the request needs too much memory");
        return false;
    }
    w->splits[w->splits_len++] = part;
    return true;
}

/* Where to look on after a match of nothing: behind one character. */
static size_t
step_over(struct slice s, size_t at)
{
    at++;
    while (at < s.size && (s.data[at] & 0xc0) == 0x80)
        at++;
    return at;
}

/* Java's String.split(): a match of nothing at the start does not count, and
 * what is empty at the end is dropped. */
static void
split(struct work *w, struct slice value)
{
    size_t from = 0, at = 0, cap = 0, groups_len;
    struct slice match;
    enum status st = ST_OK;

    w->splits_len = 0;
    while (at <= value.size) {
        size_t start;

        st = regexp_match(w->step->separator, value, at, &match, 1, &groups_len,
                          w->e);
        if (st != ST_OK)
            break;
        start = (size_t)(match.data - value.data);
        at = match.size > 0 ? start + match.size : step_over(value, start);
        if (from == 0 && start == 0 && match.size == 0)
            continue;
        if (!add_split(w, slice_of(value.data + from, start - from), &cap))
            return;
        from = start + match.size;
    }
    if (st == ST_LIMIT)
        w->status = st;
    (void)add_split(w, slice_of(value.data + from, value.size - from), &cap);
    while (from > 0 && w->splits_len > 0 &&
           w->splits[w->splits_len - 1].size == 0)
        w->splits_len--;
}

static void
name_by_split(struct work *w, struct slice value)
{
    if (!w->splitting) {
        if (w->step->separator == NULL) {
            fail(w, ST_INVALID, w->step->separator_error.text);
            return;
        }
        split(w, value);
        w->splitting = true;
        w->split_at = 0;
        if (w->splits_len == 0) {
            say(w,
                "Separator did not match, created an empty list on "
                "rule: " RULE_FORMAT,
                RULE_ARGS(w->rule));
            w->split_at = 1;
            return;
        }
    }
    if (w->split_at < w->splits_len)
        set_name(w, value, w->splits[w->split_at]);
    w->split_at++;
}

static void
name_by_value(struct work *w, struct slice value)
{
    if (w->step->regex != NULL) {
        struct slice groups[GROUPS_MAX];
        size_t len, group = (size_t)w->rule->group + 1;
        enum status st = regexp_match(w->step->regex, value, 0, groups,
                                      GROUPS_MAX, &len, w->e);

        if (st == ST_LIMIT)
            w->status = st;
        if (st != ST_OK)
            return;
        if (group >= len || group >= GROUPS_MAX)
            say(w,
                "Regex group index [%lld] for rule " RULE_FORMAT
                " was out of bounds [%zu]",
                (long long)w->rule->group, RULE_ARGS(w->rule), len - 1);
        else if (groups[group].size == 0)
            say(w, "Extracted value for rule " RULE_FORMAT " was null or empty",
                RULE_ARGS(w->rule));
        else
            set_name(w, value, groups[group]);
    } else if (w->rule->separator.size > 0)
        name_by_split(w, value);
    else
        set_name(w, value, value);
}

static void
name_by_custom(struct work *w, enum uid_kind kind, size_t i)
{
    const struct tree_series *s = w->series;
    struct slice value;
    bool found = s->custom != NULL && s->custom(s->custom_ctx, kind, i,
                                                w->rule->custom_field, &value);

    if (found)
        name_by_value(w, value);
    say(w, "%s custom tag [%.*s] for rule: " RULE_FORMAT,
        found ? "Matched" : "No match on", SLICE_ARG(w->rule->custom_field),
        RULE_ARGS(w->rule));
}

static void
apply_rule(struct work *w)
{
    bool by_value = w->rule->type == TREE_RULE_TAGV_CUSTOM;
    size_t i = 0;
    const struct tree_series *s = w->series;
    struct slice field = w->rule->field;

    say(w, "Processing rule: " RULE_FORMAT, RULE_ARGS(w->rule));
    if (w->rule->type == TREE_RULE_METRIC) {
        name_by_value(w, w->series->metric);
        return;
    }
    if (w->rule->type == TREE_RULE_METRIC_CUSTOM) {
        name_by_custom(w, UID_METRIC, 0);
        return;
    }
    /* The index of the tag whose key, or value, is the rule's field. */
    while (i < s->tags_len &&
           !slice_eq(by_value ? s->tags[i].value : s->tags[i].key, field))
        i++;
    say(w, "%s %s [%.*s] for rule: " RULE_FORMAT,
        i < s->tags_len ? "Matched" : "No match on", by_value ? "tagv" : "tagk",
        SLICE_ARG(field), RULE_ARGS(w->rule));
    if (i == s->tags_len)
        return;
    if (w->rule->type == TREE_RULE_TAGK)
        name_by_value(w, w->series->tags[i].value);
    else
        name_by_custom(w, by_value ? UID_TAGV : UID_TAGK, i);
}

static bool
add_node(struct work *w)
{
    struct tree_node *n = arena_array(w->arena, 1, sizeof *n);

    if (n == NULL) {
        fail(w, ST_LIMIT, "the request needs too much memory");
        return false;
    }
    n->before = w->node;
    w->node = n;
    w->nodes_len++;
    return true;
}

/* A node for each level, or for each part of what a level splits. */
static void
go_down(struct work *w, bool *unmatched)
{
    const struct tree *tree = w->plan->tree;
    size_t first = 0;

    while (first < tree->rules_len && w->status == ST_OK && add_node(w)) {
        size_t i = first, end = first;

        while (end < tree->rules_len &&
               tree->rules[end].level == tree->rules[first].level)
            end++;
        for (; i < end && w->node->name.size == 0; i++) {
            w->rule = &tree->rules[i];
            w->step = &w->plan->steps[i];
            apply_rule(w);
        }
        *unmatched |= w->node->name.size == 0;
        if (w->splitting && w->split_at < w->splits_len)
            continue;
        w->splitting = false;
        first = end;
    }
}

/* -- the way back: who is whose child -------------------------------------- */

/* Until a leaf is placed: the last node with a name that stands behind one
 * with a name, or behind the root, is a leaf.  Returns whether it was. */
static bool
place_leaf(struct work *w, size_t depth, struct tree_node **current,
           struct tree_node *parent, struct tree_path *out)
{
    struct slice name, id = w->series->tsuid;

    if (*current == NULL || (*current)->name.size == 0) {
        *current = parent;
        return false;
    }
    name = (*current)->name;
    if (parent != NULL && parent->name.size == 0) {
        say(w, "Depth [%zu] Parent branch was empty, rolling back", depth);
        return false;
    }
    *(parent == NULL ? &out->root_leaf : &parent->leaf) = name;
    if (parent == NULL)
        say(w,
            "Depth [%zu] Adding leaf [name: %.*s tsuid: %.*s] to parent "
            "branch [ID: [%04llX] Name: [ROOT]]",
            depth, SLICE_ARG(name), SLICE_ARG(id),
            (unsigned long long)w->plan->tree->id);
    else
        say(w,
            "Depth [%zu] Adding leaf [name: %.*s tsuid: %.*s] to parent "
            "branch [Name: [%.*s]]",
            depth, SLICE_ARG(name), SLICE_ARG(id), SLICE_ARG(parent->name));
    *current = parent;
    return true;
}

static void
go_back(struct work *w, struct tree_path *out)
{
    struct tree_node *current = w->node;
    size_t depth = w->nodes_len + 1;
    bool placed = false;

    for (const struct tree_node *n = w->node; n != NULL; n = n->before) {
        if (!placed)
            placed = place_leaf(w, depth, &current, n->before, out);
        else {
            struct tree_node *c = current;

            if (c->name.size == 0) {
                say(w, "Depth [%zu] Branch was empty", depth);
                current = n->before;
            } else if (n->before == NULL || n->before->name.size == 0) {
                if (depth > 2)
                    say(w,
                        "Depth [%zu] Skipping a non-matched branch, returning: "
                        "Name: [%.*s]",
                        depth, SLICE_ARG(c->name));
            } else if (slice_eq(c->name, n->before->name)) {
                say(w, "Depth [%zu] Current was the same as previous", depth);
            } else {
                n->before->child = c;
                say(w,
                    "Depth [%zu] Adding branch: Name: [%.*s] to parent: Name: "
                    "[%.*s]",
                    depth, SLICE_ARG(c->name), SLICE_ARG(n->before->name));
                current = n->before;
            }
        }
        depth--;
    }
    out->top = current;
}

enum status
tree_build(const struct tree_plan *p, const struct tree_series *s,
           struct arena *arena, struct buf *messages, struct tree_path *out,
           struct error *e)
{
    struct work w = { .plan = p,
                      .series = s,
                      .arena = arena,
                      .messages = messages,
                      .e = e,
                      .status = ST_OK };

    OBJ_CHECK(p, PLAN_MAGIC);
    *out = (struct tree_path){ 0 };
    go_down(&w, &out->unmatched);
    if (w.status == ST_OK)
        go_back(&w, out);
    if (out->unmatched && p->tree->strict_match)
        say(&w,
            "TSUID failed to match one or more rule levels, will not add: "
            "%.*s",
            SLICE_ARG(s->tsuid));
    return w.status;
}
