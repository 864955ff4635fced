/* Fuzzy masks: one key of fixed-width fields, each of which is given, free, in
 * a range or in a set.  Two operations: does this key match, and what is the
 * smallest key from here on that could (the seek hint).
 *
 * From HBase's FuzzyRowFilter, which knew only "given" and "free"; ranges and
 * sets make the time range and value lists part of the mask, so that one pass
 * with hints reads nothing that the mask excludes.
 *
 * A mask set holds the masks of several key sizes (one per tag-key set) over
 * one pass: a key matches when one of them matches; the hint is the smallest
 * hint.
 *
 * Owns:    what its builder was given is copied.  Masks in an arena are sized
 * by clients: what finds no room there makes the set fail, for which its maker
 * asks once, at the end. Threads: frozen once built. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/error.h"

struct mask;     /* opaque */
struct mask_set; /* opaque */

/* Fields are added from left to right; the key's size is their sum. */
struct mask *mask_new(void);
struct mask *mask_new_in(struct arena *a); /* NULL: there is no room */
void mask_free(struct mask **m);

void mask_add_fixed(struct mask *m, struct slice bytes);
void mask_add_any(struct mask *m, size_t width);
/* Big-endian numbers v with lo <= v <= hi and (v - lo) % step == 0 (base times
 * step by the span of a row); width <= 8, step >= 1. */
void mask_add_steps(struct mask *m, uint64_t lo, uint64_t hi, uint64_t step,
                    unsigned width);
/* One of 'len' numbers of 'width' bytes, 8 at the most, in any order.  An empty
 * set matches nothing. */
void mask_add_set(struct mask *m, const uint64_t *numbers, size_t len,
                  unsigned width);

/* Appends a field that is one of 'len' numbers. The numbers ascend, no two are
 * equal, and they are not copied: they must outlive the mask. */
void mask_lend_set(struct mask *m, const uint64_t *numbers, size_t len,
                   unsigned width);

bool mask_match(const struct mask *m, struct slice key);

/* Writes the smallest key >= 'key' that matches to 'out'; its size, or 0 when
 * there is none.  When 'key' matches, 'out' equals it.  A 'key' may have any
 * size. */
size_t mask_hint(const struct mask *m, struct slice key, uint8_t *out);

struct mask_set *mask_set_new(void);
struct mask_set *mask_set_new_in(struct arena *a); /* NULL: there is no room */
/* Did one of its masks, or the set, find no room in the arena? */
bool mask_set_failed(const struct mask_set *s);
/* Takes '*m' over and sets it to NULL; a NULL makes the set fail. */
void mask_set_give(struct mask_set *s, struct mask **m);
void mask_set_free(struct mask_set **s);
bool mask_set_match(const struct mask_set *s, struct slice key);
/* The same for the set; 'out' has ROW_KEY_MAX bytes. */
size_t mask_set_hint(const struct mask_set *s, struct slice key, uint8_t *out);

/* As bytes, for another process: appends them; reads them, NULL when they are
 * malformed or would take more masks than '*left', which it makes less; then
 * the cursor has failed. */
void mask_set_write(const struct mask_set *s, struct buf *out);
struct mask_set *mask_set_read(struct cursor *c, size_t *left);
