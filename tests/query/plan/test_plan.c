#include "query/plan/plan.h"

#include "tests/uid/fixture.h"

#define BASE UINT32_C(1356998400)

static const char *const kind_names[] = { "1m SUM", "1m COUNT" };

/* The series m{host=a} of a kind; returns its TSUID. */
static struct tsuid
enter(struct fixture *f, uint64_t kind)
{
    struct tag tag = { slice_str("host"), slice_str("a") };
    struct series_rules rules = { true, true, true, 8, false };
    struct series_text text = { kind, slice_str("m"), &tag, 1 };
    struct tsuid tsuid;
    series_ref ref;

    OK(series_resolve(f->series, &rules, &text, &ref, &tsuid, &e));
    return tsuid;
}

static bool
takes(const struct mask_set *masks, const struct tsuid *tsuid)
{
    uint8_t key[ROW_KEY_MAX];
    size_t size = key_row(&layout_default, tsuid_slice(tsuid), BASE, key);

    return mask_set_match(masks, slice_of(key, size));
}

/* The masks that are sent to the owner of a bucket take the rows of the wanted
 * kind, long after the plan was made. */
START_TEST(sent_masks_take_one_kind)
{
    struct fixture f = fixture_new(layout_default);
    struct arena *a = arena_new(0);
    struct sub_query sq = { .metric = slice_str("m") };
    struct plan_context c = { f.store, f.uids, f.series, { .force_path = -1 } };
    struct query_reading reading = { .from_base = BASE, .to_base = BASE };
    struct deadline deadline = { 0 };
    struct tsuid tsuids[2];
    uint64_t kinds[2];
    struct plan p[2];

    for (int i = 0; i < 2; i++) {
        OK(series_kind(f.series, kind_names[i], true, &kinds[i], &e));
        tsuids[i] = enter(&f, kinds[i]);
    }
    for (int i = 0; i < 2; i++) {
        sq.rollup.kind = kinds[i];
        OK(plan_make(&c, &sq, &reading, &deadline, a, &p[i], &e));
    }
    for (int i = 0; i < 2; i++) {
        struct buf sent = BUF_INIT;
        struct cursor in;
        size_t left = 1000;
        struct mask_set *read;

        ck_assert_ptr_nonnull(p[i].masks);
        mask_set_write(p[i].masks, &sent);
        in = cursor_of(buf_slice(&sent));
        read = mask_set_read(&in, &left);
        ck_assert_ptr_nonnull(read);
        ck_assert(takes(read, &tsuids[i]) && !takes(read, &tsuids[1 - i]));
        ck_assert(takes(p[i].masks, &tsuids[i]));
        mask_set_free(&read);
        buf_fini(&sent);
        plan_fini(&p[i]);
    }
    arena_free(&a);
    fixture_free(&f);
}
END_TEST

TEST_MAIN("plan", TEST(sent_masks_take_one_kind))
