/* Lines: "metric time value tagk=tagv ...".
 *
 * The fast way finds the four parts, reads the two numbers in their usual form,
 * and leaves the names unread: the text cache knows them.  Anything unusual, a
 * name that the cache does not know or a number that looks odd, goes the slow
 * way, which follows OpenTSDB word by word, mistakes included. */
#include "tsd/put/put_priv.h"

#include "base/utf8.h"
#include "tsd/put/put_value.h"

struct text {
    const uint8_t *at, *end;
};

static inline bool
at_digit(const struct text *t)
{
    return t->at < t->end && (unsigned)(*t->at - '0') <= 9;
}

/* Digits, at most 18, at least one. */
static inline bool
take_digits(struct text *t, int64_t *out)
{
    const uint8_t *from = t->at;
    int64_t v = 0;

    for (; at_digit(t); t->at++) {
        if (t->at - from == 18)
            return false;
        v = v * 10 + (*t->at - '0');
    }
    *out = v;
    return t->at > from;
}

/* Steps over one blank. Returns false if there is none. */
static inline bool
take_blank(struct text *t)
{
    if (t->at == t->end || *t->at != ' ')
        return false;
    t->at++;
    return true;
}

/* The word at the text's place. */
static struct slice
take_word(struct text *t)
{
    const uint8_t *from = t->at;
    const uint8_t *blank = memchr(from, ' ', (size_t)(t->end - from));

    t->at = blank == NULL ? t->end : blank;
    return slice_of(from, (size_t)(t->at - from));
}

static inline bool
take_time(struct text *t, int64_t *ms)
{
    const uint8_t *from = t->at;
    int64_t time;

    if (!take_digits(t, &time) || (t->at < t->end && *t->at != ' ')) {
        t->at = from;
        if (!put_parse_time(take_word(t), &time, NULL))
            return false;
    }
    return time > 0 && put_time_to_ms(time, ms);
}

static inline bool
take_value(struct text *t, struct point *p)
{
    const uint8_t *from = t->at;

    if (put_take_plain_value(&t->at, t->end, p) && t->at < t->end &&
        *t->at == ' ')
        return true;
    t->at = from;
    return put_parse_value(take_word(t), p, NULL) && put_value_is_finite(p);
}

/* Reads a line as nearly all clients write it, with one blank between words.
 * Lines with more blanks fail here: put_line_parse() reads them. */
static inline bool
scan(struct slice line, struct put_key *key, struct point *p)
{
    const uint8_t *blank = memchr(line.data, ' ', line.size);
    struct text t = { blank, line.data + line.size };

    if (blank == NULL || blank == line.data || !take_blank(&t) ||
        !take_time(&t, &p->ts_ms) || !take_blank(&t) || !take_value(&t, p) ||
        !take_blank(&t) || t.at == t.end)
        return false;
    key->metric = line.data;
    key->metric_size = (uint32_t)(blank - line.data);
    key->tags = t.at;
    key->tags_size = (uint32_t)(t.end - t.at);
    key->kind = PUT_TELNET;
    return true;
}

void
put_batch_line(struct put_batch *b, struct slice line, size_t id, bool rollup)
{
    size_t row = put_add_row(b, id, NULL, rollup);
    struct put_key *key = &b->keys[row];

    b->ready[row] = !rollup && line.size > 0 && line.size <= UINT32_MAX &&
                    scan(line, key, &b->points[row]);
    if (!b->ready[row])
        *key = (struct put_key){ .metric = line.data,
                                 .metric_size = (uint32_t)line.size };
}

/* The next word, after one blank or, with 'skip', after any number of them. */
static struct slice
next_word(struct slice *left, bool skip)
{
    if (skip)
        *left = slice_skip(*left, ' ');
    return slice_cut(left, ' ');
}

bool
put_line_parse(struct put_batch *b, size_t row, struct put_parsed *x)
{
    const struct put_key *key = &b->keys[row];
    bool rollup = b->rollup[row], skip;
    size_t words = key->metric == NULL ? 0 : 1;
    struct slice left = { key->metric, key->metric_size }, value;

    /* Telnet's bytes are UTF-8 where the point's text is valid UTF-8, and
     * ISO-8859-1 otherwise. */
    if (b->ready[row])
        left.size = (size_t)(key->tags + key->tags_size - key->metric);
    left = utf8_or_latin1(left, &b->text);
    skip = put_may_skip_blanks(left, rollup ? 3 : 2);
    for (size_t i = 0; i < left.size; i++)
        words += left.data[i] == ' ';
    if (words < (rollup ? 5 : 4))
        return PUT_REJECT(b, row, PUT_BAD_ARGUMENT,
                          "not enough arguments (need least %d, got %zu)",
                          rollup ? 7 : 4, words);
    if (rollup && !put_rollup_split(next_word(&left, skip), x))
        return PUT_REJECT(b, row, PUT_BAD_ARGUMENT,
                          "Missing interval or aggregator");
    x->metric = next_word(&left, skip);
    if (x->metric.size == 0)
        return PUT_REJECT(b, row, PUT_BAD_ARGUMENT, "empty metric name");
    if (!put_parse_time(next_word(&left, skip), &x->time, &b->why))
        return put_reject(b, row, PUT_BAD_VALUE);
    if (x->time <= 0)
        return PUT_REJECT(b, row, PUT_BAD_ARGUMENT, "invalid timestamp: %lld",
                          (long long)x->time);
    value = next_word(&left, skip);
    if (value.size == 0)
        return PUT_REJECT(b, row, PUT_BAD_ARGUMENT, "empty value");
    while (left.size > 0) {
        struct slice word = slice_cut(&left, ' ');

        if (word.size > 0 && !put_tags_parse(&x->tags, word, &b->why))
            return put_reject(b, row, PUT_BAD_ARGUMENT);
    }
    return put_parse_value(value, &b->points[row], &b->why) ||
           put_reject(b, row, PUT_BAD_VALUE);
}
