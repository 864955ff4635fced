#include "tests/suites.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tempdir.h"

#define SKIPPED 77 /* what 'make check' takes for it */

static struct suite *suites, **suites_end = &suites;

void
suite_add(struct suite *s)
{
    *suites_end = s;
    suites_end = &s->next;
}

/* "../tests/storage/kv/test_kv.c" is test_kv. */
static bool
suite_is(const struct suite *s, const char *name, size_t len)
{
    const char *slash = strrchr(s->file, '/');
    const char *base = slash == NULL ? s->file : slash + 1;

    return strncmp(base, name, len) == 0 && strcmp(base + len, ".c") == 0;
}

static bool
suite_is_among(const struct suite *s, const char *names)
{
    while (*names != '\0') {
        size_t len = strcspn(names, " \n");

        if (len > 0 && suite_is(s, names, len))
            return true;
        names += len + (names[len] != '\0');
    }
    return false;
}

/* A signal ends the suite that runs, and with it what follows: the folder of
 * all is removed. */
static volatile sig_atomic_t running, ended;

static void
end_suite(int number)
{
    ended = number;
    if (running > 0)
        (void)kill(running, SIGTERM);
}

static void
handle_signals(void (*f)(int number))
{
    const struct sigaction act = { .sa_handler = f, .sa_flags = SA_RESTART };

    (void)sigaction(SIGHUP, &act, NULL);
    (void)sigaction(SIGINT, &act, NULL);
    (void)sigaction(SIGTERM, &act, NULL);
}

/* What a suite leaves behind (environment, signals, limits, threads) ends with
 * its process. */
static int
run_in_child(const struct suite *s)
{
    int how = 0;
    pid_t pid = fork();

    if (pid == 0) {
        handle_signals(SIG_DFL);
        exit(s->run());
    }
    running = pid;
    if (pid > 0 && waitpid(pid, &how, 0) != pid)
        pid = -1;
    running = 0;
    if (pid < 0)
        perror(s->file);
    else if (WIFSIGNALED(how))
        (void)printf("%s: ended by signal %d\n", s->file, WTERMSIG(how));
    else if (WEXITSTATUS(how) == SKIPPED)
        return SKIPPED;
    else if (WEXITSTATUS(how) == 0)
        return EXIT_SUCCESS;
    else
        (void)printf("%s: failed\n", s->file);
    return EXIT_FAILURE;
}

static int
run_one(const char *name)
{
    for (const struct suite *s = suites; s != NULL; s = s->next)
        if (suite_is(s, name, strlen(name)))
            return s->run();
    (void)fprintf(stderr, "no suite %s\n", name);
    return EXIT_FAILURE;
}

int
main(int argc, char **argv)
{
    const char *chosen = getenv("HALITE_SUITES");
    int result = SKIPPED;
    char *dir;

    if (chosen == NULL)
        chosen = "";
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 1)
        return run_one(argv[1]);
    dir = tempdir_new();
    (void)setenv("TMPDIR", dir, 1);
    handle_signals(end_suite);
    for (const struct suite *s = suites; s != NULL && ended == 0; s = s->next) {
        int status;

        if (*chosen != '\0' && !suite_is_among(s, chosen))
            continue;
        status = run_in_child(s);
        if (result != EXIT_FAILURE && status != SKIPPED)
            result = status;
    }
    tempdir_free(&dir);
    return ended == 0 ? result : EXIT_FAILURE;
}
