/* What people write, from several daemons at once: each change is read, made
 * and written by one process at a time, so that none is lost. */
#include <pthread.h>

#include "tests/uid/shared/daemons.h"
#include "uid/meta/tree.h"

enum { THREADS = 6, TREES = 20 };

static void *
make_trees(void *arg)
{
    struct fixture *f = arg;

    for (int i = 0; i < TREES; i++) {
        struct tree t = { .name = slice_str("t") };

        OK(tree_create(f->records, &t, &e));
    }
    return NULL;
}

/* Each takes the id after the highest. */
START_TEST(trees_of_all_daemons_have_ids_of_their_own)
{
    struct arena *a = arena_new(0);
    pthread_t threads[THREADS];
    struct daemons all;
    struct tree *trees;
    size_t len;

    daemons_open(&all);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, make_trees, &all.d[i % DAEMONS]),
            0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    OK(tree_list(all.d[0].records, a, &trees, &len, &e));
    ck_assert_uint_eq(len, THREADS * TREES);
    arena_free(&a);
    daemons_close(&all);
}
END_TEST

/* Whoever knows of no annotation looks for none. */
START_TEST(all_know_that_there_are_annotations)
{
    struct arena *a = arena_new(0);
    struct annotation n = { .start = 1356998400,
                            .description = slice_str("x") };
    struct annotation found;
    struct daemons all;
    bool changed;

    daemons_open(&all);
    for (int i = 0; i < DAEMONS; i++)
        ck_assert(!annotation_any(all.d[i].records));
    OK(annotation_put(all.d[0].records, &n,
                      &(struct record_change){ ~0u, false, a }, &changed, &e));
    ck_assert(changed);
    for (int i = 0; i < DAEMONS; i++) {
        ck_assert(annotation_any(all.d[i].records));
        OK(annotation_get(all.d[i].records, slice_str(""), 1356998400, a,
                          &found, &e));
        ck_assert(slice_eq(found.description, slice_str("x")));
    }
    arena_free(&a);
    daemons_close(&all);
}
END_TEST

/* The one that wrote the first annotation could not tell: it tells with the
 * next one. */
START_TEST(an_announcement_that_failed_is_made_again)
{
    struct arena *a = arena_new(0);
    struct annotation n = { .start = 1356998400,
                            .description = slice_str("x") };
    struct daemons all;
    bool changed;

    daemons_open(&all);
    all.cut = true;
    ck_assert_int_eq(annotation_put(all.d[0].records, &n,
                                    &(struct record_change){ ~0u, false, a },
                                    &changed, NULL),
                     ST_TIMEOUT);
    all.cut = false;
    OK(annotation_put(all.d[0].records, &n,
                      &(struct record_change){ ~0u, false, a }, &changed, &e));
    for (int i = 0; i < DAEMONS; i++)
        ck_assert(annotation_any(all.d[i].records));
    arena_free(&a);
    daemons_close(&all);
}
END_TEST

TEST_MAIN("shared_records", TEST(trees_of_all_daemons_have_ids_of_their_own),
          TEST(all_know_that_there_are_annotations),
          TEST(an_announcement_that_failed_is_made_again))
