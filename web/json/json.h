/*
 * JSON text: a writer of our own, and helpers over Jansson for small bodies.
 *
 * Threads: any; these are functions of their arguments.
 */
#ifndef WEB_JSON_JSON_H
#define WEB_JSON_JSON_H

#include "base/buf.h"
#include "base/error.h"

struct json_t; /* Jansson's */

/* A quoted, escaped string; bytes that are no UTF-8 become U+FFFD. */
void json_put_string(struct buf *b, struct slice s);
/* Behind 'name', which is put as it is: a string, or null where there is no
 * data; true or false. */
void json_put_text(struct buf *b, const char *name, struct slice text);
void json_put_bool(struct buf *b, const char *name, bool v);

/* Steps over bytes of JSON: how many brackets are open. */
struct json_depth {
    size_t open;
    bool in_string, escaped;
};

/* Takes the next byte; true when it is part of a string or of its quotes. */
static inline bool
json_depth_step(struct json_depth *d, uint8_t c)
{
    if (d->in_string) {
        d->in_string = d->escaped || c != '"';
        d->escaped = !d->escaped && c == '\\';
        return true;
    }
    if (c == '"')
        return d->in_string = true;
    if (c == '[' || c == '{')
        d->open++;
    else if ((c == ']' || c == '}') && d->open > 0)
        d->open--;
    return false;
}

/* Parses a body with limits on depth (64); repeated names: the last wins.
 * What follows the value is not looked at.  '*out' is a json_t to
 * json_decref(). */
MUST_CHECK enum status json_parse(struct slice body, struct json_t **out,
                                  struct error *e);

#endif
