/*
 * Members of small JSON objects, as leniently as Jackson reads them for
 * OpenTSDB: numbers as texts, texts as numbers, the empty one as 0; null is as
 * good as absent where nothing else is said.
 *
 * Owns:    texts are copied to the arena.
 * Threads: any; these are functions of their arguments.
 * Fails:   ST_INVALID when a member has the wrong type, ST_LIMIT past the
 *          arena.  What is absent leaves its output alone.
 */
#ifndef TSD_API_JSON_READ_H
#define TSD_API_JSON_READ_H

#include "base/arena.h"
#include "base/buf.h"
#include "uid/annotation.h"

struct json_t;

/* A whole number; fractions are cut off. */
MUST_CHECK enum status json_read_whole(const struct json_t *json,
                                       const char *name, int64_t *out,
                                       struct error *e);

/* A truth: true, "true", or a number that is not 0; null is false. */
MUST_CHECK enum status json_read_bool(const struct json_t *json,
                                      const char *name, bool *out,
                                      struct error *e);

/* A number, "NaN", "Infinity" or "-Infinity". */
MUST_CHECK enum status json_read_double(const struct json_t *json,
                                        const char *name, double *out,
                                        bool *seen, struct error *e);

MUST_CHECK enum status json_read_text(const struct json_t *json,
                                      const char *name, struct arena *a,
                                      struct slice *out, bool *seen,
                                      struct error *e);

/* The same, but null is a value: annotation_is_null(). */
MUST_CHECK enum status json_read_nullable(const struct json_t *json,
                                          const char *name, struct arena *a,
                                          struct slice *out, bool *seen,
                                          struct error *e);

/* An object of texts, which may be null. */
MUST_CHECK enum status json_read_pairs(const struct json_t *json,
                                       const char *name, struct arena *a,
                                       struct annotation_pair **pairs,
                                       size_t *len, bool *seen,
                                       struct error *e);
void json_put_pairs(struct buf *b, const struct annotation_pair *pairs,
                    size_t len);

/* What Java's Double.parseDouble takes, but for hexadecimal digits. */
bool read_java_double(struct slice text, double *out);

#endif
