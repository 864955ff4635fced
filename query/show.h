/*
 * A sub-query as JSON, as answers repeat it when they are asked to show it
 * (showQuery): what OpenTSDB writes, member by member.
 *
 * Threads: any; these are functions of their arguments.
 */
#ifndef QUERY_SHOW_H
#define QUERY_SHOW_H

#include "base/buf.h"
#include "query/query.h"

/* Appends the object.  'tagk_uids' are the ids of the filters' tag keys, sorted
 * and each once, which only who planned the query knows; 'rollup_table' is
 * "raw" where rollups are not used. */
void query_show_sub(struct buf *out, const struct sub_query *s,
                    const struct slice *tagk_uids, size_t tagk_uids_len,
                    const char *rollup_table);

#endif
