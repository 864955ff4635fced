/* Reading of JSON requests into structs, by tables of members, as Jackson reads
 * them: numbers become texts, texts numbers, and much a boolean; clients rely
 * on it.  The first failure sticks, and makes the rest no-ops.
 *
 * Owns:    nothing; texts are copied to the reader's arena.
 * Threads: owner.
 * Fails:   "Unable to parse the given JSON" with details (ST_INVALID); ST_LIMIT
 *          past the arena or the bounds of a tree. */
#pragma once

#include <jansson.h>

#include "base/arena.h"
#include "base/slice.h"
#include "query/model/filter.h"
#include "query/parse/parse_error.h"

struct reader {
    struct arena *arena;
    struct parse_error *e;
    enum status st;
    struct slice body;    /* once loaded */
    bool parens_in_names; /* see struct parse_options */
};

typedef void reader_function(struct reader *r, const char *name, json_t *v,
                             void *to);

/* A member of an object, what reads it, and where it goes to. */
struct member {
    const char *name;
    reader_function *read;
    size_t offset; /* into what is filled */
};

/* What goes to member 'm' of 'struct type'; and a table with its length. */
#define MEMBER(type, name, f, m)          \
    {                                     \
        name, f, offsetof(struct type, m) \
    }
#define MEMBERS(table) (table), sizeof(table) / sizeof(table)[0]

/* The body as a tree, to json_decref(); NULL when it failed. */
json_t *reader_load(struct reader *r, struct slice body);

/* Members that are not listed are passed over or rejected. */
void reader_object(struct reader *r, const char *name, json_t *v,
                   const struct member *members, size_t len,
                   bool ignore_unknown, void *to);

/* Defines a function that reads an object by a table of members. */
#define READ_OBJECT(function, ...)                                      \
    static void function(struct reader *r, const char *name, json_t *v, \
                         void *to)                                      \
    {                                                                   \
        static const struct member members[] = { __VA_ARGS__ };         \
                                                                        \
        reader_object(r, name, v, MEMBERS(members), true, to);          \
    }

/* An array of at most 'max' elements, each of which 'read' puts into one of
 * 'size' zeroed bytes; NULL for null.  '*len' counts one that failed, too. */
void *reader_items(struct reader *r, const char *name, json_t *v, size_t max,
                   size_t size, reader_function *read, size_t *len);

reader_function reader_text;
/* A text; of a number with a fraction or an exponent, as the body spells it. */
reader_function reader_spelled;
reader_function reader_bool;
reader_function reader_long;
reader_function reader_double;

/* The same, for who reports failures in its own words; null and the empty text
 * are false and 0.  False: of another type. */
bool reader_take_bool(const json_t *v, bool *out);
bool reader_take_long(const json_t *v, int64_t *out);
bool reader_take_double(const json_t *v, double *out);

/* Reads {"type":..,"tagk":..,"filter":..,"groupBy":..} to a struct
 * filter_texts. */
reader_function read_filter_texts;

/* Zeroed, of at least one element; NULL when it failed. */
void *reader_array(struct reader *r, size_t len, size_t size);
struct slice reader_keep(struct reader *r, struct slice s);

/* What follows is the details. */
void reader_fail(struct reader *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
