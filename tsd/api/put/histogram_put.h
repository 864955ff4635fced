/* The way of a histogram into the store, from HTTP and from telnet.  There are
 * few of them beside points, so they take a simple way: parsed, resolved to a
 * series, encoded, and written in batches.
 *
 *     histogram_writer_add() ... -> histogram_writer_flush() -> store_commit()
 *
 * Threads: a writer: owner.
 * Fails:   ST_INVALID with OpenTSDB's texts, ST_NOT_FOUND for names that may
 * not be made, ST_IO. */
#pragma once

#include "storage/histogram/histogram.h"
#include "tsd/api/api.h"
#include "tsd/net/telnet.h"
#include "tsd/put/put.h"

#define HISTOGRAMS_ARE_OFF                               \
    "Histogram storage has not been enabled. Check the " \
    "'tsd.core.histograms.config' configuration."

struct histogram_writer {
    const struct api *a;
    struct kv_batch *batch;
    struct arena *arena; /* of one histogram that is parsed */
    uint64_t lsn;        /* what to commit, after a flush */
};

struct histogram_point {
    struct slice metric;
    struct put_tags tags;
    int64_t time; /* as the client gave it: seconds, or milliseconds */
    struct histogram histogram;
};

void histogram_writer_init(struct histogram_writer *w, const struct api *a);
void histogram_writer_fini(struct histogram_writer *w);

MUST_CHECK enum status histogram_writer_add(struct histogram_writer *w,
                                            const struct histogram_point *p,
                                            struct error *e);
/* Adds one of a JSON body. */
MUST_CHECK enum status histogram_writer_json(struct histogram_writer *w,
                                             const struct put_json_point *x,
                                             struct error *e);
MUST_CHECK enum status histogram_writer_flush(struct histogram_writer *w,
                                              struct error *e);

/* "histogram metric time [id] value tagk=tagv ..."; ctx is the struct api. */
telnet_serve telnet_histogram;
