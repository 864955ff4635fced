/* "metric{tags}{filters}".  Brackets nest.  Where they do not match, OpenTSDB
 * looks for the braces from several ends, so that stray ones land in odd
 * places; so does this. */
#include "query/parse/nesting.h"
#include "query/parse/parse_priv.h"

/* The filters read so far. */
struct list {
    struct arena *arena;
    bool parens_in_names;
    struct filter *items;
    size_t len, cap;
};

static enum status
list_add(struct list *l, const struct filter *f, struct error *e)
{
    struct filter *items;

    if (l->len == QUERY_FILTERS_MAX)
        return error_set(e, ST_LIMIT, "more than %d filters in a sub-query",
                         QUERY_FILTERS_MAX);
    items = arena_grow(l->arena, l->items, l->len, &l->cap, sizeof *f);
    if (items == NULL)
        return error_no_memory(e);
    l->items = items;
    l->items[l->len++] = *f;
    return ST_OK;
}

/* Does 'value' contain a '=' outside of its brackets?  If the brackets do not
 * match, every '=' counts. */
static bool
has_equals(struct slice value)
{
    size_t at = nesting_find(value, "=");

    if (at == NESTING_BROKEN)
        at = parse_find(value, '=');
    return at < value.size;
}

/* "key=value", both of which there must be.  Another '=' is a value's only
 * inside its brackets, as in "regexp(a(?=b))". */
static enum status
split_tag(struct slice tag, struct slice *key, struct slice *value,
          struct error *e)
{
    size_t at = parse_find(tag, '=');

    *key = slice_of(tag.data, at);
    *value = slice_of(tag.data + at, 0);
    if (at < tag.size)
        *value = slice_of(tag.data + at + 1, tag.size - at - 1);
    if (key->size == 0 || value->size == 0 || has_equals(*value))
        return error_set(e, ST_INVALID, "invalid tag: %.*s", SLICE_ARG(tag));
    return ST_OK;
}

static enum status
add_filter(struct list *l, struct slice key, struct slice value, bool group_by,
           struct error *e)
{
    struct filter f;
    unsigned flags = (group_by ? FILTER_GROUPS : 0) |
                     (l->parens_in_names ? FILTER_PARENS : 0);
    enum status st = filter_from_tag(l->arena, key, value, flags, &f, e);

    if (st == ST_OK && group_by)
        for (size_t i = 0; i < l->len; i++)
            if (filter_equal(&f, &l->items[i])) {
                l->items[i].group_by = true;
                filter_fini(&f);
                return ST_OK;
            }
    if (st == ST_OK)
        st = list_add(l, &f, e);
    if (st != ST_OK)
        filter_fini(&f);
    return st;
}

/* All of "k=v,k2=v2". */
static enum status
add_filters(struct list *l, struct slice text, bool group_by, bool may_end,
            struct error *e)
{
    struct slice *tags, key, value;
    struct error why;
    size_t len;
    enum status st = nesting_split(text, ',', l->arena, &tags, &len, e);

    for (size_t i = 0; i < len && st == ST_OK; i++) {
        if (tags[i].size == 0 && may_end)
            break;
        st = split_tag(tags[i], &key, &value, &why);
        if (st == ST_OK)
            st = add_filter(l, key, value, group_by, &why);
        if (st != ST_OK)
            return error_set(e, st, "When parsing %s '%.*s': %s",
                             group_by ? "tag" : "filter", SLICE_ARG(tags[i]),
                             why.text);
    }
    return st;
}

/* What is between the braces of "{tags}" and "{filters}"; data NULL: there are
 * no such braces. */
struct braces {
    struct slice tags, filters;
};

/* Sets 'inside' to the text between the braces at the start of 'left', and
 * moves 'left' after them.  Returns false if 'left' does not begin with a pair
 * of braces. */
static bool
take_braces(struct slice *left, struct slice *inside)
{
    size_t end;

    if (left->size == 0 || left->data[0] != '{')
        return false;
    *inside = slice_of(left->data + 1, left->size - 1);
    end = nesting_find(*inside, "}");
    if (end >= inside->size) /* NESTING_BROKEN, too */
        return false;
    inside->size = end;
    *left = slice_of(left->data + end + 2, left->size - end - 2);
    return true;
}

/* Splits a text that consists of one or two pairs of braces.  Returns false if
 * it has another form. */
static bool
find_nested(struct slice text, struct braces *out)
{
    *out = (struct braces){ { NULL, 0 }, { NULL, 0 } };
    return take_braces(&text, &out->tags) &&
           (text.size == 0 || take_braces(&text, &out->filters)) &&
           text.size == 0;
}

