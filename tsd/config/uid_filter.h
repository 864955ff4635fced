/* Which names may get an id: tsd.uidfilter.*, as OpenTSDB's
 * UniqueIdWhitelistFilter has it. Each kind of names (metrics, tag keys, tag
 * values) may have a list of regular expressions. A new name gets an id only if
 * each expression of its list is found in it; names that have an id keep it.
 *
 * Threads: frozen; uid_filter_allows(): any. */
#pragma once

#include "tsd/config/settings.h"
#include "uid/names/uid.h"

struct uid_filter; /* opaque */

/* '*out' is NULL if tsd.uidfilter.enable is off. ST_INVALID: another plugin is
 * asked for, or an expression is not valid. */
MUST_CHECK enum status uid_filter_open(const struct settings *s,
                                       struct uid_filter **out,
                                       struct error *e);
void uid_filter_free(struct uid_filter **f);

/* A uid_allow_fn; 'ctx' is a struct uid_filter. */
bool uid_filter_allows(void *ctx, enum uid_kind kind, struct slice name);
