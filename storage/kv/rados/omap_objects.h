/* Which object holds a key: docs/FORMAT.md, "In a RADOS pool".  Without a key
 * layout (tests) all are in "x".
 *
 * The other way round, keys are cut into sections, ascending: a section is what
 * starts with some bytes, and the keys of its objects must be merged.  Rows of
 * a bucket are one, their windows are listed in w.<bucket>; a kind's names are
 * one; each other table is.
 *
 * Threads: any. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "storage/row/key.h"

#define OMAP_OBJECT_SIZE 32
#define OMAP_SHARDS      64

struct omap_map {
    bool has_layout;
    struct key_layout layout;
    uint32_t window_s; /* of rows that are in one object */
};

struct omap_object {
    char name[OMAP_OBJECT_SIZE];
    uint8_t skip;    /* bytes of a key that its omap's keys leave out */
    bool has_window; /* must be listed before its first key is written */
    unsigned bucket;
    uint32_t window;
};

/* ST_INVALID: a malformed key, or one of a table that is not known. */
MUST_CHECK enum status omap_object_of(const struct omap_map *m,
                                      struct slice key, struct omap_object *out,
                                      struct error *e);

struct omap_section {
    uint8_t prefix[3]; /* all its keys start with this, and no others */
    uint8_t prefix_size;
    uint8_t skip;     /* as above; of the prefix */
    bool has_windows; /* objects: omap_window_name() of those listed */
    unsigned bucket;
};

/* The first that may hold keys at or behind 'key'; false: there is none. */
bool omap_section_at(const struct omap_map *m, struct slice key,
                     struct omap_section *out);
/* The first key behind it, in 'out' (sizeof prefix bytes); size 0: none. */
size_t omap_section_end(const struct omap_section *s, uint8_t *out);
/* The name of its i-th object, or false when it has no more. */
bool omap_section_object(const struct omap_map *m, const struct omap_section *s,
                         size_t i, char name[OMAP_OBJECT_SIZE]);

void omap_window_name(unsigned bucket, uint32_t window,
                      char name[OMAP_OBJECT_SIZE]);
/* The object that lists a bucket's windows: omap keys as below, no values. */
void omap_windows_name(unsigned bucket, char name[OMAP_OBJECT_SIZE]);
#define OMAP_WINDOW_KEY 8
void omap_window_key(uint32_t window, char out[OMAP_WINDOW_KEY + 1]);
MUST_CHECK bool omap_window_parse(struct slice key, uint32_t *window);

/* The windows of the rows from 'from' up to 'end', without it; false where
 * these keys do not say so: they are not of one metric, or not of rows. */
MUST_CHECK bool omap_windows_between(const struct omap_map *m,
                                     struct slice from, struct slice end,
                                     uint32_t *first, uint32_t *last);

/* The smallest key at or behind 'key' that a window's object can have: 'out'
 * gets it (it may be beyond the section). */
void omap_window_seek(const struct omap_map *m, uint32_t window,
                      struct slice key, struct buf *out);
