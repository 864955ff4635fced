/* Many names, and many ids, at once. */
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/file/durable.h"
#include "storage/kv/engine.h"
#include "tests/uid/fixture.h"
#include "uid/names/uid.h"

/* More than the engine gathers in memory. */
#define MANY 15000

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

/* As if the disk of the engine's log were full; the WAL's is not. */
static void
fill_engine_log(const struct fixture *f)
{
    char *engine = files_path(f->dir, "engine"), path[64], to[4096];
    DIR *d = opendir("/proc/self/fd");
    const struct dirent *entry;
    int found = -1, full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    ssize_t n;

    while ((entry = readdir(d)) != NULL) {
        (void)snprintf(path, sizeof path, "/proc/self/fd/%.20s", entry->d_name);
        n = readlink(path, to, sizeof to - 1);
        to[n < 0 ? 0 : n] = '\0';
        if (strncmp(to, engine, strlen(engine)) == 0 && n > 4 &&
            strcmp(to + n - 4, ".log") == 0)
            found = atoi(entry->d_name);
    }
    ck_assert_int_ge(found, 0);
    ck_assert_int_eq(dup2(full, found), found);
    (void)close(full);
    (void)closedir(d);
    free(engine);
}

static void
fail_engine(const struct fixture *f)
{
    struct error why;

    (void)error_set(&why, ST_IO, "the engine failed");
    (void)kv_fail(store_kv(f->store), &why, NULL);
}

static void
close_failed(struct fixture *f)
{
    struct error e;

    records_close(&f->records);
    series_close(&f->series);
    uid_close(&f->uids);
    ck_assert_int_eq(store_close(&f->store, &e), ST_IO);
}

static enum status
create_many(const struct fixture *f)
{
    static char texts[MANY][16];
    static struct uid_wanted names[MANY];

    for (int i = 0; i < MANY; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "n%d", i);
        names[i] =
            (struct uid_wanted){ .name = slice_str(texts[i]), .create = true };
    }
    return uid_resolve(f->uids, UID_TAGV, names, MANY, NULL);
}

static void
is_named(struct fixture *f, const char *name)
{
    uint64_t id = create(f, name);
    struct buf text = BUF_INIT;

    OK(uid_name(f->uids, UID_TAGV, id, &text, &e));
    ck_assert_str_eq(buf_cstr(&text), name);
    buf_fini(&text);
}

/* What the WAL took before the engine failed becomes names at the next start,
 * so their ids are taken; behind the failure the WAL takes no names. */
START_TEST(an_engine_that_fails_gives_no_id_twice)
{
    struct fixture f = fixture_new_on_disk();
    uint64_t id;

    if (kv_traits(store_kv(f.store))->shared) { /* names are not in a WAL */
        fixture_free(&f);
        return;
    }
    ck_assert_uint_eq(create(&f, "old"), 1);
    if (_i == 0)
        fail_engine(&f);
    else
        fill_engine_log(&f);
    ck_assert_int_eq(create_many(&f), ST_IO);
    ck_assert_int_eq(
        uid_get_or_create(f.uids, UID_TAGV, slice_str("fuel"), &id, NULL),
        ST_IO);
    close_failed(&f);
    fixture_open(&f);
    is_named(&f, "temperature");
    is_named(&f, "fuel");
    is_named(&f, "old");
    is_named(&f, "n0");
    is_named(&f, "n8999");
    /* All of the batch, or none. */
    ck_assert_uint_eq(create(&f, "more"), _i == 0 ? 6 : MANY + 4);
    fixture_free(&f);
}
END_TEST

TEST_MAIN("uid_many", TEST(names_are_resolved_together),
          TEST(names_are_read_together),
          TEST(the_first_id_without_a_name_is_told),
          TIMES(an_engine_that_fails_gives_no_id_twice, 2))
