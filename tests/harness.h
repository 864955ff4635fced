/* What every source of a Check program needs: its suite (tests/suites.h).
 *
 *     TEST_MAIN("number", TEST(parses), LOOP(formats, cases)) */
#pragma once

#include <check.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/suites.h"

/* Check notes each assertion that held by a write() to its parent, so that it
 * can tell the last one before a crash: half of the time of the tests.  The
 * test it was in is told without. */
#define _mark_point(file, line) ((void)0)

struct harness_case {
    const TTest *test;
    int len; /* 0: once; else a loop test over _i = 0 .. len - 1 */
};

#define TEST(name) \
    {              \
        (name), 0  \
    }
#define LOOP(name, cases)                                 \
    {                                                     \
        (name), (int)(sizeof(cases) / sizeof((cases)[0])) \
    }
#define TIMES(name, n) \
    {                  \
        (name), (n)    \
    }

/* For cases about LevelDB's own files or formats: they are left out where
 * HALITE_ENGINE puts another engine in its place. */
#define ON_LEVELDB(case) \
    (getenv("HALITE_ENGINE") == NULL ? (struct harness_case) case : NO_CASE)
#define NO_CASE ((struct harness_case){ NULL, 0 })

/* Prints the seed of a random test; HALITE_SEED repeats one. */
static inline unsigned long
harness_seed(unsigned long fallback)
{
    const char *s = getenv("HALITE_SEED");
    unsigned long seed = s == NULL ? fallback : strtoul(s, NULL, 10);

    (void)printf("seed %lu (HALITE_SEED=%lu repeats this run)\n", seed, seed);
    return seed;
}

/* A generator whose numbers depend on the seed alone (splitmix64). */
static inline uint64_t
harness_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* A child that has done its part ends as by kill -9: nothing is closed, and
 * valgrind does not ask where its memory went. */
static inline void
harness_die(void)
{
    (void)raise(SIGKILL);
}

/* Waits for a child that is to end so. */
static inline void
harness_wait_dead(pid_t child)
{
    int how;

    ck_assert_int_eq(waitpid(child, &how, 0), child);
    ck_assert_msg(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL,
                  "the child failed: %d", how);
}

/* There times mean little, and some system calls are valgrind's own. */
static inline bool
harness_is_valgrind(void)
{
    const char *s = getenv("LD_PRELOAD");

    return s != NULL && strstr(s, "vgpreload") != NULL;
}

/* How often to try what has no threads: under the thread sanitizer a sixth. */
static inline int
harness_rounds(int n)
{
#if defined(__SANITIZE_THREAD__)
    return n / 6 + 1;
#else
    return n;
#endif
}

#define HARNESS_LIMIT_S 120 /* of a case; a wait in one ends after 60 */

/* Runs before each case that has no process of its own: SIGALRM ends one that
 * hangs, and not, as Check would have it, the process group: all of make. */
static inline void
harness_limit(void)
{
    const char *times = getenv("CK_TIMEOUT_MULTIPLIER");

    (void)signal(SIGALRM, SIG_DFL);
    (void)alarm(HARNESS_LIMIT_S *
                (unsigned)(times == NULL ? 1 : strtoul(times, NULL, 10)));
}

static inline int
harness_run(const char *name, enum fork_status fork_status, SFun setup,
            SFun teardown, const struct harness_case *cases, size_t len)
{
    Suite *suite = suite_create(name);
    TCase *t = tcase_create(name);
    SRunner *r;
    int failed;

    tcase_set_timeout(t, HARNESS_LIMIT_S);
    for (size_t i = 0; i < len; i++) {
        if (cases[i].test == NULL)
            continue;
        if (cases[i].len == 0)
            tcase_add_test(t, cases[i].test);
        else
            tcase_add_loop_test(t, cases[i].test, 0, cases[i].len);
    }
    suite_add_tcase(suite, t);
    r = srunner_create(suite);
    if (getenv("CK_FORK") == NULL)
        srunner_set_fork_status(r, fork_status);
    if (srunner_fork_status(r) == CK_NOFORK)
        tcase_add_checked_fixture(t, harness_limit, NULL);
    tcase_add_checked_fixture(t, setup, teardown);
    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* All cases run in one process: a process for each costs more than most cases
 * do.  If one crashes, CK_FORK=yes tells which. */
#define TEST_MAIN(name, ...) TEST_MAIN_WITH(NULL, NULL, name, __VA_ARGS__)

/* Each case runs in a process of its own: cases that fork, that end a thread's
 * wait by leaving it behind, or that change limits or the environment. */
#define TEST_MAIN_FORKED(name, ...) \
    TEST_MAIN_FORKED_WITH(NULL, NULL, name, __VA_ARGS__)

/* The same with 'setup' before and 'teardown' after each case, also after one
 * that failed half-way in this process.  NULL: none. */
#define TEST_MAIN_WITH(setup, teardown, name, ...) \
    HARNESS_SUITE(name, CK_NOFORK, setup, teardown, __VA_ARGS__)
#define TEST_MAIN_FORKED_WITH(setup, teardown, name, ...) \
    HARNESS_SUITE(name, CK_FORK, setup, teardown, __VA_ARGS__)

#define HARNESS_SUITE(name, fork_status, setup, teardown, ...)                 \
    SUITE(harness_suite)                                                       \
    {                                                                          \
        const struct harness_case cases_[] = { __VA_ARGS__ };                  \
                                                                               \
        return harness_run((name), (fork_status), (setup), (teardown), cases_, \
                           sizeof cases_ / sizeof cases_[0]);                  \
    }
