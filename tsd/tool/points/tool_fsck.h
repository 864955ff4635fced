/* OpenTSDB's 'fsck', and what 'uid fsck' shares with it. */
#pragma once

#include "storage/fsck/fsck.h"
#include "tsd/tool/tool.h"

tool_fn tool_fsck, tool_fsck_check;

/* "row-block 0000..: damaged", on 'err'; 'ctx' is the tool. */
void tool_fsck_say(struct tool *t, const struct finding *f);

/* Where a repair puts what it takes out: to be free()d.  NULL with a line on
 * 'err' where it may not repair, as a server uses the store. */
char *tool_fsck_aside(struct tool *t);
