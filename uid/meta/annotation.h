/* Annotations: notes pinned to a time, of one series (its TSUID) or of all
 * ("global": an empty TSUID).  docs/FORMAT.md, "Annotations".
 *
 *     <'a'> <TSUID size:2> <TSUID> <start in ms:8>  -> the note
 *
 * Times are as the client wrote them, seconds, or milliseconds when they need
 * more than 32 bits; 1356998400 and 1356998400000 name the same moment, hence
 * the same note, which keeps the shorter spelling.
 *
 * Threads: any.
 * Fails:   ST_INVALID without a start; ST_LIMIT past RECORD_BYTES or the
 *          arena; ST_NOT_FOUND; ST_IO, ST_CORRUPT. */
#pragma once

#include "storage/row/key.h"
#include "uid/meta/record.h"

/* Which fields a request named. */
enum annotation_field {
    ANNOTATION_END = 1,
    ANNOTATION_DESCRIPTION = 2,
    ANNOTATION_NOTES = 4,
    ANNOTATION_CUSTOM = 8,
};

struct annotation {
    struct slice tsuid; /* bytes; empty: global */
    int64_t start, end; /* as written; end 0: none */
    struct slice description, notes;
    struct text_pairs custom; /* when stored: by key */
};

extern const struct record_format annotation_format;

#define ANNOTATION_KEY_MAX (1 + 2 + TSUID_MAX + 8)

/* Writes a key of at most ANNOTATION_KEY_MAX bytes; returns its size. */
size_t annotation_key(struct slice tsuid, int64_t ms, uint8_t *out);
/* Splits a key; ST_CORRUPT. */
MUST_CHECK enum status annotation_key_parse(struct slice key,
                                            struct slice *tsuid, int64_t *ms,
                                            struct error *e);

/* Texts are lent from 'bytes', the array of pairs is in the arena; the TSUID is
 * not among the bytes and stays as it is. */
MUST_CHECK enum status annotation_decode(struct slice bytes,
                                         struct arena *arena,
                                         struct annotation *out,
                                         struct error *e);

/* The moment of a time as written. */
int64_t annotation_ms(int64_t time);

/* Finds by TSUID, which is lent to '*out', and start; ST_NOT_FOUND with
 * OpenTSDB's text. */
MUST_CHECK enum status annotation_get(struct records *r, struct slice tsuid,
                                      int64_t start, struct arena *arena,
                                      struct annotation *out, struct error *e);

/* Writes '*n' and sets it to what is stored now.  A request
 * that names no field, or gives those it names their empty values (null is none
 * of them), changes nothing: '*changed' is false (304), whatever is stored. The
 * status of a missing start (< 1) comes first: "The start timestamp has not
 * been set". */
MUST_CHECK enum status annotation_put(struct records *r, struct annotation *n,
                                      const struct record_change *c,
                                      bool *changed, struct error *e);

/* An absent one is no error. */
MUST_CHECK enum status annotation_delete(struct records *r, struct slice tsuid,
                                         int64_t start, struct error *e);

/* Annotations of some TSUIDs that start within [from_ms, to_ms].  An empty
 * slice among the TSUIDs stands for the global annotations. */
struct annotation_query {
    const struct slice *tsuids;
    size_t len;
    int64_t from_ms, to_ms;
    struct arena *arena; /* of the result */
};

/* Deletes what 'q' asks for; each TSUID is named once.  One change has at most
 * 1,000 notes. */
MUST_CHECK enum status annotation_delete_range(struct records *r,
                                               const struct annotation_query *q,
                                               uint64_t *deleted,
                                               struct error *e);

/* Lists the annotations of any of the TSUIDs in the order of OpenTSDB: by start
 * as written, so seconds before milliseconds, then by TSUID.  TSUIDs without
 * annotations cost little. */
MUST_CHECK enum status annotation_list(struct records *r,
                                       const struct annotation_query *q,
                                       struct annotation **out, size_t *out_len,
                                       struct error *e);

/* The global ones, by start as written, as OpenTSDB reads them: by whole hours,
 * of which those stay that start from 'from_s' on and end by 'to_s', both
 * compared with what is written, be it seconds or milliseconds. */
MUST_CHECK enum status annotation_globals(struct records *r, int64_t from_s,
                                          int64_t to_s, struct arena *arena,
                                          struct annotation **out,
                                          size_t *out_len, struct error *e);

/* Lists the series of the metric that have annotations in the time range of
 * 'q', whose TSUIDs are not used: each TSUID once, in no useful order. */
MUST_CHECK enum status annotation_series(struct records *r, struct slice metric,
                                         const struct annotation_query *q,
                                         struct slice **out, size_t *out_len,
                                         struct error *e);

/* May there be any annotation at all? */
bool annotation_any(struct records *r);
