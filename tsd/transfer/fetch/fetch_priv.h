/* Inside of a fetch: fetch.c asks what there is, fetch_points.c for points.
 *
 * Threads: owner. */
#pragma once

#include "base/buf.h"
#include "tsd/transfer/fetch/fetch.h"
#include "uid/meta/record.h"
#include "uid/names/uid.h"
#include "web/json/json.h"

struct client;

struct fetching {
    const struct fetch *f;
    struct client *client;
    struct buf out;          /* lines that are to be handed over */
    struct buf path;         /* of the next request */
    struct buf answer;       /* to the last one */
    const char *metric_name; /* of the metric at hand, as 'metric' */
    struct slice metric;
    bool lines_failed; /* 'lines' took no more: the end, whatever its status */
    enum {
        HISTOGRAMS_UNKNOWN,
        HISTOGRAMS_ANSWERED,
        HISTOGRAMS_NONE
    } histograms;
};

/* A line: begin, members by json_put_*() and fetch_copy() into 'out', end. */
void fetch_begin(struct fetching *x, const char *type);
MUST_CHECK enum status fetch_end(struct fetching *x, struct error *e);
/* A member as it stands in an answer, if it does. */
void fetch_copy(struct fetching *x, const struct json_t *from, const char *name,
                const char *as);

/* ST_IO: another server's answer to 'path', or a proxy's. */
MUST_CHECK enum status fetch_other_answer(struct fetching *x, struct error *e);

/* The same of an array, with each element; 'take' asks for nothing. */
MUST_CHECK enum status fetch_each(struct fetching *x, const struct slice *body,
                                  json_taker *take, void *ctx, struct error *e);

/* Series of the metric at hand: those of the server's table of metadata, or
 * those of the first rows.  '*series' is an array in '*answer', which is to
 * json_decref(), or NULL. */
MUST_CHECK enum status fetch_lookup(struct fetching *x, int64_t limit,
                                    bool from_meta, struct json_t **answer,
                                    const struct json_t **series,
                                    struct error *e);

/* Annotations of a series, or global ones where that is NULL. */
MUST_CHECK enum status fetch_annotations(struct fetching *x,
                                         const struct json_t *notes,
                                         const struct json_t *series,
                                         struct error *e);
/* Those that came without names: beside no point of their series.  One whose
 * series cannot be named is bad, the others are taken. */
MUST_CHECK enum status fetch_lone_annotations(struct fetching *x,
                                              const struct json_t *notes,
                                              struct error *e);

/* Points, annotations and histograms of the metric at hand, as 'parts' says. */
MUST_CHECK enum status fetch_points(struct fetching *x, struct error *e);
