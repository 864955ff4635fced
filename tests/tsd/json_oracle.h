/* Jansson's opinion on a body for /api/put, against that of tsd/put/put_json.h.
 */
#pragma once

#include "base/slice.h"

/* Aborts when both take the body (without repeated names, which Jansson may be
 * told to reject) and read different points, or when ours rejects or takes what
 * Jansson's tree says should be taken or rejected.  True when they compared. */
bool json_oracle_check(struct slice body);
