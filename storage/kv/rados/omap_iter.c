/* One section of keys after the other (omap_objects.h), and in each the objects
 * merged.
 *
 * An object's keys come in pages.  Of each object it is known behind which code
 * its unread keys are; a page is waited for only when no other object has a key
 * at or in front of that.  So objects whose keys are all behind the bound are
 * never read, and of a metric's windows one is read after the other.  What will
 * be needed next is asked for ahead. */
#include "storage/kv/rados/omap_iter.h"

#include "base/mem.h"
#include "storage/kv/rados/omap_code.h"

/* Keys in a page and pages asked for ahead: few after a seek, and more while
 * all that comes is read. */
#define PAGE_FIRST  64
#define AHEAD_FIRST 1
#define AHEAD_MAX   16
#define GROWS       4

struct entry {
    struct slice code, value; /* lent by the page's operation */
};

struct source {
    char object[OMAP_OBJECT_SIZE];
    bool has_window;
    uint32_t window;
    /* The page at hand: all keys behind 'from', up to 'after' or, when it is
     * exhausted, to the bound.  Keys in front of 'at' are behind the reader. */
    struct ceph_op *page;
    struct entry *entries;
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

struct omap_iter {
    struct kv_iter it;
    struct ceph *c;
    const struct omap_map *map;
    struct buf wanted; /* its prefix */
    struct buf key;    /* lent */
    bool in_section;
    struct omap_section section;
    struct buf end; /* the bound in it, a code without its end; size 0: none */
    struct source *sources;
    size_t len, cap;
    struct source *standing; /* whose entry it stands on */
    /* Up to here that source alone has keys. */
    bool has_limit;
    struct slice limit;
    unsigned page_size, ahead;
    struct buf at, code; /* for seeks */
};

static struct omap_iter *
iter_of(struct kv_iter *it)
{
    return (struct omap_iter *)it;
}

/* -- pages ----------------------------------------------------------------- */

static void
source_fini(struct source *s)
{
    ceph_op_free(&s->page);
    ceph_op_free(&s->asked);
    free(s->entries);
    buf_fini(&s->from);
    buf_fini(&s->after);
    buf_fini(&s->sought);
}

static void
copy_code(struct buf *out, struct slice code)
{
    buf_clear(out);
    buf_make_room(out, code.size + 1);
    buf_put_slice(out, code);
}

/* What keys behind 'after' and in front of the bound begin with. */
static struct slice
common_prefix(const struct omap_iter *i, struct slice after)
{
    size_t n = 0;

    while (n < after.size && n < i->end.size && after.data[n] == i->end.data[n])
        n++;
    return slice_of(after.data, n);
}

/* The code behind which its keys that are not at hand are. */
static struct slice
unread(const struct source *s)
{
    return buf_slice(s->seeking ? &s->sought : &s->after);
}

static bool
is_behind_end(const struct omap_iter *i, struct slice code)
{
    return i->end.size > 0 && slice_cmp(code, buf_slice(&i->end)) >= 0;
}

/* May it have keys, besides those at hand, in front of the bound? */
static bool
is_needed(const struct omap_iter *i, const struct source *s)
{
    return !s->exhausted &&
           (i->end.size == 0 || slice_cmp(unread(s), buf_slice(&i->end)) < 0);
}

static void
ask(struct omap_iter *i, struct source *s)
{
    struct slice after = buf_slice(&s->after);

    s->asked =
        ceph_page_new(i->c, after, common_prefix(i, after), i->page_size);
    ceph_op_start(s->asked, s->object);
}

static void
read_little(struct omap_iter *i)
{
    i->page_size = PAGE_FIRST;
    i->ahead = AHEAD_FIRST;
}

static void
read_more(struct omap_iter *i)
{
    i->page_size *= GROWS;
    if (i->page_size > CEPH_PAGE_MAX)
        i->page_size = CEPH_PAGE_MAX;
    i->ahead *= GROWS;
    if (i->ahead > AHEAD_MAX)
        i->ahead = AHEAD_MAX;
}

/* Forgets what was read: unread keys are behind 'after'. */
static void
restart(struct omap_iter *i, struct source *s, struct slice after)
{
    if (s->page != NULL || s->asked != NULL)
        read_little(i);
    ceph_op_free(&s->asked);
    ceph_op_free(&s->page);
    s->len = s->at = 0;
    s->exhausted = s->seeking = false;
    copy_code(&s->after, after);
}

/* To the first entry behind the code. */
static void
seek_page(struct source *s, struct slice code)
{
    size_t low = 0, high = s->len;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (slice_cmp(s->entries[middle].code, code) > 0)
            high = middle;
        else
            low = middle + 1;
    }
    s->at = low;
}

/* So that the next key is the first behind 'code': at once where that is
 * known. */
static void
seek_source(struct omap_iter *i, struct source *s, struct slice code)
{
    struct slice known = buf_slice(s->page == NULL ? &s->after : &s->from);

    s->seeking = false;
    if (slice_cmp(code, known) < 0) {
        restart(i, s, code);
    } else if (s->exhausted || slice_cmp(code, buf_slice(&s->after)) < 0) {
        seek_page(s, code);
    } else if (s->asked == NULL) {
        restart(i, s, code);
    } else {
        s->at = s->len;
        s->seeking = true;
        copy_code(&s->sought, code);
    }
}

