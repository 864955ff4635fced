#include "tsd/tool/tool_remote.h"

#include <curl/curl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "tsd/tool/tool_frames.h"

#define REMOTE_MAGIC FOURCC('T', 'R', 'E', 'M')
#define CONNECT_MS   10000L
#define ANSWER_MAX   ((size_t)64 << 20) /* bytes; what is sent is less */
#define SECRET_MAX   4096

struct tool_remote {
    uint32_t magic;
    CURL *curl;
    char *base;   /* "https://host:4243" */
    char *secret; /* a token, or NAME:PASSWORD; NULL: none */
    char *cacert;
};

/* -- open and close -------------------------------------------------------- */

/* "0.0.0.0:4242" is where a server listens, and no address to call. */
static char *
make_base(const char *address)
{
    static const struct {
        const char *all, *own;
    } wild[] = { { "0.0.0.0:", "127.0.0.1:" }, { "[::]:", "[::1]:" } };
    char *base = NULL;
    int n;

    if (strstr(address, "://") != NULL)
        return mem_strdup(address);
    for (size_t i = 0; i < sizeof wild / sizeof wild[0]; i++) {
        size_t size = strlen(wild[i].all);

        if (strncmp(address, wild[i].all, size) != 0)
            continue;
        n = asprintf(&base, "http://%s%s", wild[i].own, address + size);
        INSIST(n > 0);
        return base;
    }
    n = asprintf(&base, "http://%s", address);
    INSIST(n > 0);
    return base;
}

static enum status
read_secret(const char *file, char **out, struct error *e)
{
    const char *value = getenv("HALITE_TOKEN");
    char line[SECRET_MAX];
    bool read;
    FILE *f;

    if (file == NULL) {
        *out = value == NULL || *value == '\0' ? NULL : mem_strdup(value);
        return ST_OK;
    }
    f = fopen(file, "re");
    if (f == NULL)
        return error_set(e, ST_INVALID, "%s: %m", file);
    read = fgets(line, sizeof line, f) != NULL;
    (void)fclose(f);
    if (!read)
        return error_set(e, ST_INVALID, "%s has no token", file);
    line[strcspn(line, "\r\n")] = '\0';
    *out = mem_strdup(line);
    return ST_OK;
}

