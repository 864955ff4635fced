/* One section of keys after the other (omap_objects.h), and in each the objects
 * merged.
 *
 * An object's keys come in pages.  Of each object it is known behind which code
 * its unread keys are; a page is waited for only when no other object has a key
 * at or in front of that.  So objects whose keys are all behind the bound are
 * never read, and of a metric's windows one is read after the other.  What will
 * be needed next is asked for ahead.
 *
 * Where seek and bound leave few windows these are named by their times: the
 * list of a bucket's windows is a round trip, and an object that is not there
 * has no keys. */
#include "storage/kv/rados/kv_rados_priv.h"

#include <stdlib.h>

#include "base/mem.h"
#include "storage/kv/rados/omap_code.h"
#include "storage/kv/rados/omap_source.h"

#define WINDOWS_NAMED 4

/* Those of which an iterator has the objects: all, or few. */
struct windows {
    uint32_t first, last;
};

static const struct windows all_windows = { 0, UINT32_MAX };

struct omap_iter {
    struct kv_iter it;
    struct omap_pages pages;
    const struct omap_map *map;
    struct buf wanted; /* its prefix */
    struct buf key;    /* lent */
    bool in_section;
    struct omap_section section;
    struct windows windows;
    struct omap_source *sources;
    size_t len, cap;
    struct omap_source *standing; /* whose entry it stands on */
    /* Up to here that source alone has keys. */
    bool has_limit;
    struct slice limit;
    struct buf at, code; /* for seeks */
};

static struct omap_iter *
iter_of(struct kv_iter *it)
{
    return (struct omap_iter *)it;
}

/* -- sections -------------------------------------------------------------- */

static void
drop_sources(struct omap_iter *i)
{
    for (size_t k = 0; k < i->len; k++)
        omap_source_fini(&i->sources[k]);
    i->len = 0;
    i->standing = NULL;
    i->in_section = false;
}

static struct omap_source *
add_source(struct omap_iter *i)
{
    struct omap_source *s;

    i->sources = mem_grow(i->sources, i->len, &i->cap, sizeof *i->sources);
    s = &i->sources[i->len++];
    *s = (struct omap_source){ .object = "" };
    return s;
}

static void
add_window(struct omap_iter *i, uint32_t window)
{
    struct omap_source *s = add_source(i);

    s->has_window = true;
    s->window = window;
    omap_window_name(i->section.bucket, window, s->object);
}

static enum status
add_listed(void *ctx, struct slice key, struct slice value, struct error *e)
{
    struct omap_iter *i = ctx;
    uint32_t window;

    (void)value;
    if (!omap_window_parse(key, &window))
        return error_set(e, ST_CORRUPT,
                         "the windows of bucket %u: \"%.*s\" is none",
                         i->section.bucket, SLICE_ARG(key));
    add_window(i, window);
    return ST_OK;
}

static bool
has_windows(const struct omap_iter *i, struct windows w)
{
    return w.first >= i->windows.first && w.last <= i->windows.last;
}

static enum status
enter_section(struct omap_iter *i, const struct omap_section *section,
              struct windows windows, struct error *e)
{
    const struct omap_section before = i->section;
    char name[OMAP_OBJECT_SIZE];
    enum status st;

    drop_sources(i);
    i->section = *section;
    i->windows = windows;
    if (section->has_windows && windows.last < UINT32_MAX) {
        for (uint64_t w = windows.first; w <= windows.last;
             w += i->map->window_s)
            add_window(i, (uint32_t)w);
    } else if (section->has_windows) {
        omap_windows_name(section->bucket, name);
        st = ceph_each_omap(i->pages.c, name, add_listed, i, e);
        if (st != ST_OK) {
            drop_sources(i);
            i->section = before; /* what comes behind it is tried again */
            return st;
        }
    } else {
        for (size_t k = 0; omap_section_object(i->map, section, k, name); k++)
            memcpy(add_source(i)->object, name, sizeof name);
    }
    i->in_section = true;
    return ST_OK;
}

/* The code behind which the source's keys at or behind 'key' are, in i->code;
 * false: it has none, and the code is behind all of its keys. */
static bool
find_code(struct omap_iter *i, const struct omap_source *s, struct slice key)
{
    struct slice prefix = slice_of(i->section.prefix, i->section.skip);

    if (s->has_window) {
        omap_window_seek(i->map, s->window, key, &i->at);
        key = buf_slice(&i->at);
    }
    buf_clear(&i->code);
    if (!slice_starts(key, prefix)) {
        buf_make_room(&i->code, ROW_KEY_MAX);
        memset(i->code.data, 0xff, ROW_KEY_MAX);
        i->code.size = ROW_KEY_MAX;
        return false;
    }
    omap_encode(&i->code,
                slice_of(key.data + prefix.size, key.size - prefix.size));
    return true;
}

/* -- moving ---------------------------------------------------------------- */

