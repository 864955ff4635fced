/* The keys of a store as they are in another one, whose rows may have other
 * salt buckets: for copies (kv_copy()).  Widths of ids and hours of a row are
 * the same.
 *
 *     rows, quarantine     with the other store's salt
 *     tag-key sets         left out, and counted anew from the series
 *     number of batches    left out: the copy has no WAL
 *     names                as they are; from a store that other processes write
 *                          to meanwhile each name gives the entry of its id,
 *                          too, and no counter is behind
 *     all else             as it is
 *
 * Threads: owner. */
#pragma once

#include "storage/kv/kv.h"
#include "storage/row/key.h"

struct recode; /* opaque */

/* Engines that several processes share: of the copy, 'to_shared', a tag-key set
 * is counted in each salt bucket; the original, 'from_shared', is not read as
 * of one moment.  ST_INVALID when the layouts differ in more than salt. */
MUST_CHECK enum status recode_new(const struct key_layout *from,
                                  const struct key_layout *to, bool from_shared,
                                  bool to_shared, struct recode **out,
                                  struct error *e);
void recode_free(struct recode **r);

/* How kv_copy() is to put what it reads. */
struct kv_recode recode_rules(struct recode *r);
