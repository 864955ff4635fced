/*
 * From java.util.regex's syntax, which OpenTSDB's clients write, to PCRE2's.
 *
 * Threads: any; this is a function of its arguments.
 * Fails:   ST_INVALID for what Java does not take, and for classes nine deep.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/slice.h"

MUST_CHECK enum status regexp_translate(struct slice java, struct buf *out,
                                        struct error *e);
