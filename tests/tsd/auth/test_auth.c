#include "tsd/auth/auth.h"

#include <pthread.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/process/clock.h"
#include "tests/harness.h"
#include "tests/tempdir.h"
#include "web/http.h"

/* "secret", "root" and "let-me-in" */
#define SECRET \
    "$5$rounds=1000$abcdefgh$XIppta5rT8zJUu4vAOKQXrwq9uY4Ijlz6VjyOmkx5i4"
#define ROOT \
    "$5$rounds=1000$abcdefgh$Gii2tKXx.RIufipdtrtWua9Ke9PHIjVVkgJE0flho/."
#define TOKEN \
    "sha256:a3ee786b5707c27d42570785081ec17f5c7db9262a01366af362a1aa61a420b9"
#define FILE_TEXT                   \
    "user reader read " SECRET "\n" \
    "user root admin " ROOT "\n"    \
    "token agent write " TOKEN "\n"

/* Of the case that runs: a file of credentials, and what reads it. */
static char *dir, *path;
static struct auth *auth;

static void
write_file(const char *text)
{
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(text, f), 0);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_int_eq(chmod(path, 0600), 0);
}

static void
open_with(const char *text)
{
    struct error e;

    auth_close(&auth);
    write_file(text);
    ck_assert_msg(auth_open(path, &auth, &e) == ST_OK, "%s", e.text);
}

static void
setup(void)
{
    dir = tempdir_new();
    path = tempdir_path(dir, "auth");
    open_with(FILE_TEXT);
}

static void
teardown(void)
{
    auth_close(&auth);
    ck_assert_ptr_null(auth);
    free(path);
    tempdir_free(&dir);
}

static enum auth_verdict
password(const char *name, const char *secret, const char *peer,
         struct auth_identity *who)
{
    return auth_password(auth, slice_str(name), slice_str(secret),
                         strtoul(peer, NULL, 36), true, who);
}

static const struct {
    const char *name, *secret;
    const char *known; /* NULL: wrong */
    unsigned rights;
} credentials[] = {
    { "reader", "secret", "reader", HTTP_READS },
    { "root", "root", "root", HTTP_ALL_RIGHTS },
    { NULL, "let-me-in", "agent", HTTP_WRITES },
    { "reader", "Secret", NULL, 0 },
    { "reader", "secret ", NULL, 0 },
    { "reader", "", NULL, 0 },
    { "reader", "root", NULL, 0 },
    { "reader", SECRET, NULL, 0 },
    { "Reader", "secret", NULL, 0 },
    { "unknown", "secret", NULL, 0 },
    { "", "secret", NULL, 0 },
    { "agent", "let-me-in", NULL, 0 },
    { NULL, "let-me-in ", NULL, 0 },
    { NULL, "", NULL, 0 },
    { NULL, "secret", NULL, 0 },
    { NULL, TOKEN, NULL, 0 },
};

START_TEST(knows_who_is_who)
{
    struct auth_identity who = { 0 };

    for (int again = 0; again < 2; again++) {
        enum auth_verdict v =
            credentials[_i].name == NULL
                ? auth_token(auth, slice_str(credentials[_i].secret), &who)
                : password(credentials[_i].name, credentials[_i].secret, "p",
                           &who);

        ck_assert_int_eq(v,
                         credentials[_i].known == NULL ? AUTH_WRONG : AUTH_OK);
        if (v != AUTH_OK)
            continue;
        ck_assert_str_eq(who.name, credentials[_i].known);
        ck_assert_uint_eq(who.rights, credentials[_i].rights);
    }
    auth_anonymous(auth, &who);
    ck_assert_uint_eq(who.rights, 0);
}
END_TEST

/* Who is remembered must know the password all the same. */
START_TEST(remembers_a_password_not_a_name)
{
    struct auth_identity who;

    ck_assert_int_eq(password("reader", "secret", "p", &who), AUTH_OK);
    ck_assert_int_eq(password("reader", "root", "p", &who), AUTH_WRONG);
    ck_assert_int_eq(password("root", "secret", "p", &who), AUTH_WRONG);
    ck_assert_int_eq(password("reader", "secret", "p", &who), AUTH_OK);
}
END_TEST

START_TEST(adds_what_anonymous_clients_may)
{
    struct auth_identity who;

    open_with("anonymous read\n" FILE_TEXT);
    auth_anonymous(auth, &who);
    ck_assert_uint_eq(who.rights, HTTP_READS);
    ck_assert_int_eq(auth_token(auth, slice_str("let-me-in"), &who), AUTH_OK);
    ck_assert_uint_eq(who.rights, HTTP_READS | HTTP_WRITES);
}
END_TEST

/* Wrong passwords until there are too many: how many that were. */
static int
guess(const char *peer)
{
    struct auth_identity who;
    int n = 0;

    while (n < 1000 && password("reader", "x", peer, &who) == AUTH_WRONG)
        n++;
    return n;
}

