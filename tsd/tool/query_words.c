#include "tsd/tool/query_words.h"

#include "base/text/number.h"

/* The words that are left to read. */
struct words {
    const char *const *at;
    size_t left;
    struct arena *arena;
};

/* NULL with an error when there is none. */
static const char *
take_word(struct words *w, const char *what, struct error *e)
{
    if (w->left == 0) {
        (void)error_set(e, ST_INVALID, "A query ends before its %s", what);
        return NULL;
    }
    w->left--;
    return *w->at++;
}

static bool
next_is(const struct words *w, const char *word)
{
    return w->left > 0 && strcmp(*w->at, word) == 0;
}

/* Has it that character behind its first one? */
static bool
has_behind(const char *word, char c)
{
    return *word != '\0' && strchr(word + 1, c) != NULL;
}

static enum status
take_number(struct slice text, int64_t *out, struct error *e)
{
    if (!number_parse_i64(text, out))
        return error_set(e, ST_INVALID, "For input string: \"%.*s\"",
                         SLICE_ARG(text));
    return ST_OK;
}

static enum status
take_aggregator(struct words *w, struct slice *out, struct error *e)
{
    const char *name = take_word(w, "function", e);

    if (name == NULL)
        return ST_INVALID;
    *out = slice_str(name);
    if (aggregator_find(*out) == NULL)
        return error_set(e, ST_INVALID, "No such aggregator: %s", name);
    return ST_OK;
}

/* "counter", "counter,MAX", "counter,,RESET" ... */
static enum status
take_counter(struct words *w, struct rate_options *r, struct error *e)
{
    struct slice text = slice_str(*w->at), max, reset;
    enum status st = ST_OK;

    w->at++;
    w->left--;
    (void)slice_cut(&text, ',');
    max = slice_cut(&text, ',');
    reset = slice_cut(&text, ',');
    r->counter = true;
    if (max.size > 0)
        st = take_number(max, &r->counter_max, e);
    if (st == ST_OK && reset.size > 0)
        st = take_number(reset, &r->reset_value, e);
    return st;
}

static enum status
take_rate(struct words *w, struct sub_query *sq, struct error *e)
{
    sq->rate_options = (struct rate_options){ .counter_max = INT64_MAX };
    if (!next_is(w, "rate"))
        return ST_OK;
    w->at++;
    w->left--;
    sq->rate = true;
    if (w->left == 0 || strncmp(*w->at, "counter", 7) != 0)
        return ST_OK;
    sq->rate_options_given = true;
    return take_counter(w, &sq->rate_options, e);
}

/* As a specifier of the query language, whose unit is named. */
static enum status
take_downsample(struct words *w, struct sub_query *sq, struct error *e)
{
    struct buf text = BUF_INIT;
    struct slice name;
    const char *word;
    int64_t ms;
    enum status st;

    if (!next_is(w, "downsample"))
        return ST_OK;
    w->at++;
    w->left--;
    word = take_word(w, "interval", e);
    if (word == NULL)
        return ST_INVALID;
    st = take_number(slice_str(word), &ms, e);
    if (st == ST_OK)
        st = take_aggregator(w, &name, e);
    if (st == ST_OK && ms <= 0)
        st = error_set(e, ST_INVALID, "interval not > 0: %lld", (long long)ms);
    if (st != ST_OK)
        return st;
    buf_printf(&text, "%lldms-%.*s", (long long)ms, SLICE_ARG(name));
    sq->downsample.text =
        slice_of(arena_strdup(w->arena, buf_slice(&text)), text.size);
    buf_fini(&text);
    return sq->downsample.text.data == NULL ? error_no_memory(e) : ST_OK;
}

static enum status
split_filter(struct slice word, struct slice *key, struct slice *value,
             struct error *e)
{
    *value = word;
    *key = slice_cut(value, '=');
    if (key->size == 0 || value->size == 0 ||
        memchr(value->data, '=', value->size) != NULL)
        return error_set(e, ST_INVALID, "invalid tag: %.*s", SLICE_ARG(word));
    return ST_OK;
}

static enum status
reject_second(const char *word, const char *const *words, size_t len,
              struct error *e)
{
    struct buf others = BUF_INIT;

    for (size_t i = 0; i < len; i++)
        buf_printf(&others, "%s%s", i == 0 ? "" : ", ", words[i]);
    (void)error_set(e, ST_INVALID, "duplicate tag: %s, tags={%s}", word,
                    buf_cstr(&others));
    buf_fini(&others);
    return ST_INVALID;
}

/* One word of several; a key twice is an error, a whole word twice is not. */
static enum status
add_filter(struct words *w, size_t at, struct sub_query *sq, struct error *e)
{
    struct slice key, value;
    enum status st = split_filter(slice_str(w->at[at]), &key, &value, e);

    for (size_t i = 0; i < at && st == ST_OK; i++) {
        if (strcmp(w->at[i], w->at[at]) == 0)
            return ST_OK;
        if (strncmp(w->at[i], (const char *)key.data, key.size + 1) == 0)
            return reject_second(w->at[at], w->at, at, e);
    }
    if (st == ST_OK && sq->filters_len == QUERY_FILTERS_MAX)
        st = error_set(e, ST_LIMIT, "more than %d filters", QUERY_FILTERS_MAX);
    if (st != ST_OK)
        return st;
    return filter_from_tag(w->arena, key, value, true,
                           &sq->filters[sq->filters_len++], e);
}

