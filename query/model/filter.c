/* See query/model/filter.h.  The planner calls filter_matches() once for each
 * value of a tag key, not once for each series. */
#include "query/model/filter.h"

#include <stdlib.h>

#include "base/hash.h"
#include "query/model/casefold.h"

/* Bytes of a request's memory that one of a compiled expression counts for:
 * making it takes time, too. */
#define REGEXP_CHARGE 16

static const char *const names[] = {
#define X(e, name) name,
    FILTER_LIST(X)
#undef X
};

enum status
text_split(struct slice text, char separator, struct arena *a,
           struct slice **parts, size_t *len, struct error *e)
{
    size_t from = 0;

    *len = 1;
    for (size_t i = 0; i < text.size; i++)
        *len += text.data[i] == (uint8_t)separator;
    *parts = arena_array(a, *len, sizeof **parts);
    if (*parts == NULL)
        return error_no_memory(e);
    *len = 0;
    for (size_t i = 0; i <= text.size; i++) {
        if (i < text.size && text.data[i] != (uint8_t)separator)
            continue;
        (*parts)[(*len)++] = slice_of(text.data + from, i - from);
        from = i + 1;
    }
    return ST_OK;
}

/* In lower case where the filter ignores it. */
static enum status
split(struct arena *a, struct filter *f, char separator, struct error *e)
{
    struct slice text = f->text;

    if (f->ignore_case) {
        uint8_t *folded = arena_alloc(a, text.size);

        if (folded == NULL)
            return error_no_memory(e);
        casefold_bytes(text, folded);
        text.data = folded;
    }
    return text_split(text, separator, a, &f->parts, &f->parts_len, e);
}

static bool
has_literal(const struct filter *f, struct slice tagv)
{
    size_t from = 0, to = f->parts_len;

    while (from < to) {
        size_t mid = from + (to - from) / 2;
        int c = f->ignore_case ? casefold_cmp(tagv, f->parts[mid])
                               : slice_cmp(tagv, f->parts[mid]);

        if (c == 0)
            return true;
        if (c < 0)
            to = mid;
        else
            from = mid + 1;
    }
    return false;
}

static bool
part_is_at(const struct filter *f, struct slice part, struct slice s, size_t at)
{
    if (at > s.size || part.size > s.size - at)
        return false;
    for (size_t i = 0; i < part.size; i++) {
        uint8_t c = f->ignore_case ? casefold_at(s, at + i) : s.data[at + i];

        if (c != part.data[i])
            return false;
    }
    return true;
}

/* The first part at the start, the last one at the end, and between them each
 * as early as it can be: then the rest has the most room. */
static bool
wildcard_matches(const struct filter *f, struct slice tagv)
{
    struct slice first = f->parts[0], last = f->parts[f->parts_len - 1];
    size_t at = first.size, end;

    if (tagv.size < first.size + last.size || !part_is_at(f, first, tagv, 0))
        return false;
    end = tagv.size - last.size;
    if (!part_is_at(f, last, tagv, end))
        return false;
    tagv.size = end;
    for (size_t i = 1; i + 1 < f->parts_len; i++) {
        while (at <= end && !part_is_at(f, f->parts[i], tagv, at))
            at++;
        if (at > end)
            return false;
        at += f->parts[i].size;
    }
    return at <= end;
}

/* Some ten bytes can become 50 KB. */
static enum status
make_regexp(struct arena *a, struct filter *f, struct error *e)
{
    enum status st = regexp_new(f->text, &f->regexp, e);

    if (st != ST_OK || arena_charge(a, REGEXP_CHARGE * regexp_size(f->regexp)))
        return st;
    regexp_free(&f->regexp);
    return error_no_memory(e);
}

static enum status
make(struct arena *a, struct filter *f, struct error *e)
{
    enum status st;

    if (f->type == FILTER_NOT_KEY) {
        if (f->text.size > 0)
            return error_set(e, ST_INVALID,
                             "The filter must be empty for the %s filter",
                             names[f->type]);
        return ST_OK;
    }
    if (f->text.size == 0)
        return error_set(e, ST_INVALID, "Filter cannot be null or empty");
    switch (f->type) {
    case FILTER_WILDCARD:
    case FILTER_IWILDCARD:
        if (memchr(f->text.data, '*', f->text.size) == NULL)
            return error_set(e, ST_INVALID, "Filter must contain an asterisk");
        st = split(a, f, '*', e);
        if (st != ST_OK)
            return st;
        f->matches_all = true;
        for (size_t i = 0; i < f->parts_len; i++)
            f->matches_all &= f->parts[i].size == 0;
        return ST_OK;
    case FILTER_REGEXP:
        return make_regexp(a, f, e);
    case FILTER_LITERAL_OR:
    case FILTER_ILITERAL_OR:
    case FILTER_NOT_LITERAL_OR:
    case FILTER_NOT_ILITERAL_OR:
    case FILTER_NOT_KEY:
        break;
    }
    if (slice_eq_str(f->text, "|"))
        return error_set(e, ST_INVALID,
                         "Filter must contain more than just a pipe");
    st = split(a, f, '|', e);
    if (st != ST_OK)
        return st;
    /* As Java splits: empty texts at the end do not count. */
    while (f->parts_len > 0 && f->parts[f->parts_len - 1].size == 0)
        f->parts_len--;
    f->parts_len = slices_sort_unique(f->parts, f->parts_len);
    return ST_OK;
}

