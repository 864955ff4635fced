/* Which tools there are; tsd/main.c has them too, among all commands.
 *
 * Threads: any. */
#pragma once

#include "tsd/tool/tool.h"

/* NULL: there is none. */
const struct tool_command *tool_command_find(const char *name);
/* All of them, by name; a NULL name ends the table. */
extern const struct tool_command tool_commands[];
