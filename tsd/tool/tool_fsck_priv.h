/* What 'fsck' and 'uid fsck' share. */
#pragma once

#include "storage/fsck/fsck.h"
#include "tsd/tool/tool.h"

/* "row-block 0000..: damaged", on 'err'; 'ctx' is the tool. */
void tool_fsck_say(struct tool *t, const struct finding *f);

/* Where a repair puts what it takes out: to be free()d.  NULL with a line on
 * 'err' where it may not repair, as a server uses the store. */
char *tool_fsck_aside(struct tool *t);
