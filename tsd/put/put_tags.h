/*
 * The tags of one point as text, in the order in which a Java HashMap would
 * walk through them: OpenTSDB validates tags in that order and prints them so
 * in messages, and the first new name gets the lower id.
 *
 * Owns:    nothing; the slices are borrowed.
 * Bounds:  PUT_TAGS_MAX tags; more are counted, not kept.
 * Threads: owner.
 */
#ifndef TSD_PUT_PUT_TAGS_H
#define TSD_PUT_PUT_TAGS_H

#include "base/buf.h"
#include "uid/series/series.h"

#define PUT_TAGS_MAX 64

struct put_tag {
    struct slice key, value; /* UTF-8 */
    bool null;               /* JSON's null as the value */
    uint32_t hash;
};

struct put_tags {
    struct put_tag tags[PUT_TAGS_MAX]; /* as they came */
    size_t len;
    size_t more; /* did not fit */
};

/* NULL when there is none. */
struct put_tag *put_tags_find(struct put_tags *t, struct slice key);

/* The key must not be there yet. */
void put_tags_add(struct put_tags *t, struct slice key, struct slice value,
                  bool null);

/* Adds "key=value"; false with a sentence when it is malformed or when the key
 * has another value already. */
bool put_tags_parse(struct put_tags *t, struct slice word, struct buf *why);

/* Indices into 'tags', in a HashMap's order. */
void put_tags_order(const struct put_tags *t, uint8_t order[PUT_TAGS_MAX]);

/* "{host=a, dc=b}" */
void put_tags_print(const struct put_tags *t, struct buf *out);

#endif
