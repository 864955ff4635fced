/* 'fsck' with OpenTSDB's options, and what 'uid fsck' shares with it. */
#pragma once

#include "tsd/tool/fsck_report.h"
#include "tsd/tool/tool.h"

tool_fn tool_fsck, tool_fsck_check;

/* A report whose lines go to 'err' of the tool. */
struct fsck_report tool_fsck_report(struct tool *t);

/* Where a repair puts what it takes out: to be free()d.  NULL with a line on
 * 'err' where it may not repair, as a server uses the store. */
char *tool_fsck_aside(struct tool *t);
