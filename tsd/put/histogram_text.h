/* Histograms as clients write them: as buckets, "0,10=5:10,20=7:u=1:o=2" on a
 * line or {"0,10":5,"10,20":7} in JSON, or as the bytes of a codec in base64.
 *
 * Threads: any; these are functions of their arguments.
 * Fails:   ST_INVALID with OpenTSDB's text; ST_CORRUPT where OpenTSDB meets an
 *          exception that it did not foresee; ST_LIMIT. */
#pragma once

#include "storage/histogram/histogram.h"

/* Which codecs there are: tsd.core.histograms.config. */
struct histogram_codecs {
    bool on;    /* something is configured */
    int simple; /* the id of SimpleHistogramDecoder, 0..255; < 0: none */
};

/* 'text' is JSON, {"net.opentsdb.core.SimpleHistogramDecoder": 0}, or names a
 * file of it that ends in ".json"; empty: none. */
MUST_CHECK enum status histogram_codecs_read(const char *text,
                                             struct histogram_codecs *out,
                                             struct error *e);

/* ST_OK when 'id' is one of them; "No codec found mapped to ID 9". */
MUST_CHECK enum status histogram_codec_check(const struct histogram_codecs *c,
                                             int64_t id, struct error *e);

/* ST_OK when buckets can be stored at all; their codec is simple's. */
MUST_CHECK enum status histogram_simple_check(const struct histogram_codecs *c,
                                              struct error *e);

/* A line's value. */
MUST_CHECK enum status histogram_parse_line(struct slice text, struct arena *a,
                                            struct histogram *out,
                                            struct error *e);

/* "0,10" into the bounds of a bucket.  ST_NOT_FOUND when one is no number:
 * that has a text of its own where bounds are JSON. */
MUST_CHECK enum status histogram_parse_bounds(struct slice text,
                                              struct histogram_bucket *out,
                                              struct error *e);

/* What a codec wrote, without its id, in base64; letters that base64 has not
 * are skipped, as Java does. */
MUST_CHECK enum status histogram_parse_base64(struct slice text,
                                              struct arena *a,
                                              struct histogram *out,
                                              struct error *e);
