/* Many names, and many ids, at once. */
#include "tests/uid/fixture.h"
#include "uid/names/uid.h"

static uint64_t
create(struct fixture *f, const char *name)
{
    uint64_t id = 0;

    OK(uid_get_or_create(f->uids, UID_TAGV, slice_str(name), &id, &e));
    return id;
}

/* So the cache has it. */
static void
ask_for(struct fixture *f, uint64_t id)
{
    struct buf name = BUF_INIT;

    OK(uid_name(f->uids, UID_TAGV, id, &name, &e));
    buf_fini(&name);
}

START_TEST(names_are_resolved_together)
{
    struct fixture f = fixture_new(layout_default);
    struct uid_wanted names[5] = { { .name = slice_str("a") },
                                   { .name = slice_str("nowhere") },
                                   { .name = slice_str("") },
                                   { .name = slice_str("b") },
                                   { .name = slice_str("a") } };
    uint64_t a = create(&f, "a"), b = create(&f, "b"), id;
    struct uid_counts before;

    uid_drop_caches(f.uids);
    OK(uid_resolve(f.uids, UID_TAGV, names, 5, &e));
    ck_assert_uint_eq(names[0].id, a);
    ck_assert_uint_eq(names[1].id, 0);
    ck_assert_uint_eq(names[2].id, 0);
    ck_assert_uint_eq(names[3].id, b);
    ck_assert_uint_eq(names[4].id, a);
    before = uid_counts(f.uids, UID_TAGV);
    OK(uid_find(f.uids, UID_TAGV, slice_str("a"), &id, &e));
    ck_assert_uint_eq(id, a);
    OK(uid_find(f.uids, UID_TAGV, slice_str("b"), &id, &e));
    ck_assert_uint_eq(id, b);
    ck_assert_uint_eq(uid_counts(f.uids, UID_TAGV).cache_misses,
                      before.cache_misses);
    ck_assert_int_eq(
        uid_find(f.uids, UID_TAGV, slice_str("nowhere"), &id, NULL),
        ST_NOT_FOUND);
    fixture_free(&f);
}
END_TEST

/* 400 names, more than the locks of the cache, that come from it, from the
 * engine, or from both. */
START_TEST(names_are_read_together)
{
    struct fixture f = fixture_new(layout_default);
    struct arena *a = arena_new(0), *small = arena_new(2000);
    const uint64_t least[] = { 400, 1, 0 }, most[] = { 400, 399, 0 };
    uint64_t ids[400], misses;
    struct slice found[400];
    char want[16];

    for (int i = 0; i < 400; i++) {
        (void)snprintf(want, sizeof want, "v%d", i / 2);
        ids[(i * 7 + 3) % 400] = create(&f, want);
    }
    for (int cached = 0; cached < 3; cached++) {
        uid_drop_caches(f.uids);
        for (int i = 0; i < 400 && cached > 0; i += cached == 1 ? 5 : 1)
            ask_for(&f, ids[i]);
        misses = uid_counts(f.uids, UID_TAGV).cache_misses;
        OK(uid_name_many(f.uids, UID_TAGV, ids, 400, a, found, &e));
        misses = uid_counts(f.uids, UID_TAGV).cache_misses - misses;
        ck_assert_uint_ge(misses, least[cached]);
        ck_assert_uint_le(misses, most[cached]);
        for (int i = 0; i < 400; i++) {
            (void)snprintf(want, sizeof want, "v%d", i / 2);
            ck_assert_str_eq((const char *)found[(i * 7 + 3) % 400].data, want);
        }
    }
    for (int read = 0; read < 2; read++) {
        ck_assert_int_eq(
            uid_name_many(f.uids, UID_TAGV, ids, 400, small, found, NULL),
            ST_LIMIT);
        uid_drop_caches(f.uids);
    }
    OK(uid_name_many(f.uids, UID_TAGV, NULL, 0, a, NULL, &e));
    arena_free(&a);
    arena_free(&small);
    fixture_free(&f);
}
END_TEST

START_TEST(the_first_id_without_a_name_is_told)
{
    static const uint64_t wrong[] = { 0, 78, UINT64_MAX };
    struct fixture f = fixture_new(layout_default);
    struct arena *a = arena_new(0);
    uint64_t ids[] = { create(&f, "a"), 1, 0, 77 };
    struct slice found[4];
    struct error single;
    struct buf name = BUF_INIT;

    for (int i = 0; i < 3; i++) {
        ids[2] = wrong[i];
        ck_assert_int_eq(uid_name(f.uids, UID_TAGV, wrong[i], &name, &single),
                         ST_NOT_FOUND);
        FAILS(uid_name_many(f.uids, UID_TAGV, ids, 4, a, found, &e),
              ST_NOT_FOUND, single.text);
    }
    buf_fini(&name);
    arena_free(&a);
    fixture_free(&f);
}
END_TEST

TEST_MAIN("uid_many", TEST(names_are_resolved_together),
          TEST(names_are_read_together),
          TEST(the_first_id_without_a_name_is_told))
