#include "tsd/client/client.h"

#include <curl/curl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/obj.h"
#include "base/process/library.h"
#include "web/json/json.h"

/* Each call of libcurl that this room makes. */
#define LIBCURL_CALLS(CALL)    \
    CALL(curl, easy_cleanup)   \
    CALL(curl, easy_duphandle) \
    CALL(curl, easy_getinfo)   \
    CALL(curl, easy_init)      \
    CALL(curl, easy_perform)   \
    CALL(curl, easy_setopt)    \
    CALL(curl, easy_strerror)  \
    CALL(curl, slist_append)   \
    CALL(curl, slist_free_all)

/* All NULL until the first client loads it: libcurl needs the libraries of
 * LDAP, Kerberos and SSH (base/process/library.h). */
static struct libcurl {
    LIBCURL_CALLS(LIBRARY_MEMBER)
} libcurl;

static struct library library = {
    .purpose = "a command that asks a server",
    .package = "libcurl3-gnutls",
    .file_names = { "libcurl-gnutls.so.4", "libcurl.so.4" },
    LIBRARY_CALLS(LIBCURL_CALLS, libcurl),
};

#define CLIENT_MAGIC FOURCC('C', 'L', 'N', 'T')
#define CONNECT_MS   10000

struct client {
    uint32_t magic;
    CURL *curl;
    char *base;
    bool foreign;
    char why[CURL_ERROR_SIZE];
};

/* -- options --------------------------------------------------------------- */

/* curl_easy_setopt() takes an argument of any type; which one it reads follows
 * from the option. */
static void
set_long(struct client *c, CURLoption option, long value)
{
    INSIST(option < CURLOPTTYPE_OBJECTPOINT);
    (void)libcurl.easy_setopt(c->curl, option, value);
}

static void
set_pointer(struct client *c, CURLoption option, const void *value)
{
    INSIST(option > CURLOPTTYPE_OBJECTPOINT &&
           option < CURLOPTTYPE_FUNCTIONPOINT);
    (void)libcurl.easy_setopt(c->curl, option, value);
}

/* -- open and close -------------------------------------------------------- */

/* "0.0.0.0:4242" is where a server listens, and no address to call. */
static char *
make_base(const char *address)
{
    const char *front = strstr(address, "://") == NULL ? "http://" : "";
    size_t size = strlen(address);
    char *base = NULL;
    int n;

    while (size > 0 && address[size - 1] == '/')
        size--;
    if (strncmp(address, "0.0.0.0:", 8) == 0) {
        front = "http://127.0.0.1";
        address += 7;
        size -= 7;
    } else if (strncmp(address, "[::]:", 5) == 0) {
        front = "http://[::1]";
        address += 4;
        size -= 4;
    }
    n = asprintf(&base, "%s%.*s", front, (int)size, address);
    INSIST(n >= 0);
    return base;
}

/* '*out' is NULL when there is none. */
static enum status
read_secret(const char *file, char **out, struct error *e)
{
    const char *value = getenv("HALITE_TOKEN");
    char *line = NULL;
    size_t size = 0;
    FILE *f;

    *out = NULL;
    if (file == NULL) {
        if (value != NULL && *value != '\0')
            *out = mem_strdup(value);
        return ST_OK;
    }
    f = fopen(file, "re");
    if (f == NULL)
        return error_set(e, ST_INVALID, "%s: %m", file);
    (void)setvbuf(f, NULL, _IONBF, 0); /* no copy that stays in memory */
    if (getline(&line, &size, f) <= 0) {
        free(line);
        (void)fclose(f);
        return error_set(e, ST_INVALID, "%s has no token", file);
    }
    (void)fclose(f);
    line[strcspn(line, "\r\n")] = '\0';
    *out = line;
    return ST_OK;
}

static struct client *
client_new(CURL *curl, char *base)
{
    struct client *c = mem_new(sizeof *c);

    INSIST(curl != NULL);
    c->magic = CLIENT_MAGIC;
    c->curl = curl;
    c->base = base;
    set_pointer(c, CURLOPT_ERRORBUFFER, c->why);
    return c;
}

enum status
client_open(const struct client_options *o, struct client **out,
            struct error *e)
{
    char *secret = NULL;
    enum status st = library_load(&library, e);
    struct client *c;
    bool is_basic;

