#include "tsd/tool/points/query_words.h"

#include <stdio.h>

#include "tsd/put/put_tags.h"
#include "tsd/put/put_value.h"

struct words {
    const char *const *at;
    size_t len, i;
    struct arena *a;
    struct error *e;
};

static enum status
next_word(struct words *w, const char *what, struct slice *out)
{
    if (w->i == w->len)
        return error_set(w->e, ST_INVALID, "A query ends before its %s", what);
    *out = slice_str(w->at[w->i++]);
    return ST_OK;
}

/* Takes the next word if it is this one. */
static bool
take_word(struct words *w, const char *text)
{
    if (w->i == w->len || strcmp(w->at[w->i], text) != 0)
        return false;
    w->i++;
    return true;
}

static enum status
parse_number(struct words *w, struct slice text, int64_t *out)
{
    return put_parse_long(text, out, NULL)
               ? ST_OK
               : error_set(w->e, ST_INVALID, "For input string: \"%.*s\"",
                           SLICE_ARG(text));
}

static enum status
find_function(struct words *w, const struct aggregator **out,
              struct slice *name)
{
    enum status st = next_word(w, "function", name);

    if (st != ST_OK)
        return st;
    *out = aggregator_find(*name);
    return *out != NULL
               ? ST_OK
               : error_set(w->e, ST_INVALID, "No such aggregator: %.*s",
                           SLICE_ARG(*name));
}

/* "rate", and perhaps "counter,100,5" behind it. */
static enum status
parse_rate(struct words *w, struct sub_query *sub)
{
    struct slice word, max, reset;
    enum status st = ST_OK;

    sub->rate_options.counter_max = INT64_MAX;
    if (!take_word(w, "rate"))
        return ST_OK;
    sub->rate = true;
    if (w->i == w->len ||
        !slice_starts(slice_str(w->at[w->i]), slice_str("counter")))
        return ST_OK;
    word = slice_str(w->at[w->i++]);
    (void)slice_cut(&word, ',');
    max = slice_cut(&word, ',');
    reset = slice_cut(&word, ',');
    sub->rate_options_given = sub->rate_options.counter = true;
    if (max.size > 0)
        st = parse_number(w, max, &sub->rate_options.counter_max);
    if (st == ST_OK && reset.size > 0)
        st = parse_number(w, reset, &sub->rate_options.reset_value);
    return st;
}

static enum status
parse_downsampling(struct words *w, struct sub_query *sub)
{
    const struct aggregator *function;
    struct slice word, name;
    char text[128];
    int64_t ms;
    enum status st;

    if (!take_word(w, "downsample"))
        return ST_OK;
    st = next_word(w, "interval", &word);
    if (st == ST_OK)
        st = parse_number(w, word, &ms);
    if (st == ST_OK)
        st = find_function(w, &function, &name);
    if (st == ST_OK && ms <= 0)
        st = error_set(w->e, ST_INVALID, "interval not > 0: %lld",
                       (long long)ms);
    if (st != ST_OK)
        return st;
    (void)snprintf(text, sizeof text, "%lldms-%s", (long long)ms,
                   function->name);
    word = slice_str(text);
    return arena_keep(w->a, &word)
               ? parse_downsample(word, w->a, &sub->downsample, w->e)
               : error_no_memory(w->e);
}

/* Is there a character from the second on? */
static bool
has_inside(const char *word, char c)
{
    return word[0] != '\0' && strchr(word + 1, c) != NULL;
}

