/* Annotations as JSON, both ways, in OpenTSDB's members.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include "tsd/api/fields.h"
#include "uid/meta/annotation.h"

struct json_t;

/* A time as written (seconds or ms): is it within [from_ms, to_ms]? */
bool annotation_within(const struct annotation *n, int64_t from_ms,
                       int64_t to_ms);

void annotation_write(struct buf *b, const struct annotation *n);

/* With the TSUID as a client spelled it, which is hexadecimal. */
void annotation_write_as(struct buf *b, const struct annotation *n,
                         struct slice tsuid_text);

/* A note as a request has it: its TSUID still text. */
struct annotation_request {
    struct annotation note;
    struct text_pairs custom; /* the same as in 'note' */
    struct slice tsuid_text;
    unsigned fields; /* enum annotation_field */
};

/* Unknown members are ignored.  ST_INVALID when one has the wrong type,
 * ST_LIMIT past the arena. */
MUST_CHECK enum status annotation_read(const struct json_t *json,
                                       struct arena *a,
                                       struct annotation_request *out,
                                       struct error *e);

/* The same from parameters, but for the times, which are left 0.  False: it
 * replied. */
bool annotation_read_params(const struct http_request *r,
                            struct annotation_request *out,
                            struct http_reply *reply);

/* Sets note.tsuid from the text, empty when that is; ST_INVALID when it is no
 * TSUID, or shorter than a metric's id. */
MUST_CHECK enum status annotation_read_tsuid(struct annotation_request *n,
                                             unsigned metric_width,
                                             struct arena *a, struct error *e);
