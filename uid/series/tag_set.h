/* The tags of one point, in the order in which OpenTSDB would go through them:
 * that of Java's HashMap.  It decides which of two new names gets the lower id
 * (and with it the order of groups in answers), and how texts print tags.
 *
 * Owns:    nothing; the tags are the caller's.
 * Threads: owner. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/slice.h"

/* A tag as text.  'data' is NULL where JSON had null: OpenTSDB's texts tell
 * that from an empty string. */
struct tag {
    struct slice key, value;
};

#define TAG_SET_MAX 64

struct tag_set {
    const struct tag *tags[TAG_SET_MAX]; /* in order */
    uint32_t hashes[TAG_SET_MAX];
    size_t len;
};

/* Equal tags count once; a key with two values is ST_INVALID "duplicate tag:
 * host=b, tags={host=a}".  Past TAG_SET_MAX tags ST_LIMIT, without a text. */
MUST_CHECK enum status tag_set_make(const struct tag *tags, size_t len,
                                    struct tag_set *out, struct error *e);

/* "{host=a, dc=x}", cut where a struct error ends anyway. */
void tag_set_print(const struct tag *const *tags, size_t len, struct buf *out);