/* Splits the text as OpenTSDB does: the tags end at the first '}', and the
 * filters begin after the last '{'. */
static enum status
find_flat(struct slice text, size_t curly, struct braces *out, struct error *e)
{
    size_t close = parse_find(text, '}'), last = text.size - 1;

    *out = (struct braces){ { NULL, 0 }, { NULL, 0 } };
    if (text.data[text.size - 1] != '}')
        return error_set(e, ST_INVALID, "Missing '}' at the end of: %.*s",
                         SLICE_ARG(text));
    if (curly == text.size - 2)
        return ST_OK;
    if (close < curly)
        return error_set(e, ST_INVALID, "A '}' before the '{' in: %.*s",
                         SLICE_ARG(text));
    out->tags = slice_of(text.data + curly + 1, close - curly - 1);
    if (close == text.size - 1)
        return ST_OK;
    while (text.data[last] != '{')
        last--;
    out->filters = slice_of(text.data + last + 1, text.size - last - 2);
    return ST_OK;
}

enum status
parse_metric_and_filters(struct slice text, bool parens_in_names,
                         struct arena *a, struct slice *metric,
                         struct filter_list *filters, struct error *e)
{
    size_t curly = parse_find(text, '{');
    struct list l = { .arena = a, .parens_in_names = parens_in_names };
    struct braces in;
    enum status st = ST_OK;

    *filters = (struct filter_list){ NULL, 0 };
    *metric = slice_of(text.data, curly);
    if (text.size == 0)
        return error_set(e, ST_INVALID, "Metric cannot be null or empty");
    if (curly == text.size)
        return ST_OK;
    if (!find_nested(slice_of(text.data + curly, text.size - curly), &in))
        st = find_flat(text, curly, &in, e);
    if (st != ST_OK || (in.tags.size == 0 && in.filters.data == NULL))
        return st;
    if (in.filters.data != NULL)
        st = add_filters(&l, in.filters, false, true, e);
    if (st == ST_OK)
        st = add_filters(&l, in.tags, true, in.filters.data != NULL, e);
    *filters = (struct filter_list){ l.items, l.len };
    return st;
}

/* False when the same tag is there already. */
static enum status
is_new(const struct tag *tags, size_t len, struct slice tag,
       const struct tag *t, bool *out, struct error *e)
{
    *out = true;
    for (size_t i = 0; i < len; i++) {
        if (!slice_eq(tags[i].key, t->key))
            continue;
        *out = false;
        if (!slice_eq(tags[i].value, t->value))
            return error_set(e, ST_INVALID, "duplicate tag: %.*s",
                             SLICE_ARG(tag));
    }
    return ST_OK;
}

static enum status
read_tags(struct slice text, struct arena *a, struct tag **tags,
          size_t *tags_len, struct error *e)
{
    struct slice *texts;
    struct error why;
    size_t len;
    enum status st = nesting_split(text, ',', a, &texts, &len, e);

    if (st != ST_OK)
        return st;
    if (len > QUERY_FILTERS_MAX)
        return error_set(e, ST_LIMIT, "more than %d tags", QUERY_FILTERS_MAX);
    *tags = arena_array(a, len, sizeof **tags);
    if (*tags == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < len; i++) {
        struct tag t;
        bool fresh;

        st = split_tag(texts[i], &t.key, &t.value, &why);
        if (st == ST_OK)
            st = is_new(*tags, *tags_len, texts[i], &t, &fresh, &why);
        if (st != ST_OK)
            return error_set(e, st, "When parsing tag '%.*s': %s",
                             SLICE_ARG(texts[i]), why.text);
        if (fresh)
            (*tags)[(*tags_len)++] = t;
    }
    return ST_OK;
}

enum status
parse_metric_and_tags(struct slice text, struct arena *a, struct slice *metric,
                      struct tag **tags, size_t *tags_len, struct error *e)
{
    size_t curly = parse_find(text, '{');

    *tags = NULL;
    *tags_len = 0;
    *metric = slice_of(text.data, curly);
    if (curly == text.size)
        return ST_OK;
    if (text.data[text.size - 1] != '}')
        return error_set(e, ST_INVALID, "Missing '}' at the end of: %.*s",
                         SLICE_ARG(text));
    if (curly == text.size - 2)
        return ST_OK;
    return read_tags(slice_of(text.data + curly + 1, text.size - curly - 2), a,
                     tags, tags_len, e);
}
