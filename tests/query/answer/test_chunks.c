#include "query/answer/chunks.h"

#include "tests/harness.h"

#define WIDTH 1 /* of a metric in these TSUIDs */

/* ",<metric>=<tag>", where the tag is the first key's name. */
static size_t
write_text(void *ctx, struct buf *b, const struct result_group *g,
           struct chunks_tags *tags)
{
    size_t *described = ctx;

    buf_put_u8(b, ',');
    buf_put_slice(b, g->metric);
    tags->from = b->size;
    buf_put_u8(b, '=');
    if (tags->known.size > 0) {
        b->size = tags->from;
        buf_put_slice(b, tags->known);
    } else {
        (*described)++;
        buf_put_slice(b, g->tag_keys[0]);
    }
    tags->size = b->size - tags->from;
    return 2;
}

struct rig {
    struct arena *arena;
    struct chunks p;
    size_t described;
    struct buf text;
};

static void
set_up(struct rig *r, size_t subs)
{
    *r = (struct rig){ .arena = arena_new(0) };
    r->p = (struct chunks){ .write = write_text,
                            .ctx = &r->described,
                            .max_bytes = 1000,
                            .metric_width = WIDTH };
    chunks_init(&r->p, subs);
}

static void
begin(struct rig *r, size_t sub, size_t groups_len, size_t in_row)
{
    ck_assert(chunks_begin(&r->p, sub, groups_len, in_row, r->arena));
}

static void
tear_down(struct rig *r)
{
    chunks_fini(&r->p);
    arena_free(&r->arena);
}

static void
put(struct rig *r, size_t sub, size_t i, const char *metric, const char *tag,
    size_t *expected)
{
    char tsuid[16];
    struct slice key = slice_str(tag), own, known;
    struct result_group g = { .metric = slice_str(metric), .tag_keys = &key };

    (void)snprintf(tsuid, sizeof tsuid, "%s%s", metric, tag);
    known = chunks_find_tags(&r->p, sub, slice_str(tsuid), expected);
    own = slice_of(tag - WIDTH, strlen(tag) + WIDTH);
    chunks_put(&r->p, sub, i, &g, own, known);
}

static void
append(void *ctx, struct buf *chunk)
{
    buf_put_slice(ctx, buf_slice(chunk));
    buf_put_u8(ctx, '|');
}

static void
expect(struct rig *r, const char *text)
{
    chunks_each(&r->p, append, &r->text);
    ck_assert_str_eq(buf_cstr(&r->text), text);
    buf_fini(&r->text);
    tear_down(r);
}

/* A metric stands before each, as in a TSUID. */
static const char *const tags[] = { &"mred"[1], &"mtan"[1], &"mash"[1] };

START_TEST(keeps_the_order)
{
    struct rig r;
    size_t at = 0;
    struct chunks_total total;

    set_up(&r, 1);
    begin(&r, 0, 3, 2);
    put(&r, 0, 2, "a", tags[2], &at);
    put(&r, 0, 0, "a", tags[0], &at);
    put(&r, 0, 1, "a", tags[1], &at);
    chunks_end(&r.p, 0);
    total = chunks_total(&r.p);
    ck_assert_uint_eq(total.groups, 3);
    ck_assert_uint_eq(total.points, 6);
    ck_assert_uint_eq(r.p.bytes, 18);
    expect(&r, ",a=red,a=tan|,a=ash|");
}
END_TEST

/* Others of a row may be small: what fits is not rejected for the room that
 * they might have needed. */
START_TEST(a_large_first_group_fits)
{
    char large[400];

    for (size_t size = 1; size < sizeof large; size++) {
        struct rig r;
        size_t at = 0;

        set_up(&r, 1);
        memset(large, 'x', size);
        large[size] = '\0';
        begin(&r, 0, 4, 4);
        put(&r, 0, 0, large, tags[0], &at);
        for (size_t i = 1; i < 4; i++)
            put(&r, 0, i, "a", tags[i - 1], &at);
        chunks_end(&r.p, 0);
        ck_assert_msg(!r.p.failed, "%zu bytes", size);
        tear_down(&r);
    }
}
END_TEST

/* The second sub-query has one less, and one that the first had not. */
START_TEST(knows_tags)
{
    static const char *const both[][4] = {
        { &"mash"[1], &"mred"[1], &"mtan"[1] }, /* ascending: searched */
        { &"mred"[1], &"mash"[1], &"mtan"[1] }, /* not: as they come */
    };
    static const size_t described[] = { 4, 5 };

    for (size_t c = 0; c < 2; c++) {
        struct rig r;
        size_t at = 0;

        set_up(&r, 2);
        begin(&r, 0, 3, 2);
        for (size_t i = 0; i < 3; i++)
            put(&r, 0, i, "a", both[c][i], &at);
        chunks_end(&r.p, 0);
        begin(&r, 1, 3, 3);
        at = 0;
        put(&r, 1, 0, "b", &"mnew"[1], &at);
        put(&r, 1, 1, "b", both[c][0], &at);
        put(&r, 1, 2, "b", both[c][2], &at);
        chunks_end(&r.p, 1);
        ck_assert_uint_eq(r.described, described[c]);
        expect(&r, c == 0 ? ",a=ash,a=red|,a=tan|,b=new,b=ash,b=tan|"
                          : ",a=red,a=ash|,a=tan|,b=new,b=red,b=tan|");
    }
}
END_TEST

START_TEST(forgets_what_came_before)
{
    struct rig r;
    size_t at = 0;

    set_up(&r, 1);
    begin(&r, 0, 1, 1);
    put(&r, 0, 0, "a", tags[0], &at);
    chunks_end(&r.p, 0);
    begin(&r, 0, 1, 1);
    put(&r, 0, 0, "b", tags[1], &at);
    chunks_end(&r.p, 0);
    ck_assert_uint_eq(r.p.bytes, 6);
    expect(&r, ",b=tan|");
}
END_TEST

START_TEST(has_a_limit)
{
    for (size_t max = 1; max < 20; max++) {
        struct rig r;
        size_t at = 0;

        set_up(&r, 1);
        r.p.max_bytes = max;
        begin(&r, 0, 3, 2);
        for (size_t i = 0; i < 3; i++)
            put(&r, 0, i, "a", tags[i], &at);
        chunks_end(&r.p, 0);
        ck_assert_int_eq(r.p.failed, max < 18);
        tear_down(&r);
    }
}
END_TEST

/* Several sub-queries: each group of the first is kept, to be found. */
START_TEST(groups_count_against_the_memory)
{
    struct arena *small = arena_new(100000);
    struct rig r;

    set_up(&r, 1);
    ck_assert(chunks_begin(&r.p, 0, 100000, 512, small));
    tear_down(&r);
    set_up(&r, 2);
    ck_assert(chunks_begin(&r.p, 0, 100, 512, small));
    ck_assert(!chunks_begin(&r.p, 0, 100000, 512, small));
    tear_down(&r);
    arena_free(&small);
}
END_TEST

TEST_MAIN("chunks", TEST(keeps_the_order), TEST(a_large_first_group_fits),
          TEST(knows_tags), TEST(forgets_what_came_before), TEST(has_a_limit),
          TEST(groups_count_against_the_memory))
