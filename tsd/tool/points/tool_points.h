/* Tools that print stored points and series. */
#pragma once

#include "tsd/tool/tool.h"

tool_fn tool_query, tool_query_check;
tool_fn tool_scan, tool_scan_check;
tool_fn tool_search, tool_search_check;

struct query;
struct query_result;

/* A line on 'err' for each sub-query that needs what retention has dropped. */
void tool_warn_of_dropped(struct tool *t, const struct query *q,
                          const struct query_result *result);
