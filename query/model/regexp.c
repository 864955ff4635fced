/* Java's syntax, in PCRE2's (query/model/regexp_java.c).  Its just-in-time
 * compiler stays off: it needs memory that is both written and executed, and
 * counts its limits in another way. */
#include "query/model/regexp.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/obj.h"
#include "query/model/regexp_priv.h"

#define REGEXP_MAGIC       FOURCC('R', 'E', 'G', 'X')
#define PATTERN_MAX        10000
#define MATCH_STEPS_MAX    100000
#define MATCH_DEPTH_MAX    10000
#define MATCH_HEAP_MAX_KIB 1024

/* Room for a match that no thread uses now. */
struct spare {
    _Atomic(pcre2_match_data *) match;
};

struct regexp {
    uint32_t magic;
    pcre2_code *code;
    pcre2_match_context *limits;
    struct spare *spare;
    struct buf literal; /* what a text must hold, or empty */
};

static enum status
no_memory(struct error *e)
{
    return error_set(e, ST_BUSY, "no memory for a regular expression");
}

/* The longest text that is in whatever matches: it stands in the pattern where
 * there are no alternatives, groups, flags and escapes, before any class or
 * counted repeat.  Nearly all of many names fail by it, for a fraction of what
 * an attempt to match costs. */
static struct slice
literal_of(struct slice pattern)
{
    struct slice longest = { NULL, 0 };
    size_t from = 0, end = pattern.size;

    for (size_t i = 0; i < pattern.size; i++) {
        if (pattern.data[i] == '|' || pattern.data[i] == '(' ||
            pattern.data[i] == '\\')
            return longest;
        if ((pattern.data[i] == '[' || pattern.data[i] == '{') && i < end)
            end = i + 1;
    }
    for (size_t i = 0; i <= end; i++) {
        uint8_t c = i < end ? pattern.data[i] : '$';
        /* The character before a repeat may be absent. */
        bool repeats = c == '*' || c == '?' || c == '+' || c == '{';

        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
            (c >= '0' && c <= '9') || c == '_' || c == '-')
            continue;
        if (i > from + repeats + longest.size)
            longest = slice_of(pattern.data + from, i - from - repeats);
        from = i + 1;
    }
    return longest;
}

enum status
regexp_new(struct slice pattern, struct regexp **out, struct error *e)
{
    uint32_t options =
        PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C;
    struct buf translated = BUF_INIT;
    struct regexp *r;
    pcre2_code *code;
    PCRE2_SIZE at = 0;
    int err = 0;

    *out = NULL;
    if (pattern.size > PATTERN_MAX)
        return error_set(e, ST_LIMIT, "regular expression of %zu bytes",
                         pattern.size);
    if (regexp_translate(pattern, &translated, e) != ST_OK) {
        buf_fini(&translated);
        return ST_INVALID;
    }
    code = pcre2_compile((PCRE2_SPTR)buf_cstr(&translated), translated.size,
                         options, &err, &at, NULL);
    buf_fini(&translated);
    if (code == NULL) {
        PCRE2_UCHAR text[160];

        if (err == PCRE2_ERROR_HEAP_FAILED)
            return no_memory(e);
        (void)pcre2_get_error_message(err, text, sizeof text);
        return error_set(e, ST_INVALID, "%s near index %zu\n%.*s", text,
                         (size_t)at, SLICE_ARG(pattern));
    }
    r = mem_new(sizeof *r);
    r->magic = REGEXP_MAGIC;
    r->code = code;
    r->spare = mem_new(sizeof *r->spare);
    r->limits = pcre2_match_context_create(NULL);
    if (r->limits == NULL) {
        regexp_free(&r);
        return no_memory(e);
    }
    buf_put_slice(&r->literal, literal_of(pattern));
    (void)pcre2_set_match_limit(r->limits, MATCH_STEPS_MAX);
    (void)pcre2_set_depth_limit(r->limits, MATCH_DEPTH_MAX);
    (void)pcre2_set_heap_limit(r->limits, MATCH_HEAP_MAX_KIB);
    *out = r;
    return ST_OK;
}