/* The source that may have the next key that was not read; NULL: none. */
static struct omap_source *
next_unread(struct omap_iter *i, bool also_asked)
{
    struct omap_source *first = NULL;

    for (size_t k = 0; k < i->len; k++) {
        struct omap_source *s = &i->sources[k];

        if (s->at < s->len || (s->asked != NULL && !also_asked) ||
            !omap_source_is_needed(&i->pages, s))
            continue;
        if (first == NULL ||
            slice_cmp(omap_source_unread(s), omap_source_unread(first)) < 0)
            first = s;
    }
    return first;
}

/* 'first' must come; so must those whose keys may be in front of its, and of
 * others as many as are worth it. */
static void
ask_ahead(struct omap_iter *i, struct omap_source *first)
{
    size_t asked = 0;
    struct omap_source *s = first;

    if (first->asked == NULL)
        omap_source_ask(&i->pages, first);
    for (size_t k = 0; k < i->len; k++)
        asked += i->sources[k].asked != NULL;
    while (asked++ < OMAP_AHEAD_MAX && (s = next_unread(i, false)) != NULL) {
        if (asked > i->pages.ahead &&
            slice_cmp(omap_source_unread(s), omap_source_unread(first)) > 0)
            break;
        omap_source_ask(&i->pages, s);
    }
}

/* The source with the next key of those at hand; NULL: none. */
static struct omap_source *
next_at_hand(struct omap_iter *i)
{
    struct omap_source *first = NULL;

    for (size_t k = 0; k < i->len; k++) {
        struct omap_source *s = &i->sources[k];

        if (s->at < s->len &&
            (first == NULL ||
             slice_cmp(omap_source_head(s), omap_source_head(first)) < 0))
            first = s;
    }
    return first;
}

/* The source with the section's next key, in '*out'; NULL: it has none. */
static enum status
merge(struct omap_iter *i, struct omap_source **out, struct error *e)
{
    enum status st = ST_OK;

    while (st == ST_OK) {
        struct omap_source *s = next_unread(i, true);

        *out = next_at_hand(i);
        if (s == NULL ||
            (*out != NULL &&
             slice_cmp(omap_source_unread(s), omap_source_head(*out)) >= 0))
            break;
        ask_ahead(i, s);
        st = omap_source_take(&i->pages, s, e);
    }
    if (st == ST_OK && *out != NULL) {
        /* The limit is the first key that another source has or may have: up to
         * it all keys are from this source. */
        i->has_limit = false;
        for (size_t k = 0; k < i->len; k++) {
            const struct omap_source *other = &i->sources[k];
            struct slice code;

            if (other == *out || (other->at == other->len &&
                                  !omap_source_is_needed(&i->pages, other)))
                continue;
            code = other->at < other->len ? omap_source_head(other)
                                          : omap_source_unread(other);
            if (!i->has_limit || slice_cmp(code, i->limit) < 0)
                i->limit = code;
            i->has_limit = true;
        }
    }
    return st;
}

static void
stand_on(struct omap_iter *i, struct omap_source *s)
{
    const struct omap_entry *x = &s->entries[s->at];

    i->standing = s;
    buf_clear(&i->key);
    buf_put(&i->key, i->section.prefix, i->section.skip);
    if (!omap_decode_key(&i->key, x->code)) {
        (void)error_set(&i->it.error, ST_CORRUPT,
                        "object %s: a key of %zu bytes is no code of a key",
                        s->object, x->code.size);
        return;
    }
    i->it.key = buf_slice(&i->key);
    i->it.value = omap_decode_value(x->value);
    i->it.valid = true;
    if (s->asked == NULL && omap_source_is_needed(&i->pages, s) &&
        (i->pages.page_size > OMAP_PAGE_FIRST || 2 * s->at >= s->len)) {
        omap_pages_grow(&i->pages);
        omap_source_ask(&i->pages, s);
    }
}

/* Is there anything of the section that is wanted? */
static bool
is_wanted(const struct omap_iter *i, const struct omap_section *section)
{
    struct slice prefix = slice_of(section->prefix, section->prefix_size);
    struct slice wanted = buf_slice(&i->wanted);

    return (slice_starts(prefix, wanted) || slice_starts(wanted, prefix)) &&
           (i->it.end.data == NULL || slice_cmp(prefix, i->it.end) < 0);
}

/* Enters the section that may have keys at or behind 'key', if it is another
 * one, or has windows that are not there yet; false: there is none, or it
 * failed. */
