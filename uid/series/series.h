/* The series directory: which TSUIDs exist, and for each metric its
 * tag-key sets, the sets of tagks that it is used with (docs/FORMAT.md,
 * "Series").
 *
 *     <'s'> <tsuid>                   -> creation time, s (4 bytes); on shared
 *                                        engines the mark of a purge instead
 *     <'h'> <metric> <tagk>... <salt> -> how many series of the salt bucket
 *                                        have this tag-key set (8 bytes)
 *
 * A series is in the directory before the first of its points can be flushed;
 * the entry and the count of its tag-key set are one batch, which travels
 * through the WAL like everything else.
 *
 * A series may be of a kind: a rollup, whose TSUID has one pair more, in front
 * of the others, with tagk 0, which no name has, and the kind's number as tagv.
 * Whoever does not ask for kinds does not meet them.
 *
 * Bounds:  in memory the tag-key sets with their counts, the kinds, and at most
 * 96 MB of an index over metrics that are queried. Threads: any. */
#pragma once

#include "base/cancel.h"
#include "storage/row/mask.h"
#include "uid/names/uid.h"
#include "uid/series/tag_set.h"
#include "uid/series/tagk_sets.h"

struct series_directory; /* opaque */

MUST_CHECK enum status series_open(struct store *s, struct uid_table *u,
                                   struct series_directory **out,
                                   struct error *e);
void series_close(struct series_directory **d);

/* How many series there may be; those that are there are not asked.  0: as many
 * as come.  Before others use the directory. */
struct series_limits {
    uint64_t all;
    uint64_t of_metric; /* rollups count too */
};
void series_limit(struct series_directory *d, struct series_limits limits);

struct series_rules {
    bool create_metrics; /* tsd.core.auto_create_metrics */
    bool create_tagks;
    bool create_tagvs;
    size_t max_tags; /* tsd.storage.max_tags, 8; KEY_MAX_TAGS at most */
    /* Ask memory alone: ST_CONFLICT where it does not have a name.  For who
     * resolves many of them together then (series_names.h). */
    bool cached;
};

/* A series as a client names it. */
struct series_text {
    uint64_t kind; /* of rollups; 0: none */
    struct slice metric;
    const struct tag *tags;
    size_t tags_len;
};

/* Turns names into a series: validates them, assigns ids as the rules allow,
 * sorts the tags by tagk id, enters the series into the directory, and asks the
 * store for its handle.  The errors are OpenTSDB's:  "Need at least
 * one tag (metric=m, tags={})", "Too many tags:
 * ..", "duplicate tag: ..", "No such name for 'metrics': 'x'" (ST_NOT_FOUND);
 * and, ours, "Too many series: .." (ST_LIMIT), for which no name gets an id. */
MUST_CHECK enum status series_resolve(struct series_directory *d,
                                      const struct series_rules *rules,
                                      const struct series_text *x,
                                      series_ref *ref, struct tsuid *tsuid,
                                      struct error *e);

/* Fails as series_resolve() does if the names may not make a series; 'set'
 * becomes the tags in order. */
MUST_CHECK enum status series_check(const struct uid_table *u,
                                    const struct series_rules *rules,
                                    const struct series_text *x,
                                    struct tag_set *set, struct error *e);

/* The first half of series_resolve(): names to a TSUID, which need not be
 * in the directory yet. */
MUST_CHECK enum status series_identify(struct series_directory *d,
                                       const struct series_rules *rules,
                                       const struct series_text *x,
                                       struct tsuid *tsuid, struct error *e);

/* A shorter way to the same, for the tags of a TSUID that it made just now with
 * kind 0: 'out' becomes the TSUID of these and the metric.  False when the
 * cache of names has none for the metric, or it is not valid. */
bool series_of_metric(struct series_directory *d, struct slice metric,
                      struct slice tsuid, uint8_t *out);

struct series_entry {
    struct slice tsuid;
    series_ref ref; /* out */
    /* out: ST_OK; ST_LIMIT, see series_reject(); ST_CONFLICT, an id lost its
     * name (series_purge.h): look its names up again. */
    enum status rejected;
};

/* Names and series may be purged again and again while they are looked up.
 * After so many attempts the caller gets ST_BUSY. */
#define SERIES_ATTEMPTS 8

/* The second half, for many: enters those that are not there yet, in one batch
 * (in a pool: one guarded batch for each salt bucket), and asks the store for
 * the handle of each.  TSUIDs may repeat. */
MUST_CHECK enum status series_enter(struct series_directory *d,
                                    struct series_entry *entries, size_t len,
                                    struct error *e);
