/* The suites of a test program: each source file adds one, and main() in
 * suites.c runs them.
 *
 *     PROGRAM                   all, each in a process of its own, with a
 *                               folder for all of them that goes with them
 *     PROGRAM test_kv           the suite of test_kv.c, in this process
 *     HALITE_SUITES='test_kv test_wal' PROGRAM
 *                               those of them that it has */
#pragma once

struct suite {
    const char *file; /* __FILE__ */
    int (*run)(void); /* an exit status; 77: it could not run */
    struct suite *next;
};

/* Called by constructors; 's' stays the caller's, and where it is. */
void suite_add(struct suite *s);

/* SUITE(run) { ... } is the body of the file's suite. */
#define SUITE(function)                                                      \
    static int function(void);                                               \
    __attribute__((constructor)) static void function##_add(void)            \
    {                                                                        \
        static struct suite suite = { .file = __FILE__, .run = (function) }; \
                                                                             \
        suite_add(&suite);                                                   \
    }                                                                        \
    static int function(void)
