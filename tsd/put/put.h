/* The way of a point into the store: what clients wrote, line or JSON, goes
 * into a batch; the batch is looked up in the text cache as it stands, what is
 * unknown there is parsed, validated and resolved to a series, and all of it is
 * handed to the store at once, in the order in which it came.
 *
 *     put_batch_line() ... -> put_batch_flush() -> put_batch_commit()
 *     put_batch_json() ...        |
 *                                 `-> put_failed() for each that was rejected
 *
 * A name that is renamed or deleted makes the cache wrong: it is dropped when
 * uid_epoch() says so.
 *
 * Owns:    a batch owns its arrays; the bytes of lines and bodies are borrowed
 *          until they are flushed.
 * Bounds:  the cache, by the options; a batch, PUT_BATCH_MAX points.
 * Threads: struct put_path: any.  struct put_batch: one at a time. */
#pragma once

#include <sys/socket.h>

#include "tsd/put/put_cache.h"
#include "tsd/put/put_json.h"
#include "uid/series/series.h"

#define PUT_BATCH_MAX 4096

struct rollups;

struct put_options {
    struct series_rules rules;
    size_t cache_entries; /* see put_cache_new() */
    size_t cache_bytes;
    const char *header_tag; /* tsd.http.header_tag; NULL or "": none */
    const struct rollups
        *rollups; /* query/model/rollup.h; NULL: there are none */
};

struct put_path; /* opaque */

struct put_path *put_path_new(struct store *s, struct series_directory *d,
                              struct uid_table *u, const struct put_options *o);
void put_path_free(struct put_path **p);
void put_path_drop_cache(struct put_path *p);
/* Of batches until they are in the WAL. */
const struct latency *put_path_latency(const struct put_path *p);
/* A guess whether a few hundred points will be stored soon: not for a while
 * after it was reported to be slow. */
bool put_path_is_quick(const struct put_path *p);
void put_path_was_slow(struct put_path *p);
struct series_rules put_path_rules(const struct put_path *p);
/* NULL when none is set. */
const char *put_path_header_tag(const struct put_path *p);

/* Why a point was rejected. */
enum put_fault {
    PUT_BAD_VALUE,    /* "put: invalid value: .." */
    PUT_BAD_ARGUMENT, /* "put: illegal argument: .." */
    PUT_UNKNOWN_NAME, /* "put: unknown metric: .." */
    PUT_STORAGE,      /* "put: storage error: .." */
    PUT_NO_ROLLUP,    /* "rollup: No such rollup: .." */
    PUT_EXPIRED,      /* "put: illegal argument: ..", and the same below: the
                         point is older than its retention policy */
    PUT_COUNTED,      /* its hour's points were summed up and dropped */
    PUT_FOUND_LATE,   /* "rollup: HBase error: ..", an argument's fault that
                         OpenTSDB finds on the way to its storage */
};
#define PUT_FAULTS 8

/* Why a point was rejected that failed with this status. */
enum put_fault put_fault_of(enum status status);

/* One rejected point: 'id' is what the caller gave it, 'why' a sentence in
 * UTF-8 that dies when the call returns. */
typedef void put_failed(void *ctx, size_t id, enum put_fault fault,
                        struct slice why);

/* Counts a rejected point for /api/stats, and logs the first of each kind (see
 * base/process/log_throttle.h). */
void put_path_rejected(struct put_path *p, enum put_fault fault,
                       const char *peer, struct slice metric, struct slice why);

struct put_batch; /* opaque */

struct put_batch *put_batch_new(struct put_path *p, put_failed *failed,
                                void *ctx);
void put_batch_free(struct put_batch **b);
/* For the log, borrowed: who sends the points, as a text or an address. Without
 * either nothing is logged: put_failed() tells. */
void put_batch_set_peer(struct put_batch *b, const char *text,
                        const struct sockaddr *address);

/* Of this batch, whatever the path's rule says. */
void put_batch_create_metrics(struct put_batch *b, bool create);

bool put_batch_is_full(const struct put_batch *b);

/* A line as telnet sends it, without "put " or "rollup " and the line's end;
 * data NULL for a bare "put".  Rollups: docs/PROTOCOL.md. */
void put_batch_line(struct put_batch *b, struct slice line, size_t id,
                    bool rollup);

/* The point must live until the flush. */
void put_batch_json(struct put_batch *b, const struct put_json_point *x,
                    size_t id, bool rollup);

/* Where a look-up of names is dear (other processes share the engine), 'f' is
 * called with the first name that memory lacks: by put_batch_json_ahead() it
 * tells of points that will be added later, and their names are looked up,
 * too. */
typedef void put_ahead_fn(void *ctx, struct put_batch *b);
void put_batch_set_ahead(struct put_batch *b, put_ahead_fn *f, void *ctx);
void put_batch_json_ahead(struct put_batch *b, const struct put_json_point *x,
                          bool rollup);

/* While put_failed() runs: did the rollup get a tag for its aggregator? */
bool put_batch_added_tag(const struct put_batch *b, struct slice *key,
                         struct slice *value);

/* From here on a flush sends points to the owners of their buckets and does not
 * wait: put_batch_end_window() does.  Where all buckets are this process's it
 * changes nothing. */
void put_batch_begin_window(struct put_batch *b);
/* Waits for the owners; then put_batch_commit().  ST_BUSY: some did not answer
 * yet: call again.  ST_IO: they rejected some points. */
MUST_CHECK enum status put_batch_end_window(struct put_batch *b,
                                            struct error *e);

/* Stores the batch and empties it.  ST_BUSY: the store cannot take more just
 * now; nothing is lost, call again a little later, add nothing meanwhile.
 * What is rejected for good goes to put_failed(), so there is no other failure.
 * '*stored' (may be NULL) grows by the number of points taken. */
MUST_CHECK enum status put_batch_flush(struct put_batch *b, size_t *stored);
/* After ST_BUSY: a sentence for who waits. */
const char *put_batch_why_busy(const struct put_batch *b);

/* ST_BUSY and the reason while the store rejects all writes. */
MUST_CHECK enum status put_batch_rejected(const struct put_batch *b,
                                          struct error *e);

/* Waits until all that this batch ever stored is in the WAL; see
 * store_commit(). */
MUST_CHECK enum status put_batch_commit(struct put_batch *b, bool sync,
                                        struct error *e);

/* Points that were stored and not committed since. */
size_t put_batch_uncommitted(const struct put_batch *b);

/* Something else was written, which the next commit must reach too. */
void put_batch_note(struct put_batch *b, uint64_t lsn);

/* A tag for each JSON point of this batch, from a header; borrowed.  Replaces
 * a point's own tag of that key. */
void put_batch_set_extra(struct put_batch *b, struct slice key,
                         struct slice value);