/* Waits for the page that was asked for, and takes it. */
static enum status
take_page(struct omap_iter *i, struct source *s, struct error *e)
{
    enum status st = ceph_op_wait(s->asked, e);
    struct slice code, value;

    if (st != ST_OK && st != ST_NOT_FOUND) {
        ceph_op_free(&s->asked);
        return st;
    }
    ceph_op_free(&s->page);
    s->page = s->asked;
    s->asked = NULL;
    s->len = s->at = 0;
    while (ceph_op_next(s->page, &code, &value)) {
        s->entries = mem_grow(s->entries, s->len, &s->cap, sizeof *s->entries);
        s->entries[s->len++] = (struct entry){ code, value };
    }
    copy_code(&s->from, buf_slice(&s->after));
    s->exhausted = !ceph_op_has_more(s->page) || s->len == 0;
    while (s->len > 0 && is_behind_end(i, s->entries[s->len - 1].code)) {
        s->len--;
        s->exhausted = true;
    }
    if (s->len > 0)
        copy_code(&s->after, s->entries[s->len - 1].code);
    if (s->seeking)
        seek_source(i, s, buf_slice(&s->sought));
    return ST_OK;
}

/* -- sections -------------------------------------------------------------- */

static void
drop_sources(struct omap_iter *i)
{
    for (size_t k = 0; k < i->len; k++)
        source_fini(&i->sources[k]);
    i->len = 0;
    i->standing = NULL;
    i->in_section = false;
}

static struct source *
add_source(struct omap_iter *i)
{
    struct source *s;

    i->sources = mem_grow(i->sources, i->len, &i->cap, sizeof *i->sources);
    s = &i->sources[i->len++];
    *s = (struct source){ .object = "" };
    return s;
}

static enum status
add_window(void *ctx, struct slice key, struct slice value, struct error *e)
{
    struct omap_iter *i = ctx;
    uint32_t window;
    struct source *s;

    (void)value;
    if (!omap_window_parse(key, &window))
        return error_set(e, ST_CORRUPT,
                         "the windows of bucket %u: \"%.*s\" is none",
                         i->section.bucket, SLICE_ARG(key));
    s = add_source(i);
    s->has_window = true;
    s->window = window;
    omap_window_name(i->section.bucket, window, s->object);
    return ST_OK;
}

static enum status
enter_section(struct omap_iter *i, const struct omap_section *section,
              struct error *e)
{
    const struct omap_section before = i->section;
    char name[OMAP_OBJECT_SIZE];
    enum status st;

