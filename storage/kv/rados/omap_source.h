/* One object's keys, in pages: what an iterator merges (omap_iter.c).
 *
 *     ask -> take -> entries[at] ... at == len -> ask -> take ...
 *
 * Owns:    its pages; entries live until the next take, restart or fini.
 * Threads: owner. */
#pragma once

#include "base/buf.h"
#include "storage/kv/rados/omap_objects.h"
#include "storage/rados/ceph_op.h"

/* Keys in a page and pages asked for ahead: few after a seek, and more while
 * all that comes is read. */
#define OMAP_PAGE_FIRST 64
#define OMAP_AHEAD_MAX  16

/* How the sources of an iterator are read. */
struct omap_pages {
    struct ceph *c;
    struct buf end; /* the bound, a code without its end; size 0: none */
    unsigned page_size, ahead;
};

void omap_pages_init(struct omap_pages *p, struct ceph *c);
void omap_pages_fini(struct omap_pages *p);
/* Larger pages, and more of them ahead. */
void omap_pages_grow(struct omap_pages *p);

struct omap_entry {
    struct slice code, value; /* lent by the page's operation */
};

struct omap_source {
    char object[OMAP_OBJECT_SIZE];
    bool has_window;
    uint32_t window;
    /* The page at hand: all keys behind 'from', up to 'after' or, when it is
     * exhausted, to the bound.  Keys in front of 'at' are behind the reader. */
    struct ceph_op *page;
    struct omap_entry *entries;
    size_t len, at, cap;
    struct buf from;
    /* Keys that were not read are behind this code; 'asked' is their page. */
    struct buf after;
    bool exhausted; /* there are none */
    struct ceph_op *asked;
    /* Of the page that was asked for, only keys behind this are wanted. */
    bool seeking;
    struct buf sought;
};

void omap_source_fini(struct omap_source *s);

/* Asks for the page behind 'after'. */
void omap_source_ask(const struct omap_pages *p, struct omap_source *s);
/* Waits for the page that was asked for, and takes it.  After a failure it may
 * be asked for again. */
MUST_CHECK enum status omap_source_take(struct omap_pages *p,
                                        struct omap_source *s, struct error *e);

/* So that the next key is the first behind 'code': at once where that is
 * known. */
void omap_source_seek(struct omap_pages *p, struct omap_source *s,
                      struct slice code);
/* Forgets what was read: unread keys are behind 'after'. */
void omap_source_restart(struct omap_pages *p, struct omap_source *s,
                         struct slice after);

/* The code of the next key at hand, which there is. */
static inline struct slice
omap_source_head(const struct omap_source *s)
{
    return s->entries[s->at].code;
}

/* The code behind which its keys that are not at hand are. */
static inline struct slice
omap_source_unread(const struct omap_source *s)
{
    return buf_slice(s->seeking ? &s->sought : &s->after);
}

/* May it have keys, besides those at hand, in front of the bound? */
static inline bool
omap_source_is_needed(const struct omap_pages *p, const struct omap_source *s)
{
    return !s->exhausted &&
           (p->end.size == 0 ||
            slice_cmp(omap_source_unread(s), buf_slice(&p->end)) < 0);
}
