/* The answer of /api/query as JSON: a writer of its own, because it is hot.
 * Form and oddities are OpenTSDB's (docs/PROTOCOL.md, "Answers").
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include "base/buf.h"
#include "query/answer/chunks.h"
#include "tsd/api/query/group_notes.h"

/* A group, and what is written of it besides its tags and its points. */
struct group_json {
    const struct query *q;
    const struct result_group *group;
    struct uid_table *uids;           /* resolves the tag keys of "query" */
    struct notes notes, globals;      /* without a list: no member */
    const struct result_stats *stats; /* of its sub-query, if they are shown */
    const struct dps *before; /* columns leave out times that are those of
                                 'before', which may be NULL */
};

/* Writes {"metric":..,"tags":..,...,"dps":..}.  Returns how many points were
 * written.  'tags' (may be NULL): see query/answer/chunks.h. */
size_t query_json_group(struct buf *b, const struct group_json *j,
                        struct chunks_tags *tags);

/* What a sub-query cost, as members without braces. */
void query_json_costs(struct buf *b, const struct result_stats *st);

/* The same of each scan: members without braces, the last without a comma. */
void query_json_scans(struct buf *b, const struct result_stats *st);

/* A filter of either query endpoint. */
void query_json_filter(struct buf *b, struct slice tagk, struct slice text,
                       bool group_by, enum filter_type type);

/* The query as a whole, for /api/stats/query. */
void query_json_query(struct buf *b, const struct query *q,
                      struct uid_table *uids);
