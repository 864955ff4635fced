/* No way around the checks of rights: each route, by each method, in each
 * spelling. */
#include "tsd/auth/authorize.h"

#include <ctype.h>
#include <sys/stat.h>

#include "tests/harness.h"
#include "tests/tempdir.h"
#include "tests/tsd/rig.h"
#include "tsd/routes.h"

/* "t-read" */
#define READER \
    "sha256:37b8d57153bffdf023160736edb4fcb922a1b6b6ce2dba953f4b571880757b47"

struct place {
    struct rig rig;
    char *dir, *path;
    struct routes routes;
};

static void
place_open(struct place *p)
{
    char word[300];
    const char *const words[] = { word, "tsd.http.query.allow_delete=true",
                                  NULL };
    struct api api = { 0 };
    FILE *f;

    p->dir = tempdir_new();
    p->path = tempdir_path(p->dir, "auth");
    f = fopen(p->path, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_gt(fprintf(f, "token reader read %s\n", READER), 0);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_int_eq(chmod(p->path, 0600), 0);
    (void)snprintf(word, sizeof word, "halite.auth.file=%s", p->path);
    rig_open(&p->rig, words);
    api.settings = p->rig.settings;
    routes_make(&api, &p->routes);
}

static void
place_close(struct place *p)
{
    rig_close(&p->rig);
    free(p->path);
    tempdir_free(&p->dir);
}

static int
ask(const struct place *p, const char *method, const char *path,
    const char *headers)
{
    struct buf all = BUF_INIT;
    int fd = rig_connect(&p->rig);
    int status;

    buf_printf(
        &all,
        "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n",
        method, path, headers);
    wire_send(fd, all.data, all.size);
    buf_clear(&all);
    while (wire_read(fd, &all, all.size + 1))
        continue;
    (void)close(fd);
    status = atoi(buf_cstr(&all) + strlen("HTTP/1.1 "));
    if (status == 401)
        ck_assert(strstr(buf_cstr(&all),
                         "WWW-Authenticate: Basic realm=\"Halite\"") != NULL);
    buf_fini(&all);
    return status;
}

/* What needs no name, on purpose. */
static bool
is_open(const char *path)
{
    return strcmp(path, "/") == 0 || strcmp(path, "/ui") == 0 ||
           strcmp(path, "/health") == 0 || strcmp(path, "/api/status") == 0 ||
           strcmp(path, "/favicon.ico") == 0;
}

static void
spell(const char *path, int how, char *out, size_t size)
{
    switch (how) {
    case 0:
        (void)snprintf(out, size, "%s", path);
        break;
    case 1:
        for (size_t i = 0; i <= strlen(path); i++)
            out[i] = (char)toupper((unsigned char)path[i]);
        break;
    case 2:
        (void)snprintf(out, size, "%s/", path);
        break;
    case 3: /* "%61pi" */
        if (isalpha((unsigned char)path[1]))
            (void)snprintf(out, size, "/%%%02x%s", (unsigned)path[1], path + 2);
        else
            (void)snprintf(out, size, "%s", path);
        break;
    case 4:
        (void)snprintf(out, size, "%s%s",
                       strncmp(path, "/api/", 5) == 0 ? "/api/v1" : "",
                       strncmp(path, "/api/", 5) == 0 ? path + 4 : path);
        break;
    default:
        (void)snprintf(out, size, "%s?method_override=delete&jsonp=f&json",
                       path);
        break;
    }
}

static const char *const methods[] = { "GET",    "HEAD",    "POST", "PUT",
                                       "DELETE", "OPTIONS", "PATCH" };

START_TEST(rejects_anonymous_clients)
{
    struct place p;

    place_open(&p);
    for (size_t i = 0; i < p.routes.http_len; i++) {
        const struct http_route *r = &p.routes.http[i];

        ck_assert_msg((r->requires == 0) == is_open(r->path), "%s", r->path);
        ck_assert((r->get_requires == 0) == is_open(r->path));
        ck_assert((r->delete_requires == 0) == is_open(r->path));
        for (int how = 0; how < 6 && !is_open(r->path); how++) {
            char path[128];
            int status;

            spell(r->path, how, path, sizeof path);
            status = ask(&p, methods[_i], path, "");
            ck_assert_msg(status >= 400, "%s %s: %d", methods[_i], path,
                          status);
            status = ask(&p, methods[_i], path, "Authorization: Bearer x\r\n");
            ck_assert_msg(status >= 400, "%s %s: %d", methods[_i], path,
                          status);
        }
    }
    place_close(&p);
}
END_TEST

/* Who reads neither writes nor deletes, by any method. */
START_TEST(keeps_readers_to_reading)
{
    struct place p;

    place_open(&p);
    for (size_t i = 0; i < p.routes.http_len; i++) {
        const struct http_route *r = &p.routes.http[i];
        unsigned needs =
            strcmp(methods[_i], "GET") == 0 || strcmp(methods[_i], "HEAD") == 0
                ? r->get_requires
            : strcmp(methods[_i], "DELETE") == 0 ? r->delete_requires
                                                 : r->requires;
        int status;

        if ((needs & ~(unsigned)HTTP_READS) == 0)
            continue;
        status =
            ask(&p, methods[_i], r->path, "Authorization: Bearer t-read\r\n");
        ck_assert_msg(status >= 400 && status != 401, "%s %s: %d", methods[_i],
                      r->path, status);
    }
    place_close(&p);
}
END_TEST

START_TEST(lets_readers_read)
{
    struct place p;

    place_open(&p);
    ck_assert_int_eq(ask(&p, "GET", "/api/suggest?type=metrics",
                         "Authorization: Bearer t-read\r\n"),
                     200);
    ck_assert_int_eq(
        ask(&p, "GET", "/dropcaches", "Authorization: Bearer t-read\r\n"), 403);
    ck_assert_int_eq(ask(&p, "GET", "/health", ""), 200);
    place_close(&p);
}
END_TEST

START_TEST(asks_for_a_file)
{
    struct settings *s = settings_new();
    struct daemon *d;
    struct error e;

    settings_set(s, "tsd.network.port", "0");
    settings_set(s, "halite.store", "memory");
    settings_set(s, "tsd.core.authentication.enable", "true");
    ck_assert_int_eq(daemon_start(s, -1, &d, &e), ST_INVALID);
    ck_assert(strstr(e.text, "halite.auth.file") != NULL);
    settings_set(s, "halite.auth.file", "/nonexistent/auth");
    ck_assert_int_eq(daemon_start(s, -1, &d, &e), ST_INVALID);
    settings_free(&s);
}
END_TEST

TEST_MAIN("authorize", LOOP(rejects_anonymous_clients, methods),
          LOOP(keeps_readers_to_reading, methods), TEST(lets_readers_read),
          TEST(asks_for_a_file))
