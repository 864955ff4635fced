/* A picture of queries in words, PNG, as /q draws it (docs/PROTOCOL.md).
 *
 * Threads: as struct tool.
 * Fails:   ST_INVALID: an option of the picture, or a program without graphs;
 *          what the query fails with. */
#pragma once

#include "tsd/tool/points/query_words.h"
#include "tsd/tool/tool.h"

/* Writes it to the tool's 'out'. */
MUST_CHECK enum status tool_graph(struct tool *t, struct query_words *w,
                                  struct error *e);
