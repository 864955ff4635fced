/* Metadata as JSON and as parameters, in OpenTSDB's members.
 *
 * Threads: any. */
#pragma once

#include "tsd/api/fields.h"
#include "query/fetch/series_points.h"

struct json_t;

/* Metadata as a request has it: whose it is still text. */
struct meta_request {
    struct slice id_text;   /* "uid" or "tsuid"; empty: none */
    struct slice type_text; /* of a "uid"; empty: none */
    struct meta meta;
    struct text_pairs custom; /* the same as in 'meta' */
    unsigned fields;          /* enum meta_field: what differs from nothing */
};

/* Reads the body, or the parameters when it is empty.  False: it replied. */
bool meta_read(const struct http_request *r, bool of_series,
               struct meta_request *out, struct http_reply *reply);

/* "metric", "METRICS", "tagk" ...  ST_INVALID "Invalid type requested: x". */
MUST_CHECK enum status meta_read_type(struct slice text, enum uid_kind *out,
                                      struct error *e);
/* Hexadecimal digits; an odd number of them is led by a 0. ST_INVALID.  The
 * bytes are in the arena. */
MUST_CHECK enum status meta_read_id(struct slice text, struct arena *a,
                                    struct slice *out, struct error *e);

/* meta_get() of a series; ST_NOT_FOUND also when none was written and the
 * settings do not make it for every series, as OpenTSDB's do not by default. */
MUST_CHECK enum status meta_get_series(const struct api *a, struct slice tsuid,
                                       struct arena *arena, struct meta *out,
                                       struct error *e);

/* Writes an object.  'scratch' is for what is read meanwhile.  ST_NOT_FOUND
 * with uid_name()'s text when an id has no name. */
MUST_CHECK enum status meta_write_uid(const struct api *a, struct buf *b,
                                      enum uid_kind kind, struct slice id,
                                      struct arena *scratch, struct error *e);
MUST_CHECK enum status
meta_write_series(const struct api *a, struct buf *b, struct slice tsuid,
                  const struct meta *meta, const struct series_points *points,
                  struct arena *scratch, struct error *e);