static enum status
take_filters(struct words *w, struct sub_query *sq, struct error *e)
{
    size_t len = 0;
    enum status st = ST_OK;

    while (len < w->left && !has_behind(w->at[len], ' ') &&
           has_behind(w->at[len], '='))
        len++;
    sq->filters = arena_array(w->arena, len + 1, sizeof *sq->filters);
    if (sq->filters == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < len && st == ST_OK; i++)
        st = add_filter(w, i, sq, e);
    w->at += len;
    w->left -= len;
    return st;
}

static enum status
take_query(struct words *w, struct query *q, struct error *e)
{
    struct sub_query *sq = arena_array(w->arena, 1, sizeof *sq);
    const char *metric;
    enum status st;

    if (sq == NULL)
        return error_no_memory(e);
    *sq = (struct sub_query){ 0 };
    q->subs = sq;
    q->subs_len = 1;
    st = take_aggregator(w, &sq->aggregator_name, e);
    if (st == ST_OK)
        st = take_rate(w, sq, e);
    if (st == ST_OK)
        st = take_downsample(w, sq, e);
    if (st != ST_OK)
        return st;
    metric = take_word(w, "metric", e);
    if (metric == NULL)
        return ST_INVALID;
    sq->metric = slice_str(metric);
    st = take_filters(w, sq, e);
    if (st == ST_OK && w->left > 0 && has_behind(*w->at, ' ')) {
        w->at++; /* how a graph draws it */
        w->left--;
    }
    return st;
}

static bool
is_end(const char *word)
{
    int64_t number;

    return word[0] != '+' &&
           (strpbrk(word, ":/-") != NULL ||
            (number_parse_i64(slice_str(word), &number) && number > 0));
}

/* The times of all queries, in OpenTSDB's words. */
static enum status
take_times(struct words *w, const struct parse_options *o, struct query *q,
           struct error *e)
{
    bool ends = w->left > 3 && is_end(w->at[1]);
    enum status st;

    q->start_text = slice_str(*w->at++);
    w->left--;
    st = parse_time(q->start_text, o->now_ms, o->default_zone, &q->start_ms, e);
    if (st != ST_OK || !ends)
        return st;
    q->end_text = slice_str(*w->at++);
    w->left--;
    st = parse_time(q->end_text, o->now_ms, o->default_zone, &q->end_ms, e);
    if (st == ST_OK && q->end_ms <= q->start_ms)
        return error_set(e, ST_INVALID,
                         "new end time (%lld) is less than or equal to start "
                         "time: %lld",
                         (long long)(q->end_ms / 1000),
                         (long long)(q->start_ms / 1000));
    return st;
}

static enum status
take_queries(struct words *w, const struct query *like,
             const struct parse_options *o, struct query_words *out,
             struct error *e)
{
    enum status st = ST_OK;
    size_t cap = 0;

    while (w->left > 0 && st == ST_OK) {
        struct query *q =
            arena_grow(w->arena, out->queries, out->len, &cap, sizeof *q);
        struct parse_error why = { 0 };

        if (q == NULL)
            return error_no_memory(e);
        out->queries = q;
        q += out->len++;
        *q = *like;
        st = take_query(w, q, e);
        if (st != ST_OK)
            return st;
        st = query_check(q, o, w->arena, &why);
        if (st != ST_OK)
            (void)error_set(e, st, "%s", why.message.text);
    }
    return st;
}

enum status
query_words_parse(const char *const *words, size_t len,
                  const struct parse_options *o, struct arena *a,
                  struct query_words *out, struct error *e)
{
    struct words w = { words, len, a };
    struct query like = { .ms_resolution = true, .no_annotations = true };
    struct parse_options later = *o;
    char number[NUMBER_TEXT_MAX];
    enum status st;

    *out = (struct query_words){ 0 };
    if (len == 0)
        return error_set(e, ST_INVALID, "Not enough arguments.");
    st = take_times(&w, o, &like, e);
    if (st != ST_OK)
        return st;
    if (like.end_text.size == 0 && like.start_ms >= o->now_ms) {
        /* "now" is no error; it just has no points yet. */
        size_t size = number_format_i64(like.start_ms, number);

        like.start_text = slice_of(number, size);
        later.now_ms = like.start_ms + 1;
    }
    while (w.left > 0 && **w.at == '+') { /* what a graph is to be like */
        w.at++;
        w.left--;
    }
    return take_queries(&w, &like, &later, out, e);
}

void
query_words_fini(struct query_words *q)
{
    for (size_t i = 0; i < q->len; i++)
        query_fini(&q->queries[i]);
    *q = (struct query_words){ 0 };
}
