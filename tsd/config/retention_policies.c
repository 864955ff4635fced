#include "tsd/config/retention_policies.h"

#include <stdlib.h>

#include "base/process/log.h"
#include "base/text/glob.h"
#include "base/mem.h"
#include "query/model/duration.h"

static bool
is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Cuts the next word off; empty at the end. */
static struct slice
next_word(struct slice *left)
{
    struct slice word = *left;
    size_t size = 0;

    while (word.size > 0 && is_blank(word.data[0]))
        word = slice_of(word.data + 1, word.size - 1);
    while (size < word.size && !is_blank(word.data[size]))
        size++;
    *left = slice_of(word.data + size, word.size - size);
    return slice_of(word.data, size);
}

static enum status
parse_keep(struct slice text, int64_t *out_ms, struct error *e)
{
    struct duration d;
    struct error why;
    enum status st;

    if (slice_eq_str(text, "forever")) {
        *out_ms = RETENTION_FOREVER;
        return ST_OK;
    }
    st = parse_duration(text, &d, &why);
    *out_ms = d.ms;
    return st == ST_OK ? ST_OK : error_set(e, st, "%s, or forever", why.text);
}

static enum status
add_policy(struct retention_policies *p, struct slice line, struct error *e)
{
    struct slice left = line;
    struct retention_policy *policy = &p->list[p->len++];
    enum status st;

    policy->pattern = next_word(&left);
    policy->raw = next_word(&left);
    policy->hourly = next_word(&left);
    if (policy->hourly.size == 0)
        policy->hourly = policy->raw;
    if (policy->raw.size == 0 || next_word(&left).size > 0)
        st = error_set(e, ST_INVALID,
                       "a policy is PATTERN RAW [HOURLY], as in "
                       "'sys.* 90d 2y'");
    else
        st = parse_keep(policy->raw, &policy->raw_ms, e);
    if (st == ST_OK)
        st = parse_keep(policy->hourly, &policy->hourly_ms, e);
    if (st == ST_OK && policy->raw_ms < RETENTION_RAW_MIN_MS)
        st = error_set(e, ST_INVALID, "raw points are kept for 1h at least");
    if (st == ST_OK && policy->hourly_ms < policy->raw_ms)
        st = error_set(e, ST_INVALID,
                       "hourly ones are kept at least as long as raw points");
    return st == ST_OK ? ST_OK
                       : error_wrap(e, st, "policy %zu, %s", p->len,
                                    log_quote(slice_trim(line)));
}

enum status
retention_policies_parse(struct slice text, struct retention_policies *out,
                         struct error *e)
{
    enum status st = ST_OK;
    struct slice left;

    *out = (struct retention_policies){ .len = 0 };
    if (text.size > RETENTION_TEXT_MAX)
        return error_set(e, ST_INVALID, "policies of more than %d bytes",
                         RETENTION_TEXT_MAX);
    out->text = mem_strndup(text.data, text.size);
    left = slice_of(out->text, text.size);
    out->list = mem_new_array(RETENTION_POLICIES_MAX, sizeof *out->list);
    while (left.size > 0 && st == ST_OK) {
        size_t size = 0;
        struct slice line;

        while (size < left.size && left.data[size] != ';' &&
               left.data[size] != '\n')
            size++;
        line = slice_of(left.data, size);
        size += size < left.size;
        left = slice_of(left.data + size, left.size - size);
        if (slice_trim(line).size == 0)
            continue;
        if (out->len == RETENTION_POLICIES_MAX)
            st = error_set(e, ST_INVALID, "more than %d policies",
                           RETENTION_POLICIES_MAX);
        else
            st = add_policy(out, line, e);
    }
    if (st != ST_OK)
        retention_policies_fini(out);
    return st;
}

void
retention_policies_fini(struct retention_policies *p)
{
    free(p->text);
    free(p->list);
    *p = (struct retention_policies){ .len = 0 };
}

size_t
retention_policies_find(const struct retention_policies *p, struct slice metric)
{
    size_t i = 0;

    while (i < p->len && !glob_fits(p->list[i].pattern, metric, false))
        i++;
    return i;
}

int64_t
retention_expired_ms(int64_t keep_ms, int64_t now_ms)
{
    return keep_ms >= now_ms ? 0 : now_ms - keep_ms;
}