static bool
go_to_section(struct omap_iter *i, struct slice key)
{
    struct omap_section section;
    struct windows windows;
    struct error e = { 0 };
    struct windows w;

    /* Those that a seek to this key needs. */
    if (i->it.end.data == NULL ||
        !omap_windows_between(i->map, key, i->it.end, &w.first, &w.last) ||
        (w.last - w.first) / i->map->window_s >= WINDOWS_NAMED)
        windows = all_windows;
    else
        windows = w;
    if (!omap_section_at(i->map, key, &section) || !is_wanted(i, &section))
        return false;
    if (i->in_section && section.prefix_size == i->section.prefix_size &&
        memcmp(section.prefix, i->section.prefix, section.prefix_size) == 0 &&
        has_windows(i, windows))
        return true;
    if (enter_section(i, &section, windows, &e) != ST_OK)
        i->it.error = e;
    return i->it.error.status == ST_OK;
}

/* All sources at the first key at or behind this. */
static void
seek_section(struct omap_iter *i, struct slice key)
{
    struct buf end = BUF_INIT;
    bool moved;
    struct slice prefix = slice_of(i->section.prefix, i->section.prefix_size);
    uint8_t bytes[sizeof i->section.prefix];
    struct slice bound;

    /* The bound within the section: the iterator's, where its prefix ends, or
     * where the section does, whose objects may hold others, too. */
    omap_copy_code(&i->at, buf_slice(&i->wanted));
    while (i->at.size > 0 && ++i->at.data[i->at.size - 1] == 0)
        i->at.size--;
    bound = buf_slice(&i->at);
    if (i->it.end.data != NULL &&
        (bound.size == 0 || slice_cmp(i->it.end, bound) < 0))
        bound = i->it.end;
    if (!slice_starts(bound, prefix))
        bound = slice_of(bytes, i->section.skip > 0
                                    ? 0
                                    : omap_section_end(&i->section, bytes));
    buf_clear(&end);
    if (bound.size > i->section.skip)
        omap_encode(&end, slice_of(bound.data + i->section.skip,
                                   bound.size - i->section.skip));
    moved = !slice_eq(buf_slice(&end), buf_slice(&i->pages.end));
    buf_fini(&i->pages.end);
    i->pages.end = end;
    for (size_t k = 0; k < i->len; k++) {
        struct omap_source *s = &i->sources[k];
        bool has_some = find_code(i, s, key);

        if (moved || !has_some) /* pages were asked for up to the bound */
            omap_source_restart(&i->pages, s, buf_slice(&i->code));
        else
            omap_source_seek(&i->pages, s, buf_slice(&i->code));
        s->exhausted = s->exhausted || !has_some;
    }
}

/* Stands on the first key of the sources, or of the sections behind. */
static void
stand_on_least(struct omap_iter *i)
{
    uint8_t next[sizeof i->section.prefix];
    struct error e = { 0 };
    struct omap_source *s;
    size_t size;

    for (;;) {
        if (merge(i, &s, &e) != ST_OK) {
            i->it.error = e;
            return;
        }
        if (s != NULL) {
            stand_on(i, s);
            return;
        }
        size = omap_section_end(&i->section, next);
        if (size == 0 || !go_to_section(i, slice_of(next, size)))
            return;
        seek_section(i, slice_of(i->section.prefix, i->section.prefix_size));
    }
}

static void
omap_iter_seek(struct kv_iter *it, struct slice key)
{
    struct omap_iter *i = iter_of(it);

    it->valid = false;
    i->standing = NULL;
    if (slice_cmp(key, buf_slice(&i->wanted)) < 0)
        key = buf_slice(&i->wanted);
    if (!go_to_section(i, key))
        return;
    seek_section(i, key);
    stand_on_least(i);
}

static void
omap_iter_next(struct kv_iter *it)
{
    struct omap_iter *i = iter_of(it);
    struct omap_source *s = i->standing;

    it->valid = false;
    i->standing = NULL;
    if (s != NULL) {
        s->at++; /* once, also when what follows is tried again */
        if (s->at == s->len && s->exhausted)
            omap_pages_grow(&i->pages);
    }
    if (s != NULL && s->at < s->len &&
        (!i->has_limit || slice_cmp(omap_source_head(s), i->limit) <= 0))
        stand_on(i, s);
    else
        stand_on_least(i);
}

static void
omap_iter_free(struct kv_iter *it)
{
    struct omap_iter *i = iter_of(it);

    drop_sources(i);
    free(i->sources);
    buf_fini(&i->wanted);
    buf_fini(&i->key);
    omap_pages_fini(&i->pages);
    buf_fini(&i->at);
    buf_fini(&i->code);
    free(i);
}

static const struct kv_iter_engine omap_iter_engine = {
    .seek = omap_iter_seek,
    .next = omap_iter_next,
    .free = omap_iter_free,
};

struct kv_iter *
omap_iter_open(struct ceph *c, const struct omap_map *map, struct slice prefix)
{
    struct omap_iter *i = mem_new(sizeof *i);

    i->it.engine = &omap_iter_engine;
    omap_pages_init(&i->pages, c);
    i->map = map;
    buf_put_slice(&i->wanted, prefix);
    return &i->it;
}
