/* See storage/kv/rados/omap_source.h. */
#include "storage/kv/rados/omap_source.h"

#include <stdlib.h>

#include "base/mem.h"
#include "storage/kv/rados/omap_code.h"

#define AHEAD_FIRST 1
#define GROWS       4

static void
read_little(struct omap_pages *p)
{
    p->page_size = OMAP_PAGE_FIRST;
    p->ahead = AHEAD_FIRST;
}

void
omap_pages_init(struct omap_pages *p, struct ceph *c)
{
    *p = (struct omap_pages){ .c = c };
    read_little(p);
}

void
omap_pages_fini(struct omap_pages *p)
{
    buf_fini(&p->end);
}

void
omap_source_fini(struct omap_source *s)
{
    ceph_op_free(&s->page);
    ceph_op_free(&s->asked);
    free(s->entries);
    buf_fini(&s->from);
    buf_fini(&s->after);
    buf_fini(&s->sought);
}

/* What keys behind 'after' and in front of the bound begin with. */
static struct slice
common_prefix(const struct omap_pages *p, struct slice after)
{
    size_t n = 0;

    while (n < after.size && n < p->end.size && after.data[n] == p->end.data[n])
        n++;
    return slice_of(after.data, n);
}

void
omap_source_ask(const struct omap_pages *p, struct omap_source *s)
{
    struct slice after = buf_slice(&s->after);

    s->asked =
        ceph_page_new(p->c, after, common_prefix(p, after), p->page_size);
    ceph_op_start(s->asked, s->object);
}

void
omap_pages_grow(struct omap_pages *p)
{
    p->page_size *= GROWS;
    if (p->page_size > CEPH_PAGE_MAX)
        p->page_size = CEPH_PAGE_MAX;
    p->ahead *= GROWS;
    if (p->ahead > OMAP_AHEAD_MAX)
        p->ahead = OMAP_AHEAD_MAX;
}

void
omap_source_restart(struct omap_pages *p, struct omap_source *s,
                    struct slice after)
{
    if (s->page != NULL || s->asked != NULL)
        read_little(p);
    ceph_op_free(&s->asked);
    ceph_op_free(&s->page);
    s->len = s->at = 0;
    s->exhausted = s->seeking = false;
    omap_copy_code(&s->after, after);
}

void
omap_source_seek(struct omap_pages *p, struct omap_source *s, struct slice code)
{
    struct slice known = buf_slice(s->page == NULL ? &s->after : &s->from);

    s->seeking = false;
    if (slice_cmp(code, known) < 0) {
        omap_source_restart(p, s, code);
    } else if (s->exhausted || slice_cmp(code, buf_slice(&s->after)) < 0) {
        size_t low = 0, high = s->len;

        /* To the first entry behind the code. */
        while (low < high) {
            size_t middle = (low + high) / 2;

            if (slice_cmp(s->entries[middle].code, code) > 0)
                high = middle;
            else
                low = middle + 1;
        }
        s->at = low;
    } else if (s->asked == NULL) {
        omap_source_restart(p, s, code);
    } else {
        s->at = s->len;
        s->seeking = true;
        omap_copy_code(&s->sought, code);
    }
}

enum status
omap_source_take(struct omap_pages *p, struct omap_source *s, struct error *e)
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
        s->entries[s->len++] = (struct omap_entry){ code, value };
    }
    omap_copy_code(&s->from, buf_slice(&s->after));
    s->exhausted = !ceph_op_has_more(s->page) || s->len == 0;
    while (s->len > 0 && p->end.size > 0 &&
           slice_cmp(s->entries[s->len - 1].code, buf_slice(&p->end)) >= 0) {
        s->len--;
        s->exhausted = true;
    }
    if (s->len > 0)
        omap_copy_code(&s->after, s->entries[s->len - 1].code);
    if (s->seeking)
        omap_source_seek(p, s, buf_slice(&s->sought));
    return ST_OK;
}