static void
set_up(struct tool_remote *r)
{
    r->curl = curl_easy_init();
    INSIST(r->curl != NULL);
    (void)curl_easy_setopt(r->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(r->curl, CURLOPT_PROXY, "");
    (void)curl_easy_setopt(r->curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(r->curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    if (r->cacert != NULL)
        (void)curl_easy_setopt(r->curl, CURLOPT_CAINFO, r->cacert);
    if (r->secret != NULL && strchr(r->secret, ':') != NULL) {
        (void)curl_easy_setopt(r->curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        (void)curl_easy_setopt(r->curl, CURLOPT_USERPWD, r->secret);
    } else if (r->secret != NULL) {
        (void)curl_easy_setopt(r->curl, CURLOPT_HTTPAUTH,
                               (long)CURLAUTH_BEARER);
        (void)curl_easy_setopt(r->curl, CURLOPT_XOAUTH2_BEARER, r->secret);
    }
}

enum status
tool_remote_open(const struct tool_remote_options *o, struct tool_remote **out,
                 struct error *e)
{
    char *secret = NULL;
    struct tool_remote *r;
    enum status st = read_secret(o->token_file, &secret, e);

    *out = NULL;
    if (st != ST_OK)
        return st;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        free(secret);
        return error_set(e, ST_IO, "libcurl does not start");
    }
    r = mem_new(sizeof *r);
    r->magic = REMOTE_MAGIC;
    r->base = make_base(o->address);
    r->secret = secret;
    r->cacert = o->cacert == NULL ? NULL : mem_strdup(o->cacert);
    set_up(r);
    *out = r;
    return ST_OK;
}

struct tool_remote *
tool_remote_dup(const struct tool_remote *r)
{
    struct tool_remote *copy = mem_new(sizeof *copy);

    OBJ_CHECK(r, REMOTE_MAGIC);
    copy->magic = REMOTE_MAGIC;
    copy->base = mem_strdup(r->base);
    copy->secret = r->secret == NULL ? NULL : mem_strdup(r->secret);
    copy->cacert = r->cacert == NULL ? NULL : mem_strdup(r->cacert);
    set_up(copy);
    return copy;
}

void
tool_remote_close(struct tool_remote **rp)
{
    struct tool_remote *r = OBJ_TAKE(rp, REMOTE_MAGIC);

    if (r == NULL)
        return;
    curl_easy_cleanup(r->curl);
    free(r->base);
    free(r->secret);
    free(r->cacert);
    OBJ_FREE(r);
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
failed_answer(long http, struct buf *answer, struct error *e)
{
    json_t *body = json_loadb(answer->size == 0 ? "" : (char *)answer->data,
                              answer->size, 0, NULL);
    const json_t *error = json_object_get(body, "error");
    const char *message = json_string_value(json_object_get(error, "message"));
    const char *details = json_string_value(json_object_get(error, "details"));
    enum status st = http == 404   ? ST_NOT_FOUND
                     : http == 503 ? ST_BUSY
                     : http < 500  ? ST_INVALID
                                   : ST_IO;

    if (http == 401)
        (void)error_set(e, st, "The server wants credentials: see --token");
    else if (message == NULL)
        (void)error_set(e, st, "The server answered with status %ld", http);
    else if (details == NULL || strcmp(details, message) == 0)
        (void)error_set(e, st, "%s", message);
    else
        (void)error_set(e, st, "%s (%s)", message, details);
    json_decref(body);
    return st;
}

static CURLcode
perform(struct tool_remote *r, const char *path, const char *type,
        struct slice body, struct buf *answer)
{
    struct curl_slist *headers = NULL;
    char *url = NULL, *line = NULL;
    CURLcode rc;
    int n = asprintf(&url, "%s%s", r->base, path);

    INSIST(n > 0);
    n = asprintf(&line, "Content-Type: %s", type);
    INSIST(n > 0);
    headers = curl_slist_append(NULL, line);
    headers = curl_slist_append(headers, "Expect:");
    (void)curl_easy_setopt(r->curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(r->curl, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(r->curl, CURLOPT_POST, 1L);
    (void)curl_easy_setopt(r->curl, CURLOPT_POSTFIELDSIZE_LARGE,
                           (curl_off_t)body.size);
    (void)curl_easy_setopt(r->curl, CURLOPT_POSTFIELDS,
                           body.size == 0 ? "" : (const char *)body.data);
    (void)curl_easy_setopt(r->curl, CURLOPT_WRITEFUNCTION, take_answer);
    (void)curl_easy_setopt(r->curl, CURLOPT_WRITEDATA, answer);
    rc = curl_easy_perform(r->curl);
    curl_slist_free_all(headers);
    free(line);
    free(url);
    return rc;
}

enum status
tool_remote_post(struct tool_remote *r, const char *path, const char *type,
                 struct slice body, struct buf *answer, struct error *e)
{
    CURLcode rc;
    long http = 0;

    OBJ_CHECK(r, REMOTE_MAGIC);
    buf_clear(answer);
    answer->max = ANSWER_MAX;
    rc = perform(r, path, type, body, answer);
    if (rc != CURLE_OK)
        return error_set(e, ST_IO, "%s: %s", r->base, curl_easy_strerror(rc));
    (void)curl_easy_getinfo(r->curl, CURLINFO_RESPONSE_CODE, &http);
    return http / 100 == 2 ? ST_OK : failed_answer(http, answer, e);
}

/* -- a tool ---------------------------------------------------------------- */

static void
put_request(struct buf *out, bool as_tsdb, const char *const *words, size_t len,
            const char *zone_name)
{
    json_t *body = json_object(), *list = json_array();
    char *text;

    for (size_t i = 0; i < len; i++)
        (void)json_array_append_new(list, json_string(words[i]));
    (void)json_object_set_new(body, "words", list);
    (void)json_object_set_new(body, "tsdb", json_boolean(as_tsdb));
    (void)json_object_set_new(body, "zone", json_string(zone_name));
    text = json_dumps(body, JSON_COMPACT);
    buf_clear(out);
    buf_put_str(out, text == NULL ? "" : text);
    free(text);
    json_decref(body);
}

enum reading { READING, ENDED, BROKEN };

/* Passes the frames on; '*status' when the tool ended, else 'request' becomes
 * the next one. */
static enum reading
pass_frames(struct tool *t, struct slice frames, struct buf *request,
            int *status)
{
    enum tool_frame kind;
    struct slice bytes;
    bool more = false;

    while (tool_frame_cut(&frames, &kind, &bytes)) {
        switch (kind) {
        case TOOL_FRAME_OUT:
            t->cancelled |= !t->out.write(t->out.ctx, bytes);
            break;
        case TOOL_FRAME_ERR:
            t->cancelled |= !t->err.write(t->err.ctx, bytes);
            break;
        case TOOL_FRAME_NEXT:
            buf_clear(request);
            buf_printf(request, "{\"%s\":\"%.*s\"}",
                       t->cancelled ? "cancel" : "next", SLICE_ARG(bytes));
            more = true;
            break;
        case TOOL_FRAME_EXIT:
            *status = bytes.data[0];
            return ENDED;
        }
    }
    return more && frames.size == 0 ? READING : BROKEN;
}

int
tool_remote_run(struct tool_remote *r, struct tool *t, const char *const *words,
                size_t len, const char *zone_name)
{
    struct buf request = BUF_INIT, answer = BUF_INIT;
    enum reading reading = READING;
    int status = TOOL_FAILED;
    struct error e;
    enum status st = ST_OK;

    put_request(&request, t->as_tsdb, words, len, zone_name);
    while (reading == READING && st == ST_OK) {
        bool last = t->cancelled;

        st = tool_remote_post(r, "/api/tool", "application/json",
                              buf_slice(&request), &answer, &e);
        if (last)
            break;
        if (st == ST_OK)
            reading = pass_frames(t, buf_slice(&answer), &request, &status);
    }
    if (st != ST_OK)
        tool_say(t, "%s", e.text);
    else if (reading == BROKEN)
        tool_say(t, "%s: that is no server of tools", r->base);
    buf_fini(&request);
    buf_fini(&answer);
    return status;
}