START_TEST(slows_down_who_guesses)
{
    struct auth_identity who;
    enum auth_verdict good;
    int64_t from_us;
    int n;

    ck_assert_int_eq(password("reader", "secret", "a", &who), AUTH_OK);
    n = guess("a");
    ck_assert_int_ge(n, AUTH_GUESSES);
    ck_assert_int_lt(n, 1000);
    /* Not even a good one is looked at, but for who is known already.  A second
     * later one more guess is free: on a slow machine, guess again. */
    do {
        from_us = clock_monotonic_us();
        (void)guess("a");
        good = password("root", "root", "a", &who);
    } while (good != AUTH_TOO_MANY && clock_monotonic_us() - from_us > 500000);
    ck_assert_int_eq(good, AUTH_TOO_MANY);
    ck_assert_int_eq(password("reader", "secret", "a", &who), AUTH_OK);
    /* Others are not concerned, and tokens cannot be guessed. */
    ck_assert_int_eq(password("root", "root", "b", &who), AUTH_OK);
    ck_assert_int_eq(auth_token(auth, slice_str("let-me-in"), &who), AUTH_OK);
}
END_TEST

START_TEST(slows_down_many_who_guess)
{
    struct auth_identity who;
    int n = 0;

    while (n < 5000) {
        char peer[16];

        (void)snprintf(peer, sizeof peer, "%d", n);
        if (password("reader", "x", peer, &who) == AUTH_TOO_MANY)
            break;
        n++;
    }
    ck_assert_int_gt(n, AUTH_GUESSES);
    ck_assert_int_lt(n, 5000);
}
END_TEST

START_TEST(reads_its_file_again)
{
    struct auth_identity who;
    struct error e;

    ck_assert_int_eq(password("reader", "secret", "a", &who), AUTH_OK);
    /* A bad one changes nothing. */
    write_file("user reader\n");
    ck_assert_int_eq(auth_reload(auth, &e), ST_INVALID);
    ck_assert(strstr(e.text, "line 1") != NULL);
    ck_assert_int_eq(password("reader", "secret", "a", &who), AUTH_OK);
    ck_assert_int_eq(remove(path), 0);
    ck_assert_int_eq(auth_reload(auth, &e), ST_NOT_FOUND);
    ck_assert_int_eq(password("reader", "secret", "a", &who), AUTH_OK);
    /* Who is out is out, however well known he was. */
    write_file("user reader write " ROOT "\n");
    ck_assert_int_eq(auth_reload(auth, &e), ST_OK);
    ck_assert_int_eq(password("reader", "secret", "a", &who), AUTH_WRONG);
    ck_assert_int_eq(password("reader", "root", "a", &who), AUTH_OK);
    ck_assert_uint_eq(who.rights, HTTP_WRITES);
    ck_assert_int_eq(password("root", "root", "a", &who), AUTH_WRONG);
    ck_assert_int_eq(auth_token(auth, slice_str("let-me-in"), &who),
                     AUTH_WRONG);
}
END_TEST

/* Without leave to hash it never does, and says so. */
START_TEST(hashes_only_where_it_may)
{
    struct auth_identity who;
    struct error e;
    struct slice name = slice_str("reader"), secret = slice_str("secret");

    ck_assert_int_eq(auth_password(auth, name, secret, 1, false, &who),
                     AUTH_SLOW);
    ck_assert_int_eq(password("reader", "secret", "1", &who), AUTH_OK);
    ck_assert_int_eq(auth_password(auth, name, secret, 1, false, &who),
                     AUTH_OK);
    /* A reload forgets only those whose line changed. */
    write_file("user reader write " SECRET "\nuser root read " SECRET "\n");
    ck_assert_int_eq(auth_reload(auth, &e), ST_OK);
    ck_assert_int_eq(auth_password(auth, name, secret, 1, false, &who),
                     AUTH_OK);
    ck_assert_uint_eq(who.rights, HTTP_WRITES);
    ck_assert_int_eq(
        auth_password(auth, slice_str("root"), secret, 1, false, &who),
        AUTH_SLOW);
    (void)guess("1");
    ck_assert_int_eq(
        auth_password(auth, slice_str("root"), secret, 1, false, &who),
        AUTH_TOO_MANY);
}
END_TEST

static int64_t
cpu_us(void)
{
    struct timespec t;

    ck_assert_int_eq(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t), 0);
    return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

/* As much as the costliest hash, wherever that stands: 500 times the other. */
START_TEST(unknown_names_cost_most)
{
    struct auth_identity who;
    int64_t from, known, unknown;

    open_with("user reader read " SECRET "\n"
              "user root admin $5$rounds=500000$abcdefgh$01234567890\n");
    from = cpu_us();
    ck_assert_int_eq(password("reader", "wrong", "1", &who), AUTH_WRONG);
    known = cpu_us() - from;
    from = cpu_us();
    ck_assert_int_eq(password("unknown", "wrong", "1", &who), AUTH_WRONG);
    unknown = cpu_us() - from;
    ck_assert_int_gt(unknown, 20 * known);
}
END_TEST

