#include "query/answer/chunks.h"

#include "tests/harness.h"

/* ",<metric>=<tag>", where the tag is the first key's name. */
static enum status
write_text(void *ctx, struct buf *b, const struct result_group *g,
           struct chunks_tags *tags, size_t *points, struct error *e)
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
    *points = 2;
    return slice_eq_str(g->metric, "fails") ? error_set(e, ST_IO, "no notes")
                                            : ST_OK;
}

struct rig {
    struct chunks p;
    size_t described;
    struct buf text;
    enum status status; /* the first failure */
    struct error error;
};

static void
set_up(struct rig *r, size_t subs)
{
    *r = (struct rig){ 0 };
    r->p = (struct chunks){ .write = write_text,
                            .ctx = &r->described,
                            .max_bytes = 1000 };
    ck_assert(chunks_init(&r->p, subs));
}

static void
begin(struct rig *r, size_t sub, size_t groups_len, size_t in_row)
{
    ck_assert(chunks_begin(&r->p, sub, groups_len, in_row));
}

static void
tear_down(struct rig *r)
{
    chunks_fini(&r->p);
}

/* The tag's text is known, or is found in its chunk then. */
static void
put_known(struct rig *r, size_t sub, size_t i, const char *metric,
          const char *tag, struct slice known)
{
    struct slice key = slice_str(tag);
    struct result_group g = { .metric = slice_str(metric), .tag_keys = &key };
    struct slice text = known;

    if (r->status != ST_OK)
        return;
    r->status = chunks_put(&r->p, sub, i, &g, &text, &r->error);
    if (r->status != ST_OK)
        return;
    if (known.size > 0) {
        ck_assert(slice_eq(text, known));
    } else {
        ck_assert_uint_eq(text.size, key.size + 1);
        ck_assert_mem_eq(text.data + 1, key.data, key.size);
    }
}

static void
put(struct rig *r, size_t sub, size_t i, const char *metric, const char *tag)
{
    put_known(r, sub, i, metric, tag, (struct slice){ NULL, 0 });
}

static void
end(struct rig *r, size_t sub)
{
    if (r->status == ST_OK)
        r->status = chunks_end(&r->p, sub, &r->error);
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
    ck_assert_int_eq(r->status, ST_OK);
    chunks_each(&r->p, append, &r->text);
    ck_assert_str_eq(buf_cstr(&r->text), text);
    buf_fini(&r->text);
    tear_down(r);
}

static const char *const tags[] = { "red", "tan", "ash" };

START_TEST(keeps_the_order)
{
    struct rig r;
    struct chunks_total total;

    set_up(&r, 1);
    begin(&r, 0, 3, 2);
    put(&r, 0, 2, "a", tags[2]);
    put(&r, 0, 0, "a", tags[0]);
    put(&r, 0, 1, "a", tags[1]);
    end(&r, 0);
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

        set_up(&r, 1);
        memset(large, 'x', size);
        large[size] = '\0';
        begin(&r, 0, 4, 4);
        put(&r, 0, 0, large, tags[0]);
        for (size_t i = 1; i < 4; i++)
            put(&r, 0, i, "a", tags[i - 1]);
        end(&r, 0);
        ck_assert_msg(r.status == ST_OK, "%zu bytes", size);
        tear_down(&r);
    }
}
END_TEST

START_TEST(copies_known_tags)
{
    struct rig r;

    set_up(&r, 2);
    begin(&r, 0, 1, 1);
    put(&r, 0, 0, "a", "red");
    end(&r, 0);
    begin(&r, 1, 2, 2);
    put_known(&r, 1, 0, "b", "red", slice_str("=RED"));
    put(&r, 1, 1, "b", "tan");
    end(&r, 1);
    ck_assert_uint_eq(r.described, 2);
    expect(&r, ",a=red|,b=RED,b=tan|");
}
END_TEST

START_TEST(forgets_what_came_before)
{
    struct rig r;

    set_up(&r, 1);
    begin(&r, 0, 1, 1);
    put(&r, 0, 0, "a", tags[0]);
    end(&r, 0);
    begin(&r, 0, 1, 1);
    put(&r, 0, 0, "b", tags[1]);
    end(&r, 0);
    ck_assert_uint_eq(r.p.bytes, 6);
    expect(&r, ",b=tan|");
}
END_TEST

START_TEST(has_a_limit)
{
    for (size_t max = 1; max < 20; max++) {
        struct rig r;

        set_up(&r, 1);
        r.p.max_bytes = max;
        begin(&r, 0, 3, 2);
        for (size_t i = 0; i < 3; i++)
            put(&r, 0, i, "a", tags[i]);
        end(&r, 0);
        ck_assert_int_eq(r.status, max < 18 ? ST_LIMIT : ST_OK);
        if (max < 18)
            ck_assert(strstr(r.error.text, "The answer is larger than ") !=
                      NULL);
        tear_down(&r);
    }
}
END_TEST

/* Without memory for it the answer is not too large: it may fit later. */
START_TEST(has_a_budget)
{
    struct budget *budget = budget_new(1000, NULL);
    struct rig r;
    char large[2000];

    memset(large, 'x', sizeof large);
    large[sizeof large - 1] = '\0';
    set_up(&r, 1);
    r.p.max_bytes = 1 << 20;
    r.p.budget = budget;
    begin(&r, 0, 2, 1);
    put(&r, 0, 0, "a", tags[0]);
    ck_assert_int_eq(r.status, ST_OK);
    put(&r, 0, 1, large, tags[0]);
    ck_assert_int_eq(r.status, ST_BUSY);
    ck_assert(strstr(r.error.text, "halite.answers.bytes") != NULL);
    tear_down(&r);
    budget_unref(&budget);
}
END_TEST

START_TEST(fails_as_the_writer_does)
{
    struct rig r;

    set_up(&r, 1);
    begin(&r, 0, 2, 2);
    put(&r, 0, 0, "a", tags[0]);
    put(&r, 0, 1, "fails", tags[1]);
    ck_assert_int_eq(r.status, ST_IO);
    ck_assert_str_eq(r.error.text, "no notes");
    tear_down(&r);
}
END_TEST

TEST_MAIN("chunks", TEST(keeps_the_order), TEST(a_large_first_group_fits),
          TEST(copies_known_tags), TEST(forgets_what_came_before),
          TEST(has_a_limit), TEST(has_a_budget), TEST(fails_as_the_writer_does))
