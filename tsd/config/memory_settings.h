/* The defaults of the settings that bound memory follow what the process may
 * use (base/process/memory.h): on a machine with 8 GB they are those of
 * settings.def, with less memory each is a fixed share of it.
 *
 * Threads: as the settings. */
#pragma once

#include "tsd/config/settings.h"

/* Lowers the defaults for a process that may use 'limit' bytes.  What was given
 * stays as it is. */
void memory_settings_fit(struct settings *s, uint64_t limit);

/* How many connections there is memory for; SIZE_MAX: any number. */
size_t memory_settings_connections(uint64_t limit);

/* Tells the log how much memory there is and what may take it, and warns if
 * what was given is more than there is. */
void memory_settings_report(const struct settings *s, uint64_t limit);
