/* Grouping: the fetched series of a sub-query into groups, and the tags that a
 * group's series agree on.
 *
 * Groups come in the order of the ids of the tagvs that they are grouped by;
 * 'none' makes a group of each series.
 *
 * Threads: one at a time; of a group, each one of its own. */
#pragma once

#include "query/downsample/reading.h"
#include "query/fetch/fetch.h"
#include "query/plan/plan.h"
#include "uid/names/uid.h"

/* Series first .. first + len - 1 of 'order' make one group; after them come
 * those that give it nothing but their notes. */
struct group {
    size_t first, len, annotated_only;
    struct slice key; /* see struct result_group */
};

struct grouping {
    const struct fetched **order; /* by group, ascending by TSUID within */
    size_t order_len;
    struct group *groups;
    size_t groups_len;
    size_t nameless; /* series left out since a name of theirs was deleted */
};

/* Series of which a name was deleted are left out of all groups. */
MUST_CHECK enum status group_series(const struct plan_context *c,
                                    const struct plan *p, bool each_alone,
                                    const struct fetch *f, struct arena *a,
                                    struct grouping *out, struct error *e);

/* Leaves those series out of a group that aggregate_group() would not take, but
 * for their notes. A group of none is left: it is answered without metric, tags
 * and points. */
void drop_series_out_of_range(const struct query_reading *r,
                              const struct fetch *f, const struct grouping *g,
                              struct group *group);

/* The names of ids, as one query meets them again and again: each is looked up
 * once, without a lock or a copy from then on.  They lie in the arena; one
 * thread alone may use them. */
struct names {
    struct uid_table *uids;
    struct arena *arena;
    struct name *slots; /* a hash table */
    size_t len, cap;    /* 'cap' is a power of two */
};

void names_init(struct names *n, struct uid_table *uids, struct arena *a);

/* As uid_name(), in the arena. */
MUST_CHECK enum status names_get(struct names *n, enum uid_kind kind,
                                 uint64_t id, struct slice *out,
                                 struct error *e);

/* Fills names, tags, aggregate tags and TSUIDs of '*out' (not its dps); TSUIDs
 * are the fetch's, or copies. */
MUST_CHECK enum status
group_describe(const struct key_layout *layout, struct names *names,
               const struct grouping *g, size_t i, bool copies, struct arena *a,
               struct result_group *out, struct error *e);
