/*
 * From java.util.regex's syntax, which OpenTSDB's clients write, to PCRE2's.
 *
 * Threads: any; these are functions of their arguments.
 * Fails:   ST_INVALID for what Java does not take, and for classes nine deep.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/slice.h"

MUST_CHECK enum status regexp_translate(struct slice java, struct buf *out,
                                        struct error *e);

/* -- regexp_property.c: names of sets of characters ------------------------ */

/* How a name stands in a pattern. */
enum {
    REGEXP_IN_CLASS = 1,   /* within brackets */
    REGEXP_NEGATED = 2,    /* \P, \W */
    REGEXP_UNICODE = 4,    /* under (?U) */
    REGEXP_BOTH_CASES = 8, /* under (?i), which folds ASCII only */
};

/* Appends what \p{name} is. */
void regexp_put_property(struct buf *out, struct slice name, unsigned how);

/* Appends what (?U) makes of a set: "w", "Lower".  False: (?U) is off, or does
 * not change it.  In a class its complement is left as it is without (?U) where
 * several properties make it. */
bool regexp_put_unicode(struct buf *out, struct slice name, unsigned how);
