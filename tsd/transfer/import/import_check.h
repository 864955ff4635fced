/* What OpenTSDB's import checks of a line before anything is stored, and in
 * its words: the form of the line, its numbers and tags, and that times rise
 * within each series, however its tags are ordered.
 *
 *     import_check_line() -> store the line -> import_check_accept()
 *
 * Bounds:  some hundred bytes for each series that was accepted.
 * Threads: owner. */
#pragma once

#include "base/buf.h"
#include "base/slice.h"

struct import_check; /* opaque */

/* 'any_order': the times of a series need not rise. */
struct import_check *import_check_new(bool any_order);
void import_check_free(struct import_check **c);

/* False with a sentence in 'why'.  '*is_new' is true when no line of its series
 * was accepted yet: the names may still be invalid. */
bool import_check_line(struct import_check *c, struct slice line, bool *is_new,
                       struct buf *why);
/* The line that was checked last is stored. */
void import_check_accept(struct import_check *c);
