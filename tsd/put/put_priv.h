/*
 * Inside of a batch: columns of what is on its way, one row a point.
 *
 * Threads: one at a time.
 */
#ifndef TSD_PUT_PUT_PRIV_H
#define TSD_PUT_PUT_PRIV_H

#include "base/latency.h"
#include "base/lock.h"
#include "tsd/put/put.h"
#include "tsd/put/put_tags.h"

struct put_path {
    uint32_t magic;
    struct store *store;
    struct series_directory *directory;
    struct uid_table *uids;
    struct series_rules rules;
    struct put_cache *cache;
    char *header_tag;
    const struct rollups *rollups;
    struct latency latency; /* of commits */
    struct {
        _Atomic int64_t next_us;
        _Atomic uint64_t count; /* since the last line of the log */
    } rejected[PUT_FAULTS];
    _Atomic int64_t quick_again_us;
    struct lock lock; /* a leaf */
    struct put_batch *spare GUARDED_BY(lock);
    size_t spare_len GUARDED_BY(lock);
};

struct put_batch {
    uint32_t magic;
    struct put_path *path;
    struct put_batch *next_spare;
    put_failed *failed;
    void *ctx;
    const char *peer_text;
    const struct sockaddr *peer;
    struct slice extra_key, extra_value; /* data NULL: none */
    struct buf text, why;                /* scratch of the slow way */
    struct slice added_key;              /* of the rollup at hand; or NULL */
    struct buf added_value;
    uint64_t lsn, committed;

    /* What was added.  Not 'ready': its key is not one for the cache (the key
     * of such a line is the whole line). */
    size_t len;
    struct put_key keys[PUT_BATCH_MAX];
    struct point points[PUT_BATCH_MAX];
    size_t ids[PUT_BATCH_MAX];
    const struct put_json_point *json[PUT_BATCH_MAX]; /* NULL: a line */
    bool ready[PUT_BATCH_MAX];
    bool rollup[PUT_BATCH_MAX];
    series_ref refs[PUT_BATCH_MAX];
    struct put_guess guess;

    /* Series that the cache does not know, of the rows named, and where their
     * TSUIDs begin and end in 'tsuids'. */
    size_t entries_len;
    struct series_entry entries[PUT_BATCH_MAX];
    uint16_t entry_rows[PUT_BATCH_MAX];
    size_t tsuid_ends[PUT_BATCH_MAX];
    struct buf tsuids;

    /* What waits for the store; 'rows' says where it stands above. */
    bool looked_up;
    size_t out_len;
    struct store_point out[PUT_BATCH_MAX];
    uint16_t rows[PUT_BATCH_MAX];
    bool again[PUT_BATCH_MAX]; /* its series was asked for anew */
};

/* A row's names, parsed. */
struct put_names {
    struct slice metric;
    struct put_tags tags;
    uint64_t kind; /* of a rollup; 0 */
};

/* Parses a row in full; false when it was rejected (and put_failed() called).
 * Fills the row's point and 'names'. */
bool put_line_parse(struct put_batch *b, size_t row, struct put_names *names);
bool put_json_parse(struct put_batch *b, size_t row, struct put_names *names);
bool put_rollup_parse(struct put_batch *b, size_t row, struct put_names *names);

/* Chunks of them.  A line that is not ready as UTF-8, in 'text'; the word
 * before the next blank, which 'left' loses. */
struct slice put_line_text(struct put_batch *b, size_t row);
struct slice put_line_word(struct slice *left);
/* Metric and tags of a JSON point, its 'value' as text; rejects one that lacks
 * something.  'text' has room for 'more' bytes behind that. */
bool put_json_names(struct put_batch *b, size_t row, struct put_names *names,
                    struct slice *value, size_t more);

/* Reports a row as failed; 'why' is the batch's. */
void put_reject(struct put_batch *b, size_t row, enum put_fault fault);

/* Reports it with 'why' behind what the batch's has; returns false. */
bool put_reject_text(struct put_batch *b, size_t row, enum put_fault fault,
                     const char *why);

/* Steps of put_check(); the last two may reject alone. */
bool put_check_finite(struct put_batch *b, size_t row,
                      const struct put_names *names, int64_t time);
bool put_check_count(struct put_batch *b, size_t row,
                     const struct put_names *names);
bool put_check_names(struct put_batch *b, size_t row,
                     const struct put_names *names);
bool put_reject_time(struct put_batch *b, size_t row,
                     const struct put_names *names, int64_t time, bool narrow);

/* What both check, in OpenTSDB's order: a finite value, a time in range, the
 * number of tags, the names.  'time' as the client gave it. */
bool put_check(struct put_batch *b, size_t row, const struct put_names *names,
               int64_t time, bool narrow);

#endif
