/*
 * What the files of the check share.
 *
 *     check.c          the order of things; repairing
 *     check_names.c    the UID table
 *     check_series.c   the directory, tag-key sets and kinds; which series
 * there are check_rows.c     rows and histograms check_notes.c    annotations,
 * metadata, trees, and what is in no table
 *
 * Threads: owner.
 */
#ifndef UID_FSCK_UID_FSCK_PRIV_H
#define UID_FSCK_UID_FSCK_PRIV_H

#include <stdio.h>

#include "base/arena.h"
#include "base/log.h"
#include "uid/fsck/uid_fsck.h"
#include "uid/series/tagk_sets.h"
#include "uid/names/uid.h"

/* Ids in use, as ranges: they ascend mostly without gaps. */
struct id_range {
    uint64_t from, to; /* both included */
};
struct id_ranges {
    struct id_range *ranges;
    size_t len, cap;
};

/* TSUIDs, by hash; or, past the bound, none. */
struct tsuid_set {
    uint64_t *slots; /* 0: free */
    size_t slots_len, len;
    uint64_t seed;
    bool is_full;
};

struct tables {
    struct check *c;
    struct store *store;
    struct kv *kv;
    const struct key_layout *layout;
    struct check_counts n;
    struct arena *arena; /* of one entry */
    struct id_ranges ids[UID_KINDS];
    struct id_ranges kinds;
    uint64_t highest[UID_KINDS];
    struct tagk_sets *tagk_sets;
    struct tsuid_set series;
    struct points points;
    /* Repairing. */
    struct kv_batch *batch;
    size_t batch_bytes;
    FILE *aside;
};

/* Each of these is one step of check_tables(). */
MUST_CHECK enum status check_names(struct tables *t, struct error *e);
MUST_CHECK enum status check_kinds(struct tables *t, struct error *e);
MUST_CHECK enum status check_series(struct tables *t, struct error *e);
MUST_CHECK enum status check_rows(struct tables *t, struct error *e);
MUST_CHECK enum status check_histograms(struct tables *t, struct error *e);
MUST_CHECK enum status check_notes(struct tables *t, struct error *e);

/* -- what they use --------------------------------------------------------- */

typedef enum status check_entry_fn(struct tables *t, struct slice key,
                                   struct slice value, struct error *e);

/* Calls f for every entry whose key begins with 'prefix'. */
MUST_CHECK enum status check_each(struct tables *t, struct slice prefix,
                                  check_entry_fn *f, struct error *e);

/* A finding about a key.  check_puts() and check_drops() come before, if it is
 * repaired. */
void check_says(struct tables *t, const char *code, struct slice key,
                const char *repaired, const char *fmt, ...) PRINTF_LIKE(5, 6);
bool check_repairs(const struct tables *t);
/* Writes an entry; when repairing only.  False: it could not, the batch says.
 */
void check_puts(struct tables *t, struct slice key, struct slice value);
/* Moves an entry aside. */
void check_drops(struct tables *t, struct slice key, struct slice value);
/* The finding for an entry that is of no use, moved aside when repairing. */
void check_drops_bad(struct tables *t, const char *code, struct slice key,
                     struct slice value, const char *fmt, ...)
    PRINTF_LIKE(5, 6);

/* ST_NOT_FOUND.  Repairs are seen once their batch is written. */
MUST_CHECK enum status check_get(struct tables *t, struct slice key,
                                 struct buf *out, struct error *e);

/* Ids are added in ascending order. */
void id_ranges_add(struct id_ranges *r, uint64_t id);
/* In any order, which takes longer. */
void id_ranges_insert(struct id_ranges *r, uint64_t id);
bool id_ranges_have(const struct id_ranges *r, uint64_t id);

/* Is every id of the TSUID in use?  One that may have lost its name is a
 * finding of its own, and gets another name; else '*what' says what is wrong.
 */
bool check_ids(struct tables *t, struct slice tsuid, char what[64]);

/* Writes what was repaired so far, if that is much, or 'all' of it. */
MUST_CHECK enum status check_flush(struct tables *t, bool all, struct error *e);

/* Is the series in the directory? */
MUST_CHECK enum status check_has_series(struct tables *t, struct slice tsuid,
                                        bool *out, struct error *e);
/* From now on it is. */
void check_add_series(struct tables *t, struct slice tsuid);
/* Enters a series which has a row or a histogram, but no entry. */
MUST_CHECK enum status check_enter_series(struct tables *t, struct slice tsuid,
                                          uint32_t created_s, struct error *e);

/* "sys.load{host=a}", as far as its names are known. */
#define CHECK_TEXT_MAX 400
const char *check_describe(struct tables *t, struct slice tsuid,
                           char out[CHECK_TEXT_MAX]);

#endif
