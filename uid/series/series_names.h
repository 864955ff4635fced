/* The names of many series together, before these are asked for one by one: by
 * few reads and writes of the engine they are in the cache of names, and new
 * ones have ids, in the order in which series_identify() would have given them.
 *
 *     series_names_new -> series_names_add ... -> series_names_resolve
 *
 * It rejects nothing, and says nothing of failures: series_identify() does.
 *
 * Owns:    copies of the names.
 * Threads: one at a time. */
#pragma once

#include "uid/series/series.h"

struct series_names; /* opaque */

/* 'rules' are lent until the end. */
struct series_names *series_names_new(struct series_directory *d,
                                      const struct series_rules *rules);
/* Adds those of one series, if they may make one. */
void series_names_add(struct series_names *n, const struct series_text *x);
/* Looks them up, gives ids to those that the rules let be created, and ends. */
void series_names_resolve(struct series_names **n);