    *out = NULL;
    if (st == ST_OK && !o->foreign)
        st = read_secret(o->token_file, &secret, e);
    if (st != ST_OK)
        return st;
    (void)signal(SIGPIPE, SIG_IGN); /* CURLOPT_NOSIGNAL leaves it to us */
    c = client_new(libcurl.easy_init(), make_base(o->address));
    c->foreign = o->foreign;
    set_pointer(c, CURLOPT_PROTOCOLS_STR, "http,https");
    set_long(c, CURLOPT_NOSIGNAL, 1);
    set_long(c, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    set_long(c, CURLOPT_LOW_SPEED_LIMIT, 1);
    set_long(c, CURLOPT_LOW_SPEED_TIME, (long)o->stall_s);
    set_pointer(c, o->foreign ? CURLOPT_ACCEPT_ENCODING : CURLOPT_PROXY, "");
    if (o->cacert != NULL)
        set_pointer(c, CURLOPT_CAINFO, o->cacert);
    if (secret != NULL) {
        is_basic = strchr(secret, ':') != NULL;
        set_long(c, CURLOPT_HTTPAUTH,
                 (long)(is_basic ? CURLAUTH_BASIC : CURLAUTH_BEARER));
        set_pointer(c, is_basic ? CURLOPT_USERPWD : CURLOPT_XOAUTH2_BEARER,
                    secret);
        explicit_bzero(secret, strlen(secret));
    }
    free(secret);
    *out = c;
    return ST_OK;
}

struct client *
client_dup(const struct client *c)
{
    struct client *copy;

    OBJ_CHECK(c, CLIENT_MAGIC);
    copy = client_new(libcurl.easy_duphandle(c->curl), mem_strdup(c->base));
    copy->foreign = c->foreign;
    return copy;
}

void
client_close(struct client **cp)
{
    struct client *c = OBJ_TAKE(cp, CLIENT_MAGIC);

    if (c == NULL)
        return;
    libcurl.easy_cleanup(c->curl);
    free(c->base);
    OBJ_FREE(c);
}

const char *
client_base(const struct client *c)
{
    OBJ_CHECK(c, CLIENT_MAGIC);
    return c->base;
}

/* -- one request ----------------------------------------------------------- */

static size_t
take_answer(char *data, size_t size, size_t n, void *ctx)
{
    struct buf *b = ctx;

    buf_put(b, data, size * n);
    return b->failed ? 0 : size * n;
}

static enum status
failed_answer(const struct client *c, long http, struct slice answer,
              struct error *e)
{
    json_t *body = NULL;
    const json_t *error;
    const char *message, *details;
    enum status st = http == 404   ? ST_NOT_FOUND
                     : http == 413 ? ST_LIMIT
                     : http == 503 ? ST_BUSY
                     : http < 500  ? ST_INVALID
                                   : ST_IO;

    if (json_parse(answer, SIZE_MAX, &body, NULL) != ST_OK)
        body = NULL;
    error = json_object_get(body, "error");
    message = json_string_value(json_object_get(error, "message"));
    details = json_string_value(json_object_get(error, "details"));
    if (http == 401)
        (void)error_set(e, st, "The server wants credentials: %s",
                        c->foreign ? "http://NAME:PASSWORD@..."
                                   : "see --token");
    else if (message == NULL)
        (void)error_set(e, st, "The server answered with status %ld", http);
    else if (details == NULL || strcmp(details, message) == 0)
        (void)error_set(e, st, "%s", message);
    else
        (void)error_set(e, st, "%s (%s)", message, details);
    json_decref(body);
    return st;
}

/* libcurl's own words tell most, but for these two, which have milliseconds in
 * them: a trouble that lasts is told with the same words each time. */
static const char *
say_why(const struct client *c, CURLcode rc)
{
    bool is_plain = rc == CURLE_COULDNT_CONNECT ||
                    rc == CURLE_OPERATION_TIMEDOUT || c->why[0] == '\0';

    return is_plain ? libcurl.easy_strerror(rc) : c->why;
}

/* What the method needs is set; 'type' may be NULL. */
static enum status
perform(struct client *c, const char *path, const char *type,
        struct buf *answer, struct error *e)
{
    struct curl_slist *headers = libcurl.slist_append(NULL, "Expect:");
    struct buf url = BUF_INIT, line = BUF_INIT;
    CURLcode rc;
    long http = 0;

    buf_printf(&url, "%s%s", c->base, path);
    if (type != NULL) {
        buf_printf(&line, "Content-Type: %s", type);
        headers = libcurl.slist_append(headers, buf_cstr(&line));
    }
    buf_clear(answer);
    if (answer->max == 0)
        answer->max = CLIENT_ANSWER_MAX;
    c->why[0] = '\0';
    set_pointer(c, CURLOPT_URL, buf_cstr(&url));
    set_pointer(c, CURLOPT_HTTPHEADER, headers);
    (void)libcurl.easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, take_answer);
    set_pointer(c, CURLOPT_WRITEDATA, answer);
    rc = libcurl.easy_perform(c->curl);
    (void)libcurl.easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &http);
    libcurl.slist_free_all(headers);
    buf_fini(&url);
    buf_fini(&line);
    if (answer->failed)
        return error_set(e, ST_LIMIT, "%s: an answer of more than %zu MB",
                         c->base, answer->max >> 20);
    if (rc != CURLE_OK)
        return error_set(e, ST_IO, "%s: %s", c->base, say_why(c, rc));
    return http / 100 == 2 ? ST_OK
                           : failed_answer(c, http, buf_slice(answer), e);
}

enum status
client_get(struct client *c, const char *path, struct buf *answer,
           struct error *e)
{
    OBJ_CHECK(c, CLIENT_MAGIC);
    set_long(c, CURLOPT_HTTPGET, 1);
    return perform(c, path, NULL, answer, e);
}

enum status
client_post(struct client *c, const char *path, const char *type,
            struct slice body, struct buf *answer, struct error *e)
{
    OBJ_CHECK(c, CLIENT_MAGIC);
    set_long(c, CURLOPT_POST, 1);
    (void)libcurl.easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE,
                              (curl_off_t)body.size);
    set_pointer(c, CURLOPT_POSTFIELDS,
                body.size == 0 ? "" : (const char *)body.data);
    return perform(c, path, type, answer, e);
}
