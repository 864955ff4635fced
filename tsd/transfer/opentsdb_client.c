#include "tsd/transfer/opentsdb_client.h"

#include <curl/curl.h>
#include <jansson.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/obj.h"
#include "web/json/json.h"

#define CLIENT_MAGIC  FOURCC('O', 'T', 'C', 'L')
#define CONNECT_MS    10000L
#define STALL_S       300L /* a query may take its time */
#define MESSAGE_CHARS 300

struct opentsdb_client {
    uint32_t magic;
    CURL *curl;
    char *base;
    struct buf answer;
    char why[CURL_ERROR_SIZE];
};

static size_t
take_answer(char *data, size_t size, size_t len, void *ctx)
{
    struct opentsdb_client *c = ctx;

    buf_put(&c->answer, data, size * len);
    return c->answer.failed ? 0 : size * len;
}

enum status
opentsdb_client_open(const char *url, struct opentsdb_client **out,
                     struct error *e)
{
    struct opentsdb_client *c;
    size_t size = strlen(url);

    *out = NULL;
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        return error_set(e, ST_INVALID,
                         "%s: an address begins with http:// or https://", url);
    c = mem_new(sizeof *c);
    c->magic = CLIENT_MAGIC;
    while (size > 0 && url[size - 1] == '/')
        size--;
    c->base = mem_strndup(url, size);
    buf_init(&c->answer, CLIENT_ANSWER_MAX);
    c->curl = curl_easy_init();
    INSIST(c->curl != NULL);
    (void)curl_easy_setopt(c->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(c->curl, CURLOPT_ACCEPT_ENCODING, "");
    (void)curl_easy_setopt(c->curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    (void)curl_easy_setopt(c->curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    (void)curl_easy_setopt(c->curl, CURLOPT_LOW_SPEED_TIME, STALL_S);
    (void)curl_easy_setopt(c->curl, CURLOPT_ERRORBUFFER, c->why);
    (void)curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, take_answer);
    (void)curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, c);
    *out = c;
    return ST_OK;
}

void
opentsdb_client_close(struct opentsdb_client **cp)
{
    struct opentsdb_client *c = OBJ_TAKE(cp, CLIENT_MAGIC);

    if (c == NULL)
        return;
    curl_easy_cleanup(c->curl);
    buf_fini(&c->answer);
    free(c->base);
    OBJ_FREE(c);
}

/* What the server said: the message of its JSON, or the beginning of it.  Names
 * that are not assigned make the answer a 400 without a message: it is handed
 * over. */
static enum status
client_rejected(struct opentsdb_client *c, const char *path, long http,
                json_t **out, struct error *e)
{
    enum status st = http == 404   ? ST_NOT_FOUND
                     : http == 413 ? ST_LIMIT
                     : http < 500  ? ST_INVALID
                                   : ST_IO;
    json_t *o = NULL, *error;
    const char *message = NULL;

    if (json_parse(buf_slice(&c->answer), &o, NULL) == ST_OK) {
        error = json_object_get(o, "error");
        message = json_string_value(json_object_get(error, "message"));
        if (error == NULL && http == 400 && strcmp(path, CLIENT_ASSIGN) == 0) {
            *out = o;
            return ST_OK;
        }
    }
    (void)error_set(e, st, "%s%s: %ld %.*s", c->base, path, http, MESSAGE_CHARS,
                    message == NULL ? buf_cstr(&c->answer) : message);
    json_decref(o);
    return st;
}

enum status
opentsdb_client_ask(struct opentsdb_client *c, const char *path,
                    const struct slice *body, struct json_t **out,
                    struct error *e)
{
    struct curl_slist *head =
        curl_slist_append(NULL, "Content-Type: application/json");
    struct buf url = BUF_INIT;
    CURLcode rc;
    long http = 0;
    enum status st;

    OBJ_CHECK(c, CLIENT_MAGIC);
    *out = NULL;
    buf_clear(&c->answer);
    buf_printf(&url, "%s%s", c->base, path);
    (void)curl_easy_setopt(c->curl, CURLOPT_URL, buf_cstr(&url));
    (void)curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, head);
    if (body != NULL) {
        (void)curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE,
                               (curl_off_t)body->size);
        (void)curl_easy_setopt(c->curl, CURLOPT_COPYPOSTFIELDS, body->data);
    } else {
        (void)curl_easy_setopt(c->curl, CURLOPT_HTTPGET, 1L);
    }
    rc = curl_easy_perform(c->curl);
    (void)curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &http);
    if (c->answer.failed)
        st = error_set(e, ST_LIMIT, "%s%s: an answer of more than %zu MB",
                       c->base, path, CLIENT_ANSWER_MAX >> 20);
    else if (rc != CURLE_OK)
        st = error_set(e, ST_IO, "%s%s: %s", c->base, path,
                       c->why[0] != '\0' ? c->why : curl_easy_strerror(rc));
    else if (http >= 300)
        st = client_rejected(c, path, http, out, e);
    else
        st = json_parse(buf_slice(&c->answer), out, e);
    curl_slist_free_all(head);
    buf_fini(&url);
    return st;
}

void
opentsdb_client_escape(struct buf *out, struct slice text)
{
    for (size_t i = 0; i < text.size; i++)
        if ((text.data[i] | 0x20) >= 'a' && (text.data[i] | 0x20) <= 'z')
            buf_put_u8(out, text.data[i]);
        else
            buf_printf(out, "%%%02X", text.data[i]);
}
