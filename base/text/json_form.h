/* How large a tree JSON text becomes, without making it: a parser that recurses
 * and allocates (Jansson) is asked for none that is too deep or too large.
 *
 * Threads: any; this is a function of its argument. */
#pragma once

#include "base/slice.h"

struct json_form {
    size_t depth;     /* most brackets open at once */
    size_t values;    /* at most so many, names included */
    size_t documents; /* objects and arrays that are within no other */
};

/* Of text that is no JSON, too. */
struct json_form json_form(struct slice text);
