/* The answer of /api/query as JSON: a writer of its own, because it is hot.
 * Form and oddities are OpenTSDB's (docs/PROTOCOL.md, "Answers").
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include "base/buf.h"
#include "query/answer/chunks.h"
#include "uid/meta/annotation.h"

/* Notes of one group, or of the whole query. */
struct notes {
    const struct annotation *list;
    size_t len;
    bool always; /* written even if there are none */
};

/* One group: {"metric":..,"tags":..,...,"dps":..}.  A NULL list writes no
 * member.  'uids' resolves the tag keys of "query"; returns how many points
 * were written.  'tags' (may be NULL): see query/answer/chunks.h.  'before'
 * (may be NULL): the points of the group before, whose times columns may share.
 */
size_t query_json_group(struct buf *b, const struct query *q,
                        const struct result_group *g, struct chunks_tags *tags,
                        const struct notes *annotations,
                        const struct notes *globals,
                        const struct result_stats *stats,
                        const struct dps *before, struct uid_table *uids);

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
