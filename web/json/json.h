/* JSON text: a writer of our own, and helpers over Jansson for small bodies.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

struct json_t; /* Jansson's */

/* A quoted, escaped string; bytes that are no UTF-8 become U+FFFD. */
void json_put_string(struct buf *b, struct slice s);

/* The comma before an element or a member, where one is needed: by what the
 * buffer ends with.  The others begin with it. */
void json_next(struct buf *b);
/* "name": for the value that follows. */
void json_name(struct buf *b, const char *name);
/* json_name(), or json_next() without a name, and an opening bracket. */
void json_open(struct buf *b, const char *name, char bracket);
/* A member: a string; a string, or null where there is no data; a number; true
 * or false. */
void json_put_member(struct buf *b, const char *name, struct slice text);
void json_put_text(struct buf *b, const char *name, struct slice text);
void json_put_int(struct buf *b, const char *name, int64_t v);
void json_put_bool(struct buf *b, const char *name, bool v);
/* A member whose name is a client's. */
void json_put_pair(struct buf *b, struct slice name, struct slice text);
/* An element. */
void json_put_item(struct buf *b, struct slice text);
/* An array of strings; null where there is none. */
void json_put_list(struct buf *b, const char *name, const struct slice *texts,
                   size_t len);

/* Of a request, whose tree takes up to 300 bytes a value. */
#define JSON_REQUEST_VALUES ((size_t)200000)

/* Parses text that nests 64 deep at most; repeated names: the last wins.  What
 * follows the value is not looked at.  '*out' is a json_t to json_decref().
 * ST_INVALID; ST_LIMIT: more than 'max_values'; ST_BUSY: no memory. */
MUST_CHECK enum status json_parse(struct slice text, size_t max_values,
                                  struct json_t **out, struct error *e);

/* Takes an element; to keep it wants a json_incref(). */
typedef enum status json_taker(void *ctx, struct json_t *element,
                               struct error *e);
/* Calls for each element of an array, so that only one of them is a tree in
 * memory.  ST_INVALID: no array, maybe behind elements that were taken; what
 * 'take' returns but for ST_OK. */
MUST_CHECK enum status json_each(struct slice array, json_taker *take,
                                 void *ctx, struct error *e);