static enum status
parse_filters(struct words *w, struct sub_query *sub)
{
    struct put_tags tags = { .len = 0 };
    struct buf why = BUF_INIT;
    enum status st = ST_OK;

    for (; w->i < w->len && !has_inside(w->at[w->i], ' ') &&
           has_inside(w->at[w->i], '=');
         w->i++)
        if (!put_tags_parse(&tags, slice_str(w->at[w->i]), &why)) {
            st = error_set(w->e, ST_INVALID, "%s", buf_cstr(&why));
            buf_fini(&why);
            return st;
        }
    if (tags.len >= PUT_TAGS_MAX)
        return error_set(w->e, ST_LIMIT, "more than %d tags", PUT_TAGS_MAX - 1);
    sub->filters = arena_alloc(w->a, (tags.len + 1) * sizeof *sub->filters);
    if (sub->filters == NULL)
        return error_no_memory(w->e);
    for (size_t i = 0; i < tags.len && st == ST_OK; i++) {
        struct filter *f = &sub->filters[sub->filters_len];

        st = filter_from_tag(w->a, tags.tags[i].key, tags.tags[i].value, true,
                             f, w->e);
        if (st == ST_OK)
            sub->filters_len++;
        else
            filter_fini(f);
    }
    return st;
}

static enum status
parse_sub(struct words *w, struct sub_query *sub, const char **line)
{
    enum status st = find_function(w, &sub->aggregator, &sub->aggregator_name);

    if (st == ST_OK && w->i == w->len)
        return next_word(w, "metric", &sub->metric);
    if (st == ST_OK)
        st = parse_rate(w, sub);
    if (st == ST_OK)
        st = parse_downsampling(w, sub);
    if (st == ST_OK)
        st = next_word(w, "metric", &sub->metric);
    if (st == ST_OK)
        st = parse_filters(w, sub);
    if (st == ST_OK && w->i < w->len && has_inside(w->at[w->i], ' '))
        *line = w->at[w->i++];
    return st;
}

static bool
is_end(const char *word)
{
    int64_t n;

    return word[0] != '+' &&
           (strpbrk(word, ":/-") != NULL ||
            (put_parse_long(slice_str(word), &n, NULL) && n > 0));
}

static enum status
parse_timestamp(struct words *w, int64_t now_ms, const struct timezone *zone,
                int64_t *ms)
{
    struct slice word;
    enum status st = next_word(w, "START", &word);

    return st == ST_OK ? parse_time(word, now_ms, zone, ms, w->e) : st;
}

enum status
query_words_parse(const char *const *words, size_t len, int64_t now_ms,
                  const struct timezone *zone, struct arena *a,
                  struct query_words *out, struct error *e)
{
    struct words w = { .at = words, .len = len, .a = a, .e = e };
    struct query *q = &out->query;
    enum status st;

    *out = (struct query_words){ .has_end = false };
    st = parse_timestamp(&w, now_ms, zone, &q->start_ms);
    q->now_ms = q->end_ms = now_ms;
    q->zone = zone;
    out->has_end = st == ST_OK && w.len > 3 && is_end(w.at[1]);
    if (out->has_end)
        st = parse_timestamp(&w, now_ms, zone, &q->end_ms);
    if (q->end_ms > POINT_MAX_TS_MS && q->start_ms < POINT_MAX_TS_MS)
        q->end_ms = POINT_MAX_TS_MS;
    if (st == ST_OK && out->has_end && q->end_ms <= q->start_ms)
        st = error_set(w.e, ST_INVALID,
                       "new end time (%lld) is less than or equal to start "
                       "time: %lld",
                       (long long)q->end_ms / 1000,
                       (long long)q->start_ms / 1000);
    if (q->end_ms <= q->start_ms)
        q->end_ms = q->start_ms + 1; /* "now": there are no points yet */
    /* No more than there are words. */
    q->subs = arena_alloc(a, (len + 1) * sizeof *q->subs);
    out->lines = arena_array(a, len + 1, sizeof *out->lines);
    if (st == ST_OK && (q->subs == NULL || out->lines == NULL))
        st = error_no_memory(e);
    out->options = words + w.i;
    for (; st == ST_OK && w.i < len && words[w.i][0] == '+'; w.i++)
        out->options_len++;
    while (st == ST_OK && w.i < len) {
        struct sub_query *sub = &q->subs[q->subs_len];

        *sub = (struct sub_query){ .index = q->subs_len };
        out->lines[q->subs_len] = NULL;
        st = parse_sub(&w, sub, &out->lines[q->subs_len++]);
    }
    return st;
}
