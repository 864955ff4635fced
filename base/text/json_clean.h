/* JSON text that a parser rejects for its characters: bytes that are no UTF-8,
 * and escapes of half a surrogate pair.  Java replaces them by U+FFFD.
 *
 * Threads: any; this is a function of its arguments. */
#pragma once

#include "base/buf.h"

/* Appends the text with them replaced; false when there are none of them, or so
 * many that it grows by more than 1 MB. */
bool json_clean(struct slice text, struct buf *out);
