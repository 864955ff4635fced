/* What 'uid' has in files of their own. */
#pragma once

#include "tsd/tool/names/tool_names.h"

/* Words behind 'grep': [KIND] REGEXP. */
int tool_uid_grep(struct tool *t);
/* "metrics a.b: [0, 0, 2]" */
void tool_uid_print(struct tool *t, enum uid_kind kind, struct slice name,
                    uint64_t id);
/* False: it said that there is no such kind. */
bool tool_uid_kind(struct tool *t, size_t word, enum uid_kind *out);

/* 'fsck [fix] [delete_unknown]' */
int tool_uid_fsck(struct tool *t);
int tool_uid_metasync(struct tool *t);
int tool_uid_metapurge(struct tool *t);
int tool_uid_treesync(struct tool *t);
/* 'treepurge ID [true]' */
int tool_uid_treepurge(struct tool *t);
