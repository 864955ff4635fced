/* Inside of a batch: columns of what is on its way, one row a point.
 *
 * Threads: one at a time. */
#pragma once

#include "base/process/latency.h"
#include "base/process/log_throttle.h"
#include "tsd/put/put.h"
#include "tsd/put/put_tags.h"

#define PUT_BATCH_MAGIC FOURCC('P', 'U', 'T', 'B')

/* Of no point of the batch: where others are parsed ahead. */
#define PUT_AHEAD_ROW PUT_BATCH_MAX

struct put_path {
    uint32_t magic;
    struct store *store;
    struct series_directory *directory;
    struct uid_table *uids;
    struct series_rules rules;
    struct put_cache *cache;
    _Atomic uint64_t names_epoch; /* uid_epoch(), since which the cache holds */
    char *header_tag;
    const struct rollups *rollups;
    struct latency latency; /* of commits */
    struct log_throttle rejected[PUT_FAULTS];
    _Atomic int64_t quick_again_us;
};

struct put_batch {
    uint32_t magic;
    struct put_path *path;
    struct series_rules rules;
    put_failed *failed;
    void *ctx;
    const char *peer_text;
    const struct sockaddr *peer;
    struct slice extra_key, extra_value; /* data NULL: none */
    struct buf text, why, tags;          /* scratch of the slow way */
    struct slice added_key;              /* of the rollup at hand; or NULL */
    struct buf added_value;
    struct store_window *window; /* NULL: each flush waits for owners */
    uint64_t lsn, committed;
    struct error busy;  /* why the last flush was */
    size_t uncommitted; /* points */
    struct put_guess guess;
    uint64_t epoch; /* of the cache, before names were looked up */
    bool looked_up;
    bool names_ahead;    /* the names of all rows were looked up together */
    bool quiet;          /* rows are parsed ahead: nothing is reported yet */
    put_ahead_fn *ahead; /* NULL: nothing is told of what comes */
    void *ahead_ctx;
    struct series_names *names;       /* while it is looked ahead */
    size_t len, entries_len, out_len; /* of the columns below */
    struct buf tsuids;

    /* What was added.  Not 'ready': its key is not one for the cache (the key
     * of such a line is the whole line). */
    struct put_key keys[PUT_BATCH_MAX];
    struct point points[PUT_BATCH_MAX + 1];
    size_t ids[PUT_BATCH_MAX];
    const struct put_json_point *json[PUT_BATCH_MAX + 1]; /* NULL: a line */
    bool ready[PUT_BATCH_MAX];
    bool rollup[PUT_BATCH_MAX + 1];
    series_ref refs[PUT_BATCH_MAX];

    /* Series that the cache does not know, of the rows named, and where their
     * TSUIDs begin and end in 'tsuids'. */
    struct series_entry entries[PUT_BATCH_MAX];
    uint16_t entry_rows[PUT_BATCH_MAX];
    size_t tsuid_ends[PUT_BATCH_MAX];

    /* What waits for the store; 'rows' says where it stands above. */
    struct series_point out[PUT_BATCH_MAX];
    uint16_t rows[PUT_BATCH_MAX];
    bool again[PUT_BATCH_MAX]; /* its series was asked for anew */
};

/* A row, parsed: what lines and JSON, points and rollups have in common. */
struct put_parsed {
    struct slice metric;
    struct put_tags tags;
    int64_t time; /* as the client gave it, above 0 */
    /* Of a rollup; data NULL: absent.  The kind of its series (or 0). */
    struct slice interval, aggregator, group_by;
    uint64_t kind;
};

/* Finds the series of all rows, or rejects the rows; those found are in 'out'.
 */
void put_look_up(struct put_batch *b);
/* The same of a row whose series the store has forgotten; false when it was
 * rejected. */
bool put_look_up_again(struct put_batch *b, size_t row);

/* A new row, which is not ready. */
size_t put_add_row(struct put_batch *b, size_t id,
                   const struct put_json_point *json, bool rollup);

/* Parses a row in full; false when it was rejected (and put_failed() called).
 * Fills the row's point, its time excepted, and 'x'. */
bool put_line_parse(struct put_batch *b, size_t row, struct put_parsed *x);
bool put_json_parse(struct put_batch *b, size_t row, struct put_parsed *x);

/* "1h-sum", "1h-sum:max", "max"; false when it names neither. */
bool put_rollup_split(struct slice word, struct put_parsed *x);

/* Reports a row as failed for what the batch's 'why' says; returns false. */
bool put_reject(struct put_batch *b, size_t row, enum put_fault fault);
#define PUT_REJECT(b, row, fault, ...) \
    (buf_printf(&(b)->why, __VA_ARGS__), put_reject(b, row, fault))

/* Of a rollup, the names too; adds its tag, finds its kind. */
bool put_rollup_check(struct put_batch *b, size_t row, struct put_parsed *x);

/* Steps of both. */
bool put_check_finite(struct put_batch *b, size_t row,
                      const struct put_parsed *x);
bool put_reject_time(struct put_batch *b, size_t row,
                     const struct put_parsed *x);
/* "{key=value, ..}", lent until the next call. */
const char *put_tags_text(struct put_batch *b, const struct put_parsed *x);
