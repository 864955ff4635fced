/* Blocks of lines that a client's 'import' sends to a server.
 *
 * Threads: any. */
#pragma once

#include "tsd/api/api.h"

/* Begins the message of a 503 that means: send the same again. */
#define IMPORT_THROTTLED "Please throttle writes"

/* /api/tool/import: whoever calls it has checked that the client may. */
void api_tool_import(const struct api *a, const struct http_request *r,
                     struct http_reply *out);
