/* A tool that runs at a server.
 *
 * Threads: the client's owner. */
#pragma once

#include "tsd/client/client.h"
#include "tsd/tool/tool.h"

/* Runs the words there; what the tool prints goes to the sinks of 't' as it
 * comes.  Returns the exit status. */
int tool_remote_run(struct client *server, struct tool *t,
                    const char *const *words, size_t len,
                    const char *zone_name);
