/* Fetches what an OpenTSDB, or a server like it, holds, by its HTTP API, and
 * makes JSON lines of it (tsd/transfer/json/json_import.h): names, trees,
 * metadata, annotations, points, histograms.  Its own tools know points alone.
 *
 *     suggest -> metrics -> queries of a metric and a span of time, which
 *     shrinks where answers are large and grows where they are small
 *
 * Rollups are not among it: no request names them.
 *
 * Bounds:  an answer (512 MB), the names.
 * Threads: owner.
 * Fails:   as client.h, with the metric's name; ST_BUSY: cancelled; what
 *          'lines' returns. */
#pragma once

#include "base/cancel.h"
#include "base/error.h"
#include "base/slice.h"

enum fetch_part {
    FETCH_NAMES = 1,
    FETCH_TREES = 2,
    FETCH_METADATA = 4,
    FETCH_ANNOTATIONS = 8,
    FETCH_POINTS = 16,
    FETCH_HISTOGRAMS = 32,
    FETCH_ALL = 63,
};
/* "names", "trees" ..; 0: there is none such. */
unsigned fetch_part_find(struct slice name);

struct fetch {
    const char *url;      /* a name and a password may be in it */
    const char *cacert;   /* as a client's */
    const char *metrics;  /* NULL: all; '*' in it stands for any text */
    int64_t from_s, to_s; /* of points, annotations, histograms */
    unsigned parts;
    enum status (*lines)(void *ctx, struct slice lines, struct error *e);
    /* The server cannot tell of this metric, or of no more of it; what it told
     * is there, the rest is left out. */
    void (*missed)(void *ctx, const char *metric, const struct error *why);
    /* One record of this metric cannot be had, here as the server wrote it. */
    void (*bad)(void *ctx, const char *metric, struct slice record,
                const struct error *why);
    /* What is no fault: the server has no histograms. */
    void (*note)(void *ctx, const char *text);
    void *ctx;
    struct cancel cancel; /* asked before each request */
};

MUST_CHECK enum status fetch_all(const struct fetch *f, struct error *e);