    drop_sources(i);
    i->section = *section;
    if (section->has_windows) {
        omap_windows_name(section->bucket, name);
        st = ceph_each_omap(i->c, name, add_window, i, e);
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
find_code(struct omap_iter *i, const struct source *s, struct slice key)
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

/* The bound within the section: the iterator's, where its prefix ends, or where
 * the section does, whose objects may hold others, too. */
static void
find_end(struct omap_iter *i, struct buf *out)
{
    struct slice prefix = slice_of(i->section.prefix, i->section.prefix_size);
    uint8_t bytes[sizeof i->section.prefix];
    struct slice end;

    copy_code(&i->at, buf_slice(&i->wanted));
    while (i->at.size > 0 && ++i->at.data[i->at.size - 1] == 0)
        i->at.size--;
    end = buf_slice(&i->at);
    if (i->it.end.data != NULL &&
        (end.size == 0 || slice_cmp(i->it.end, end) < 0))
        end = i->it.end;
    if (!slice_starts(end, prefix))
        end = slice_of(bytes, i->section.skip > 0
                                  ? 0
                                  : omap_section_end(&i->section, bytes));
    buf_clear(out);
    if (end.size > i->section.skip)
        omap_encode(out, slice_of(end.data + i->section.skip,
                                  end.size - i->section.skip));
}

/* -- moving ---------------------------------------------------------------- */

/* The source that may have the next key that was not read; NULL: none. */
static struct source *
next_unread(struct omap_iter *i, bool also_asked)
{
    struct source *first = NULL;

    for (size_t k = 0; k < i->len; k++) {
        struct source *s = &i->sources[k];

        if (s->at < s->len || (s->asked != NULL && !also_asked) ||
            !is_needed(i, s))
            continue;
        if (first == NULL || slice_cmp(unread(s), unread(first)) < 0)
            first = s;
    }
    return first;
}

/* 'first' must come; so must those whose keys may be in front of its, and of
 * others as many as are worth it. */
static void
ask_ahead(struct omap_iter *i, struct source *first)
{
    size_t asked = 0;
    struct source *s = first;

    if (first->asked == NULL)
        ask(i, first);
    for (size_t k = 0; k < i->len; k++)
        asked += i->sources[k].asked != NULL;
    while (asked++ < AHEAD_MAX && (s = next_unread(i, false)) != NULL) {
        if (asked > i->ahead && slice_cmp(unread(s), unread(first)) > 0)
            break;
        ask(i, s);
    }
}

static struct slice
head(const struct source *s)
{
    return s->entries[s->at].code;
}

/* The source with the next key of those at hand; NULL: none. */
static struct source *
next_at_hand(struct omap_iter *i)
{
    struct source *first = NULL;

    for (size_t k = 0; k < i->len; k++) {
        struct source *s = &i->sources[k];

        if (s->at < s->len &&
            (first == NULL || slice_cmp(head(s), head(first)) < 0))
            first = s;
    }
    return first;
}

/* How far 'first' goes before another source has a key, or may have one. */
static void
find_limit(struct omap_iter *i, const struct source *first)
{
    i->has_limit = false;
    for (size_t k = 0; k < i->len; k++) {
        const struct source *s = &i->sources[k];
        struct slice code;

        if (s == first || (s->at == s->len && !is_needed(i, s)))
            continue;
        code = s->at < s->len ? head(s) : unread(s);
        if (!i->has_limit || slice_cmp(code, i->limit) < 0)
            i->limit = code;
        i->has_limit = true;
    }
}

/* The source with the section's next key, in '*out'; NULL: it has none. */
static enum status
merge(struct omap_iter *i, struct source **out, struct error *e)
{
    enum status st = ST_OK;

    while (st == ST_OK) {
        struct source *s = next_unread(i, true);

        *out = next_at_hand(i);
        if (s == NULL ||
            (*out != NULL && slice_cmp(unread(s), head(*out)) >= 0))
            break;
        ask_ahead(i, s);
        st = take_page(i, s, e);
    }
    if (st == ST_OK && *out != NULL)
        find_limit(i, *out);
    return st;
}

static void
stand_on(struct omap_iter *i, struct source *s)
{
    const struct entry *x = &s->entries[s->at];

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
    if (s->asked == NULL && is_needed(i, s) &&
        (i->page_size > PAGE_FIRST || 2 * s->at >= s->len)) {
        read_more(i);
        ask(i, s);
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
 * one; false: there is none, or it failed. */
static bool
go_to_section(struct omap_iter *i, struct slice key)
{
    struct omap_section section;
    struct error e = { 0 };

    if (!omap_section_at(i->map, key, &section) || !is_wanted(i, &section))
        return false;
    if (i->in_section && section.prefix_size == i->section.prefix_size &&
        memcmp(section.prefix, i->section.prefix, section.prefix_size) == 0)
        return true;
    if (enter_section(i, &section, &e) != ST_OK)
        i->it.error = e;
    return i->it.error.status == ST_OK;
}

/* All sources at the first key at or behind this. */
static void
seek_section(struct omap_iter *i, struct slice key)
{
    struct buf end = BUF_INIT;
    bool moved;

    find_end(i, &end);
    moved = !slice_eq(buf_slice(&end), buf_slice(&i->end));
    buf_fini(&i->end);
    i->end = end;
    for (size_t k = 0; k < i->len; k++) {
        struct source *s = &i->sources[k];
        bool has_some = find_code(i, s, key);

        if (moved || !has_some) /* pages were asked for up to the bound */
            restart(i, s, buf_slice(&i->code));
        else
            seek_source(i, s, buf_slice(&i->code));
        s->exhausted = s->exhausted || !has_some;
    }
}

/* Stands on the first key of the sources, or of the sections behind. */
static void
settle(struct omap_iter *i)
{
    uint8_t next[sizeof i->section.prefix];
    struct error e = { 0 };
    struct source *s;
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
    settle(i);
}

static void
omap_iter_next(struct kv_iter *it)
{
    struct omap_iter *i = iter_of(it);
    struct source *s = i->standing;

    it->valid = false;
    i->standing = NULL;
    if (s != NULL) {
        s->at++; /* once, also when what follows is tried again */
        if (s->at == s->len && s->exhausted)
            read_more(i);
    }
    if (s != NULL && s->at < s->len &&
        (!i->has_limit || slice_cmp(head(s), i->limit) <= 0))
        stand_on(i, s);
    else
        settle(i);
}

static void
omap_iter_close(struct kv_iter *it)
{
    (void)it;
}

static void
omap_iter_free(struct kv_iter *it)
{
    struct omap_iter *i = iter_of(it);

    drop_sources(i);
    free(i->sources);
    buf_fini(&i->wanted);
    buf_fini(&i->key);
    buf_fini(&i->end);
    buf_fini(&i->at);
    buf_fini(&i->code);
    free(i);
}

static const struct kv_iter_engine omap_iter_engine = {
    .close = omap_iter_close,
    .seek = omap_iter_seek,
    .next = omap_iter_next,
    .free = omap_iter_free,
};

struct kv_iter *
omap_iter_open(struct ceph *c, const struct omap_map *map, struct slice prefix)
{
    struct omap_iter *i = mem_new(sizeof *i);

    i->it.engine = &omap_iter_engine;
    i->c = c;
    i->map = map;
    read_little(i);
    buf_put_slice(&i->wanted, prefix);
    return &i->it;
}
