/* What the files of the check share.
 *
 *     uid_fsck.c         the order of things; repairing; ids
 *     uid_fsck_names.c   the UID table
 *     uid_fsck_series.c  kinds, the directory, tag-key sets; which series there
 *                        are
 *     uid_fsck_rows.c    rows and histograms
 *     uid_fsck_weeks.c   weeks, held against the rows
 *     uid_fsck_notes.c   annotations, metadata, trees, and the small tables
 *
 * Threads: owner. */
#pragma once

#include <stdio.h>

#include "base/arena.h"
#include "base/numbers.h"
#include "base/process/log.h"
#include "uid/fsck/uid_fsck.h"
#include "uid/names/uid.h"
#include "uid/series/tagk_sets.h"

/* What check_names() knows of the kind that it is at. */
struct names {
    enum uid_kind kind;
    unsigned width;
    uint64_t counter;
};

struct tables {
    struct check *c;
    struct store *store;
    struct kv *kv;
    const struct key_layout *layout;
    uint64_t seed;
    struct check_counts n;
    struct arena *arena; /* of one entry */
    struct names names;
    struct numbers ids[UID_KINDS_ALL];     /* in use; deleted ones, too */
    struct numbers deleted[UID_KINDS_ALL]; /* of these */
    uint64_t highest[UID_KINDS_ALL];
    struct tagk_sets *tagk_sets; /* counted from the directory */
    uint64_t wrong_sets;         /* entries that differ from these */
    bool directory_changes;      /* series are entered, or dropped */
    /* The hashes of TSUIDs: the first SERIES_MAX of the directory. */
    struct numbers series;
    struct points points;
    uint64_t expired; /* rows before the cuts of their metrics */
    uint64_t orphans; /* rows and others of deleted names, if no findings */
    /* Repairing. */
    struct kv_batch *batch;
    size_t batch_bytes;
    FILE *aside;              /* opened for the first entry; or NULL */
    struct error aside_error; /* of opening it */
};

static inline bool
check_repairs(const struct tables *t)
{
    return t->c->aside != NULL;
}

/* Steps of check_tables() that take more than one look at each entry. */
MUST_CHECK enum status check_names(struct tables *t, struct error *e);
MUST_CHECK enum status check_tagk_sets(struct tables *t, struct error *e);
MUST_CHECK enum status check_weeks(struct tables *t, struct error *e);

/* One entry, its key and its value.  Only what cannot be looked at fails. */
typedef enum status check_entry_fn(struct tables *t, struct slice key,
                                   struct slice value, struct error *e);
check_entry_fn check_series, check_row, check_histogram, check_annotation,
    check_meta, check_tree, check_batches, check_cut, check_quarantined;

/* -- what they use --------------------------------------------------------- */

/* Calls f for every entry whose key begins with 'prefix'. */
MUST_CHECK enum status check_each(struct tables *t, struct slice prefix,
                                  check_entry_fn *f, struct error *e);

/* Write an entry, and move one aside; nothing when only looking. */
void check_puts(struct tables *t, struct slice key, struct slice value);
void check_drops(struct tables *t, struct slice key, struct slice value);
/* An entry that is of no use. */
#define check_drops_bad(t, code, key, value, ...) \
    (check_drops(t, key, value),                  \
     check_found((t)->c, code, key, "moved aside", __VA_ARGS__))
/* The same for bytes that 'why' says do not decode, if that is ST_CORRUPT.
 * Returns other failures. */
MUST_CHECK enum status check_undecoded(struct tables *t, const char *code,
                                       struct slice key, struct slice value,
                                       const struct error *why,
                                       struct error *e);

/* Writes the highest id that was given out. */
void check_puts_counter(struct tables *t, enum uid_kind kind, uint64_t highest);

/* Is every id of the TSUID in use?  One that may have lost its name is a
 * finding of its own, and gets another name; else '*what' says what is wrong.
 */
bool check_ids(struct tables *t, struct slice tsuid, char what[64]);

/* A row, histogram or annotation of a series of which a name was deleted: a
 * finding if that is wanted.  True: it was moved aside. */
bool check_orphan(struct tables *t, const char *code, struct slice key,
                  struct slice value, struct slice tsuid);
/* What such a series has beside these; true: it was moved aside. */
bool check_drops_orphan(struct tables *t, struct slice key, struct slice value,
                        struct slice tsuid);
/* Has the metric no name any more, and what it has is to go? */
bool check_drops_metric(const struct tables *t, uint64_t metric);

/* Is the series in the directory? */
MUST_CHECK enum status check_has_series(struct tables *t, struct slice tsuid,
                                        bool *out, struct error *e);
/* Is it older than the metric's points are kept? */
bool check_is_expired(struct tables *t, struct slice tsuid, uint32_t base);
/* Enters a series which has a row or a histogram, but no entry. */
void check_enter_series(struct tables *t, struct slice tsuid,
                        uint32_t created_s);

/* "sys.load{host=a}", as far as its names are known. */
#define CHECK_TEXT_MAX 400
const char *check_describe(struct tables *t, struct slice tsuid,
                           char out[CHECK_TEXT_MAX]);
