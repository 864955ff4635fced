/* The tags of one point as text, as they came; a key comes once.
 *
 * Owns:    nothing; the slices are borrowed.
 * Bounds:  PUT_TAGS_MAX tags, one more than a series may have; those behind
 *          them are dropped, since the point is rejected.
 * Threads: owner. */
#pragma once

#include "base/buf.h"
#include "uid/series/series.h"

#define PUT_TAGS_MAX (TAG_SET_MAX + 1)

struct put_tags {
    struct tag tags[PUT_TAGS_MAX];
    size_t len;
};

/* Replaces the value of a key that is there. */
void put_tags_set(struct put_tags *t, struct slice key, struct slice value);

/* NULL when there is none. */
struct tag *put_tags_find(struct put_tags *t, struct slice key);

/* Adds "key=value"; false with a sentence when it is malformed or when the key
 * has another value already. */
bool put_tags_parse(struct put_tags *t, struct slice word, struct buf *why);

/* Into the order of OpenTSDB: see uid/series/tag_set.h. */
void put_tags_sort(struct put_tags *t);

/* "{host=a, dc=b}", sorted. */
void put_tags_print(const struct put_tags *t, struct buf *out);
