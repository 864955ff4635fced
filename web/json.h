/*
 * JSON text: a writer of our own, and helpers over Jansson for small bodies.
 *
 * Threads: any; these are functions of their arguments.
 */
#ifndef WEB_JSON_H
#define WEB_JSON_H

#include "base/buf.h"
#include "base/error.h"

struct json_t; /* Jansson's */

/* A quoted, escaped string; bytes that are no UTF-8 become U+FFFD. */
void json_put_string(struct buf *b, struct slice s);

/* Parses a body with limits on depth (64); repeated names: the last wins.
 * What follows the value is not looked at.  '*out' is a json_t to
 * json_decref(). */
MUST_CHECK enum status json_parse(struct slice body, struct json_t **out,
                                  struct error *e);

#endif