struct hold {
    pthread_mutex_t lock;
    int ran;
};

static void
run_held(void *arg)
{
    struct hold *h = arg;

    ck_assert_int_eq(pthread_mutex_lock(&h->lock), 0);
    h->ran++;
    ck_assert_int_eq(pthread_mutex_unlock(&h->lock), 0);
}

START_TEST(queues_a_few_hashes)
{
    struct hold h = { .lock = PTHREAD_MUTEX_INITIALIZER };
    int taken = 0;

    ck_assert_int_eq(pthread_mutex_lock(&h.lock), 0);
    while (taken < 100 && auth_later(auth, run_held, &h))
        taken++;
    /* One more when the thread took the first at once. */
    ck_assert_int_ge(taken, AUTH_QUEUE);
    ck_assert_int_le(taken, AUTH_QUEUE + 1);
    ck_assert_int_eq(pthread_mutex_unlock(&h.lock), 0);
    auth_close(&auth);
    ck_assert_int_eq(h.ran, taken);
}
END_TEST

/* What was shown once holds for as long as the file says so. */
START_TEST(renews_who_came_in)
{
    struct auth_identity token, user, now;
    struct error e;

    ck_assert_int_eq(auth_token(auth, slice_str("let-me-in"), &token), AUTH_OK);
    ck_assert_int_eq(password("reader", "secret", "a", &user), AUTH_OK);
    ck_assert(!auth_renew(auth, user.generation, user.fingerprint, &now));
    /* Read again, the same: nothing changes. */
    ck_assert_int_eq(auth_reload(auth, &e), ST_OK);
    ck_assert(auth_renew(auth, user.generation, user.fingerprint, &now));
    ck_assert_str_eq(now.name, "reader");
    ck_assert_uint_eq(now.rights, user.rights);
    ck_assert(!auth_renew(auth, now.generation, now.fingerprint, &now));
    ck_assert(auth_renew(auth, token.generation, token.fingerprint, &now));
    ck_assert_uint_eq(now.rights, token.rights);
    /* Another password, or no such token: anonymous, with the roles of all. */
    write_file("anonymous read\nuser reader write " ROOT "\n");
    ck_assert_int_eq(auth_reload(auth, &e), ST_OK);
    ck_assert(auth_renew(auth, user.generation, user.fingerprint, &now));
    ck_assert_str_eq(now.name, "");
    ck_assert_uint_eq(now.rights, HTTP_READS);
    ck_assert(auth_renew(auth, token.generation, token.fingerprint, &now));
    ck_assert_str_eq(now.name, "");
    /* Other roles. */
    write_file(FILE_TEXT);
    ck_assert_int_eq(auth_reload(auth, &e), ST_OK);
    write_file("user reader admin " SECRET "\n");
    ck_assert_int_eq(auth_reload(auth, &e), ST_OK);
    ck_assert(auth_renew(auth, user.generation, user.fingerprint, &now));
    ck_assert_uint_eq(now.rights, HTTP_ALL_RIGHTS);
}
END_TEST

START_TEST(does_without_names)
{
    struct auth_identity who;
    struct auth *a;
    struct error e;

    open_with("");
    ck_assert_int_eq(password("reader", "secret", "a", &who), AUTH_WRONG);
    ck_assert_int_eq(auth_token(auth, slice_str("x"), &who), AUTH_WRONG);
    ck_assert_int_eq(auth_open("/nonexistent/auth", &a, &e), ST_NOT_FOUND);
    ck_assert_ptr_null(a);
}
END_TEST

START_TEST(writes_digests)
{
    char text[80];

    auth_token_digest(slice_str("let-me-in"), text, sizeof text);
    ck_assert_str_eq(text, TOKEN);
}
END_TEST

static void *
come_and_go(void *arg)
{
    struct auth_identity who;

    for (int i = 0; i < 300; i++) {
        ck_assert_int_eq(auth_header(auth,
                                     slice_str("Basic cmVhZGVyOnNlY3JldA=="), 1,
                                     true, &who),
                         AUTH_OK);
        ck_assert_int_eq(
            auth_header(auth, slice_str("Bearer let-me-in"), 1, true, &who),
            AUTH_OK);
    }
    return NULL;
}

START_TEST(serves_many_while_it_reads)
{
    pthread_t threads[3];
    struct error e;

    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, come_and_go, NULL),
                         0);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(auth_reload(auth, &e), ST_OK);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
}
END_TEST

TEST_MAIN_WITH(setup, teardown, "auth", LOOP(knows_who_is_who, credentials),
               TEST(remembers_a_password_not_a_name),
               TEST(adds_what_anonymous_clients_may),
               TEST(slows_down_who_guesses), TEST(slows_down_many_who_guess),
               TEST(hashes_only_where_it_may), TEST(unknown_names_cost_most),
               TEST(queues_a_few_hashes), TEST(reads_its_file_again),
               TEST(renews_who_came_in), TEST(does_without_names),
               TEST(writes_digests), TEST(serves_many_while_it_reads))
