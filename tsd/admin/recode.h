/* The keys of a store as they are in another one, whose rows may have other
 * salt buckets: for copies (kv_copy()).  Widths of ids and hours of a row are
 * the same.
 *
 *     rows, quarantine     with the other store's salt
 *     tag-key sets         left out, and counted again from the series, since
 *                          their keys have salts
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

/* With 'from_shared', several processes share the engine of the original, so
 * that its keys are not read as of one point in time.  Fails with ST_INVALID if
 * the layouts differ in more than the salt. */
MUST_CHECK enum status recode_new(const struct key_layout *from,
                                  const struct key_layout *to, bool from_shared,
                                  struct recode **out, struct error *e);
void recode_free(struct recode **r);

/* How kv_copy() is to put what it reads. */
struct kv_recode recode_rules(struct recode *r);