void
regexp_free(struct regexp **ref)
{
    struct regexp *r = OBJ_TAKE(ref, REGEXP_MAGIC);

    if (r == NULL)
        return;
    buf_fini(&r->literal);
    pcre2_match_data_free(atomic_load(&r->spare->match));
    free(r->spare);
    pcre2_match_context_free(r->limits);
    pcre2_code_free(r->code);
    OBJ_FREE(r);
}

size_t
regexp_size(const struct regexp *r)
{
    size_t size = 0;

    OBJ_CHECK(r, REGEXP_MAGIC);
    (void)pcre2_pattern_info(r->code, PCRE2_INFO_SIZE, &size);
    return sizeof *r + sizeof *r->spare + r->literal.size + size;
}

static enum status
status_of(int n, struct error *e)
{
    switch (n) {
    case PCRE2_ERROR_NOMEMORY:
        return no_memory(e);
    case PCRE2_ERROR_MATCHLIMIT:
    case PCRE2_ERROR_DEPTHLIMIT:
    case PCRE2_ERROR_HEAPLIMIT:
        return error_set(e, ST_LIMIT,
                         "the regular expression takes too many steps");
    default:
        return n >= 0 ? ST_OK : ST_NOT_FOUND;
    }
}

/* PCRE2_ERROR_NOMEMORY if there is no 'match'. */
static int
match_at(const struct regexp *r, struct slice text, size_t from,
         pcre2_match_data *match)
{
    static const uint8_t nothing[1] = { 0 };

    if (match == NULL)
        return PCRE2_ERROR_NOMEMORY;
    return pcre2_match(r->code, text.data == NULL ? nothing : text.data,
                       text.size, from, 0, match, r->limits);
}

/* Names are short: by a literal's last byte, which differs where hosts are
 * numbered, without the table that memmem() makes first. */
static bool
holds_literal(struct slice text, struct slice literal)
{
    const uint8_t *at = text.data + literal.size - 1;
    const uint8_t *end = text.data + text.size;
    uint8_t last = literal.data[literal.size - 1];

    while (at < end && (at = memchr(at, last, (size_t)(end - at))) != NULL) {
        if (memcmp(at - (literal.size - 1), literal.data, literal.size) == 0)
            return true;
        at++;
    }
    return false;
}

enum status
regexp_find(const struct regexp *r, struct slice text, struct error *e)
{
    pcre2_match_data *match;
    int n;

    OBJ_CHECK(r, REGEXP_MAGIC);
    if (text.size < r->literal.size)
        return ST_NOT_FOUND;
    if (r->literal.size > 0 && !holds_literal(text, buf_slice(&r->literal)))
        return ST_NOT_FOUND;
    match = atomic_exchange(&r->spare->match, NULL);
    if (match == NULL)
        match = pcre2_match_data_create(1, NULL);
    n = match_at(r, text, 0, match);
    /* Of two threads' the one that comes last stays. */
    pcre2_match_data_free(atomic_exchange(&r->spare->match, match));
    return status_of(n, e);
}

enum status
regexp_match(const struct regexp *r, struct slice text, size_t from,
             struct slice *groups, size_t max, size_t *len, struct error *e)
{
    pcre2_match_data *match;
    uint32_t captures = 0;
    int n;

    OBJ_CHECK(r, REGEXP_MAGIC);
    match = pcre2_match_data_create_from_pattern(r->code, NULL);
    n = match_at(r, text, from, match);
    (void)pcre2_pattern_info(r->code, PCRE2_INFO_CAPTURECOUNT, &captures);
    *len = (size_t)captures + 1;
    for (size_t i = 0; n > 0 && i < *len && i < max; i++) {
        const PCRE2_SIZE *at = pcre2_get_ovector_pointer(match) + 2 * i;
        bool took_part = i < (size_t)n && at[0] != PCRE2_UNSET;

        groups[i] = took_part && at[1] >= at[0]
                        ? slice_of(text.data + at[0], at[1] - at[0])
                        : slice_of(NULL, 0);
    }
    pcre2_match_data_free(match);
    return status_of(n, e);
}