/* ST_BUSY, and its sentence: a name of the series is being purged. */
enum status series_is_being_purged(struct error *e);
/* What is said of those that were rejected, and its status. */
enum status series_reject(struct series_directory *d, struct error *e);

/* The number of a kind.  Where there is none and 'create' is not set, one that
 * no series has, so that who looks for it finds nothing. */
MUST_CHECK enum status series_kind(struct series_directory *d, const char *name,
                                   bool create, uint64_t *kind,
                                   struct error *e);

/* Has the TSUID, a valid one, a kind's pair? */
bool series_has_kind(const struct key_layout *w, struct slice tsuid);
/* Writes the TSUID with the kind's pair (TSUID_MAX bytes), or without it;
 * returns the size, 0 when there is no room for it. */
size_t series_add_kind(const struct key_layout *w, struct slice tsuid,
                       uint64_t kind, uint8_t *out);
size_t series_drop_kind(const struct key_layout *w, struct slice tsuid,
                        uint8_t *out);

/* When the series was entered, seconds since 1970.  ST_NOT_FOUND. */
MUST_CHECK enum status series_created(struct series_directory *d,
                                      struct slice tsuid, uint32_t *created_s,
                                      struct error *e);

/* Copies the metric's tag-key sets into the arena; none is no error.  'kinds':
 * those of series of kinds alone, all kinds together; the first tagk is 0. */
MUST_CHECK enum status series_tagk_sets(struct series_directory *d,
                                        uint64_t metric, bool kinds,
                                        struct arena *a,
                                        struct series_tagk_set **out,
                                        size_t *len, struct error *e);

/* Calls f for each series of the metric whose directory key matches 'masks'
 * (NULL: all without a kind), ascending, until f returns false.  The masks are
 * over directory keys: table byte, metric, pairs.  metric 0: every metric.  No
 * lock is held. */
MUST_CHECK enum status series_each(struct series_directory *d, uint64_t metric,
                                   const struct mask_set *masks,
                                   bool (*f)(void *ctx, struct slice tsuid),
                                   void *ctx, struct error *e);

/* Picks series that have one of these values under the tagk. */
struct series_pick {
    uint64_t tagk;
    const uint64_t *tagvs; /* ascending; NULL: any value */
    size_t tagvs_len;
};

/* Calls f for series without a kind, ascending, until it returns false: for all
 * that 'pick' picks, and maybe for others.
 * metric 0: every metric that has series with that tagk. */
MUST_CHECK enum status series_each_tagged(
    struct series_directory *d, uint64_t metric, const struct series_pick *pick,
    bool (*f)(void *ctx, struct slice tsuid), void *ctx, struct error *e);

struct series_visit {
    bool (*series)(void *ctx, struct slice tsuid); /* false: stop */
    void *ctx;
    /* Asked each time some hundred keys were looked at, also those that do not
     * match. */
    struct cancel cancel;
};

/* Visits series as series_each() does, for masks (NULL: all series without a
 * kind) that match only series that 'pick' picks.  An index in memory finds
 * them if the metric is queried often and 'pick' has values; otherwise the
 * masks skip through the directory. */
MUST_CHECK enum status
series_each_with(struct series_directory *d, uint64_t metric,
                 const struct mask_set *masks, const struct series_pick *pick,
                 const struct series_visit *visit, struct error *e);

/* Asks which of the values that a metric's series have under a tagk are wanted.
 */
struct series_values_query {
    uint64_t metric;
    uint64_t tagk;
    /* Names all that the answers of 'take' depend on, so that answers to this
     * key can be remembered. */
    struct slice key;
    enum status (*take)(void *ctx, const uint64_t *tagvs, size_t len,
                        bool *takes);
    void *ctx; /* of 'take' */
    struct cancel cancel;
    struct arena *arena; /* of the result */
};

struct series_values {
    bool known;      /* false: the index does not tell, or 'take' failed */
    uint64_t *tagvs; /* the wanted ones, ascending */
    size_t len;
};
MUST_CHECK enum status series_values(struct series_directory *d,
                                     const struct series_values_query *q,
                                     struct series_values *out,
                                     struct error *e);

/* A payload of UID_EVENT_SERIES.  ST_CORRUPT: some of it was taken. */
MUST_CHECK enum status series_hear(struct series_directory *d,
                                   struct slice payload, struct error *e);
/* Events may have been missed: what is in memory is read anew before it is used
 * again. */
void series_missed(struct series_directory *d);

/* All series, and those of a metric, from memory; rollups count. */
uint64_t series_total(struct series_directory *d);
uint64_t series_total_of(struct series_directory *d, uint64_t metric);
