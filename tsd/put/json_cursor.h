/* A cursor over JSON text: takes one token after the other, and nothing is
 * copied: what it lends are slices of the text, strings between their quotes
 * with their escapes unresolved.
 *
 * NaN, Infinity and INF are numbers.  Bytes that are no UTF-8, lone surrogates
 * and numbers out of range are no faults.
 *
 * Owns:    nothing; it borrows the text.
 * Threads: owner.
 * Fails:   a function that returns false has set 'fault', where it does not say
 *          otherwise; the first fault sticks. */
#pragma once

#include <string.h>

#include "base/slice.h"

struct json_cursor {
    const uint8_t *begin, *at, *end;
    const char *fault; /* NULL: none */
};

enum json_token {
    JSON_TOKEN_NULL,
    JSON_TOKEN_STRING,
    JSON_TOKEN_NUMBER,
    JSON_TOKEN_BOOL,
};

static inline struct json_cursor
json_cursor_of(struct slice text)
{
    return (struct json_cursor){ .begin = text.data,
                                 .at = text.data,
                                 .end = text.data + text.size };
}

/* Keeps the first fault; false. */
bool json_fail(struct json_cursor *c, const char *fault);

/* The next byte that is no blank, not taken; 0 at the end. */
static inline uint8_t
json_peek(struct json_cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' ||
                              *c->at == '\r' || *c->at == '\t'))
        c->at++;
    return c->at < c->end ? *c->at : 0;
}

/* The byte, behind blanks. */
static inline bool
json_take(struct json_cursor *c, uint8_t byte, const char *fault)
{
    if (json_peek(c) != byte)
        return json_fail(c, fault);
    c->at++;
    return true;
}

/* These bytes, at once.  False is no fault. */
static inline bool
json_take_word(struct json_cursor *c, const char *word)
{
    size_t size = strlen(word);

    if ((size_t)(c->end - c->at) < size || memcmp(c->at, word, size) != 0)
        return false;
    c->at += size;
    return true;
}

/* Behind blanks; '*out' has no data then.  False is no fault. */
bool json_take_null(struct json_cursor *c, struct slice *out);

/* The first byte of a string's inside that needs a thought: a quote, backslash
 * or control character; or 'end'. */
const uint8_t *json_skip_plain(const uint8_t *p, const uint8_t *end);

/* A number, at its first byte, which there is. */
bool json_take_number(struct json_cursor *c);

/* A value that is neither object nor array; 'raw' is its text, that of null has
 * no data. */
bool json_take_scalar(struct json_cursor *c, enum json_token *token,
                      struct slice *raw);

/* Any value; of brackets in each other 64 at the most. */
bool json_skip_value(struct json_cursor *c);

/* Objects: open, then as long as there is more: name, a value, next. */
bool json_open_object(struct json_cursor *c, bool *more);
bool json_take_name(struct json_cursor *c, struct slice *name);
bool json_next_member(struct json_cursor *c, bool *more);