static bool
find_type(struct slice name, enum filter_type *out)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (slice_eq_str(name, names[i])) {
            *out = (enum filter_type)i;
            return true;
        }
    return false;
}

enum status
filter_make(const struct filter_texts *t, struct arena *a, struct filter *out,
            struct error *e)
{
    *out = (struct filter){ .tagk = t->tagk,
                            .text = t->text,
                            .group_by = t->group_by };
    if (t->type.size == 0)
        return error_set(e, ST_INVALID,
                         "The filter type cannot be null or empty");
    if (t->tagk.size == 0)
        return error_set(e, ST_INVALID, "The tagk cannot be null or empty");
    if (!find_type(t->type, &out->type))
        return error_set(e, ST_INVALID,
                         "Could not find a tag value filter of the type: %.*s",
                         SLICE_ARG(t->type));
    out->ignore_case = out->type == FILTER_ILITERAL_OR ||
                       out->type == FILTER_NOT_ILITERAL_OR ||
                       out->type == FILTER_IWILDCARD;
    return make(a, out, e);
}

/* Makes the filter of a text without a filter type: a wildcard if the text
 * contains a '*', else one value or several with '|' between them. */
static enum status
make_plain(struct arena *a, struct filter *out, struct error *e)
{
    bool star = memchr(out->text.data, '*', out->text.size) != NULL;

    out->type = star ? FILTER_WILDCARD : FILTER_LITERAL_OR;
    out->ignore_case = star;
    return make(a, out, e);
}

enum status
filter_from_tag(struct arena *a, struct slice tagk, struct slice value,
                unsigned flags, struct filter *out, struct error *e)
{
    bool group_by = (flags & FILTER_GROUPS) != 0;
    enum filter_type known;
    const uint8_t *paren;
    uint8_t *type;
    size_t size;

    *out = (struct filter){ .tagk = tagk, .text = value, .group_by = group_by };
    if (tagk.size == 0)
        return error_set(e, ST_INVALID, "Tagk cannot be null or empty");
    if (value.size == 0)
        return error_set(e, ST_INVALID, "Filter cannot be null or empty");
    paren = memchr(value.data, '(', value.size);
    /* A parenthesis at the start follows no filter type, so it is part of the
     * value. */
    if (paren == NULL || paren == value.data)
        return make_plain(a, out, e);
    size = (size_t)(paren - value.data);
    type = arena_alloc(a, size + 1);
    if (type == NULL)
        return error_no_memory(e);
    casefold_bytes(slice_of(value.data, size), type);
    if ((flags & FILTER_PARENS) && !find_type(slice_of(type, size), &known))
        return make_plain(a, out, e);
    if (value.data[value.size - 1] != ')')
        return error_set(e, ST_INVALID, "Filter must end with a ')': %.*s",
                         SLICE_ARG(value));
    return filter_make(
        &(struct filter_texts){ slice_of(type, size), tagk,
                                slice_of(paren + 1, value.size - size - 2),
                                group_by },
        a, out, e);
}

void
filter_fini(struct filter *f)
{
    regexp_free(&f->regexp);
}

void
filter_cache_key(const struct filter *f, struct buf *out)
{
    buf_put_u8(out, (uint8_t)f->type);
    buf_put_u8(out, f->ignore_case);
    buf_put_sized(out, f->tagk);
    if (f->type == FILTER_REGEXP)
        buf_put_sized(out, f->text);
    buf_put_u64(out, f->parts_len);
    for (size_t i = 0; i < f->parts_len; i++)
        buf_put_sized(out, f->parts[i]);
}

bool
filter_equal(const struct filter *a, const struct filter *b)
{
    if (a->type != b->type || a->ignore_case != b->ignore_case ||
        a->parts_len != b->parts_len || !slice_eq(a->tagk, b->tagk) ||
        (a->type == FILTER_REGEXP && !slice_eq(a->text, b->text)))
        return false;
    for (size_t i = 0; i < a->parts_len; i++)
        if (!slice_eq(a->parts[i], b->parts[i]))
            return false;
    return true;
}

uint64_t
filter_hash(const struct filter *f, uint64_t seed)
{
    uint64_t hash = hash_slice(f->tagk, seed + f->type);

    if (f->type == FILTER_REGEXP)
        return hash_slice(f->text, hash);
    for (size_t i = 0; i < f->parts_len; i++)
        hash = hash_slice(f->parts[i], hash);
    return hash;
}

bool
filter_matches(const struct filter *f, struct slice tagv, struct error *e)
{
    enum status st;

    switch (f->type) {
    case FILTER_LITERAL_OR:
    case FILTER_ILITERAL_OR:
        return has_literal(f, tagv);
    case FILTER_NOT_LITERAL_OR:
    case FILTER_NOT_ILITERAL_OR:
        return !has_literal(f, tagv);
    case FILTER_WILDCARD:
    case FILTER_IWILDCARD:
        return f->matches_all || wildcard_matches(f, tagv);
    case FILTER_REGEXP:
        st = regexp_find(f->regexp, tagv, e);
        if (st == ST_LIMIT && e != NULL)
            e->status = ST_INVALID; /* no other data would make it cheap */
        return st == ST_OK;
    case FILTER_NOT_KEY:
        break;
    }
    return false;
}

const char *
filter_type_name(enum filter_type type)
{
    return names[type];
}
