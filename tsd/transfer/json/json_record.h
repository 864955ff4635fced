/* Records of annotations, metadata and trees as members of a JSON object: each
 * member of the struct by name, those that say nothing left out (false, 0, "",
 * no limit, no pairs; a null text is null).
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include "uid/meta/record.h"

struct json_t;

/* Into an object that is open. */
void json_record_put(struct buf *out, const struct record_format *format,
                     const void *record);

/* Sets every field of '*record'; other members of the object do not matter.
 * Texts lie in the arena.  ST_INVALID for a wrong type; ST_LIMIT. */
MUST_CHECK enum status json_record_read(const struct json_t *object,
                                        const struct record_format *format,
                                        struct arena *arena, void *record,
                                        struct error *e);

/* A text among an object's members, lent by it; '*out' has no data when there
 * is none. */
MUST_CHECK enum status json_text_member(const struct json_t *object,
                                        const char *name, struct slice *out,
                                        struct error *e);
/* A whole number; 0 when there is none. */
MUST_CHECK enum status json_whole_member(const struct json_t *object,
                                         const char *name, int64_t *out,
                                         struct error *e);
