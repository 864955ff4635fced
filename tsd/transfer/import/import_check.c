#include "tsd/transfer/import/import_check.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/obj.h"
#include "base/table.h"
#include "base/utf8.h"
#include "tsd/put/put_tags.h"
#include "tsd/put/put_value.h"

#define CHECK_MAGIC FOURCC('I', 'M', 'C', 'K')

struct seen {
    size_t at, size; /* of its name in 'names' */
    int64_t last_ms;
};

struct import_check {
    uint32_t magic;
    bool any_order;
    struct seen *series;
    size_t len, cap;
    struct hash_table table;
    uint64_t seed;
    struct buf names; /* "metric key=value key=value", keys ascending */
    /* Of the line at hand. */
    struct buf text, name;
    uint64_t hash;
    uint32_t found; /* its series; TABLE_NONE: a new one */
    int64_t time, ms;
};

struct import_check *
import_check_new(bool any_order)
{
    struct import_check *c = mem_new(sizeof *c);

    c->magic = CHECK_MAGIC;
    c->any_order = any_order;
    c->seed = hash_random_seed();
    return c;
}

void
import_check_free(struct import_check **cp)
{
    struct import_check *c = OBJ_TAKE(cp, CHECK_MAGIC);

    if (c == NULL)
        return;
    table_fini(&c->table);
    free(c->series);
    buf_fini(&c->names);
    buf_fini(&c->text);
    buf_fini(&c->name);
    OBJ_FREE(c);
}

static int
compare_tags(const void *a, const void *b)
{
    return slice_cmp(((const struct tag *)a)->key,
                     ((const struct tag *)b)->key);
}

/* Has series i the name of the line at hand? */
static bool
has_name(const void *ctx, uint32_t i, const void *key)
{
    const struct import_check *c = ctx;
    const struct seen *s = &c->series[i];

    return slice_eq(slice_of(c->names.data + s->at, s->size),
                    buf_slice(&c->name));
}

static bool
import_fail(struct buf *why, const char *text)
{
    buf_put_str(why, text);
    return false;
}

static void
find_series(struct import_check *c, struct slice metric, struct put_tags *tags)
{
    qsort(tags->tags, tags->len, sizeof tags->tags[0], compare_tags);
    buf_clear(&c->name);
    buf_put_slice(&c->name, metric);
    for (size_t i = 0; i < tags->len; i++) {
        buf_put_u8(&c->name, ' ');
        buf_put_slice(&c->name, tags->tags[i].key);
        buf_put_u8(&c->name, '=');
        buf_put_slice(&c->name, tags->tags[i].value);
    }
    c->hash = hash_slice(buf_slice(&c->name), c->seed);
    c->found = table_find(&c->table, c->hash, has_name, c, c);
}

/* The next word, after one blank or, with 'skip', after any number of them. */
static struct slice
next_word(struct slice *left, bool skip)
{
    if (skip)
        *left = slice_skip(*left, ' ');
    return slice_cut(left, ' ');
}

/* The words of a line, each with what OpenTSDB says of it. */
static bool
check_words(struct import_check *c, struct slice line, struct slice *metric,
            struct slice *value, struct put_tags *tags, struct buf *why)
{
    struct slice left = utf8_or_latin1(line, &c->text), word;
    bool skip = put_may_skip_blanks(left, 2);
    size_t words = 1;
    int64_t time;

    for (size_t i = 0; i < left.size; i++)
        words += left.data[i] == ' ';
    *metric = next_word(&left, skip);
    if (metric->size == 0)
        return import_fail(why, "invalid metric: ");
    if (words < 2)
        return import_fail(why, "Index 1 out of bounds for length 1");
    if (!put_parse_time(next_word(&left, skip), &time, why))
        return false;
    if (time <= 0) {
        buf_printf(why, "invalid timestamp: %lld", (long long)time);
        return false;
    }
    if (words < 3)
        return import_fail(why, "Index 2 out of bounds for length 2");
    *value = next_word(&left, skip);
    if (value->size == 0)
        return import_fail(why, "invalid value: ");
    while (left.size > 0) {
        word = slice_cut(&left, ' ');
        if (word.size > 0 && !put_tags_parse(tags, word, why))
            return false;
    }
    c->time = time;
    /* The writer would take the line for a comment. */
    return line.data[0] != '#' ||
           import_fail(why, "a line cannot begin with a metric that begins "
                            "with #: 'halite import' accepts it after 'put '");
}

static bool
check_order(struct import_check *c, struct slice metric, struct slice value,
            const struct put_tags *tags, struct buf *why)
{
    const struct seen *s = &c->series[c->found];

    if (c->any_order)
        return true;
    if (c->ms > s->last_ms)
        return true;
    buf_printf(why,
               "New timestamp=%lld is less than or equal to previous=%lld when "
               "trying to add value=%.*s to metric=%.*s, tags=",
               (long long)c->time, (long long)s->last_ms, SLICE_ARG(value),
               SLICE_ARG(metric));
    put_tags_print(tags, why);
    return false;
}

bool
import_check_line(struct import_check *c, struct slice line, bool *is_new,
                  struct buf *why)
{
    struct put_tags tags = { .len = 0 };
    struct slice metric, value;
    struct point p;

    OBJ_CHECK(c, CHECK_MAGIC);
    if (!check_words(c, line, &metric, &value, &tags, why))
        return false;
    if (tags.len == 0) {
        buf_printf(why, "Need at least one tag (metric=%.*s, tags={})",
                   SLICE_ARG(metric));
        return false;
    }
    find_series(c, metric, &tags);
    *is_new = c->found == TABLE_NONE;
    if (!put_parse_value(value, &p, why))
        return false;
    if (!put_value_is_finite(&p)) {
        buf_printf(why,
                   "value is NaN or Infinite: %sInfinity for timestamp=%lld",
                   p.v.d < 0 ? "-" : "", (long long)c->time);
        return false;
    }
    if (!put_time_to_ms(c->time, &c->ms)) {
        buf_printf(why, "bad timestamp=%lld when trying to add value=%.*s",
                   (long long)c->time, SLICE_ARG(value));
        return false;
    }
    return *is_new || check_order(c, metric, value, &tags, why);
}

void
import_check_accept(struct import_check *c)
{
    OBJ_CHECK(c, CHECK_MAGIC);
    if (c->found == TABLE_NONE) {
        INSIST(c->len < TABLE_NONE);
        c->series = mem_grow(c->series, c->len, &c->cap, sizeof *c->series);
        c->series[c->len] =
            (struct seen){ .at = c->names.size, .size = c->name.size };
        buf_make_room(&c->names, c->name.size);
        buf_put_slice(&c->names, buf_slice(&c->name));
        table_add(&c->table, c->hash, (uint32_t)c->len);
        c->found = (uint32_t)c->len++;
    }
    c->series[c->found].last_ms = c->ms;
}
