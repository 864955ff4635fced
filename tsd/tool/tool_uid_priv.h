/* 'uid grep', which has a file of its own. */
#pragma once

#include "tsd/tool/tool.h"

/* Words behind 'grep': [KIND] REGEXP. */
int tool_uid_grep(struct tool *t);
/* "metrics a.b: [0, 0, 2]" */
void tool_uid_print(struct tool *t, enum uid_kind kind, struct slice name,
                    uint64_t id);
/* False: it said that there is no such kind. */
bool tool_uid_kind(struct tool *t, size_t word, enum uid_kind *out);
