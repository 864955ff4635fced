/* /api/uid/assign and /api/uid/rename: names and their ids. */
#include "config.h"

#include "tsd/api/api.h"

#include <jansson.h>
#include <stdlib.h>

#include "base/obj.h"
#include "tsd/put/put.h"
#include "web/json.h"

static const char *const kinds[] = { "metric", "tagk", "tagv" };
#define KINDS_LEN (sizeof kinds / sizeof kinds[0])

/* One kind's names, and what became of them. */
struct work {
    const struct api *a;
    struct buf results, errors; /* members of the two objects */
};

static void
put_member(struct buf *b, struct slice name)
{
    if (b->size > 0)
        buf_put_u8(b, ',');
    json_put_string(b, name);
    buf_put_u8(b, ':');
}

/* False when the store failed, and nothing more should be tried. */
static bool
assign_one(struct work *w, struct slice kind, struct slice name,
           struct error *e)
{
    char text[UID_KINDS * 8];
    enum uid_kind k;
    uint64_t id;
    enum status st;

    (void)snprintf(text, sizeof text, "%.*s", SLICE_ARG(kind));
    if (!uid_kind_parse(text, &k))
        st = error_set(e, ST_INVALID, "Unknown type name");
    else
        st = uid_assign(w->a->uids, k, name, &id, e);
    if (st == ST_OK) {
        put_member(&w->results, name);
        buf_printf(&w->results, "\"%0*llX\"", (int)uid_width(w->a->uids, k) * 2,
                   (unsigned long long)id);
    } else if (st == ST_INVALID) {
        put_member(&w->errors, name);
        json_put_string(&w->errors, slice_str(e->text));
    }
    return st == ST_OK || st == ST_INVALID;
}

/* Writes what became of one kind, and empties the buffers. */
static void
end_kind(struct work *w, struct slice kind, struct http_reply *out)
{
    struct buf *b = http_reply_body(out);

    buf_put_u8(b, b->size == 0 ? '{' : ',');
    json_put_string(b, kind);
    buf_put_str(b, ":{");
    buf_put_slice(b, buf_slice(&w->results));
    buf_put_u8(b, '}');
    if (w->errors.size > 0) {
        http_reply_status(out, 400);
        buf_printf(b, ",\"%.*s_errors\":{", SLICE_ARG(kind));
        buf_put_slice(b, buf_slice(&w->errors));
        buf_put_u8(b, '}');
    }
    buf_clear(&w->results);
    buf_clear(&w->errors);
}

/* Java's split(","): what is empty at the end does not count. */
static bool
assign_list(struct work *w, const char *kind, struct slice list,
            struct error *e)
{
    while (list.size > 0 && list.data[list.size - 1] == ',')
        list.size--;
    for (size_t at = 0; at <= list.size && list.size > 0;) {
        const uint8_t *comma = memchr(list.data + at, ',', list.size - at);
        size_t end = comma == NULL ? list.size : (size_t)(comma - list.data);

        if (!assign_one(w, slice_str(kind), slice_of(list.data + at, end - at),
                        e))
            return false;
        at = end + 1;
    }
    return true;
}

static bool
assign_params(struct work *w, const struct http_request *r,
              struct http_reply *out, struct error *e)
{
    for (size_t i = 0; i < KINDS_LEN; i++) {
        struct slice list;

        if (!http_param(r, kinds[i], &list) || list.size == 0)
            continue;
        if (!assign_list(w, kinds[i], list, e))
            return false;
        end_kind(w, slice_str(kinds[i]), out);
    }
    return true;
}

static bool
are_lists_of_names(struct json_t *body)
{
    const char *kind;
    json_t *list;

    json_object_foreach(body, kind, list)
    {
        if (!json_is_array(list))
            return false;
        for (size_t i = 0; i < json_array_size(list); i++)
            if (!json_is_string(json_array_get(list, i)))
                return false;
    }
    return json_is_object(body);
}

static bool
assign_body(struct work *w, struct json_t *body, struct http_reply *out,
            struct error *e)
{
    const char *kind;
    json_t *list;

    json_object_foreach(body, kind, list)
    {
        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *name = json_array_get(list, i);

            if (!assign_one(
                    w, slice_str(kind),
                    slice_of(json_string_value(name), json_string_length(name)),
                    e))
                return false;
        }
        end_kind(w, slice_str(kind), out);
    }
    return true;
}

static void
assign(const struct api *a, const struct http_request *r,
       struct http_reply *out)
{
    struct work w = { .a = a };
    struct json_t *body = NULL;
    struct error e;
    bool good;

    if (http_method(r) == HTTP_POST) {
        body = api_parse_body(r, out);
        if (body == NULL)
            return;
        if (!are_lists_of_names(body)) {
            http_reply_error(out, 400, "Unable to parse the given JSON",
                             "an object of arrays of names is wanted");
            json_decref(body);
            return;
        }
        good = assign_body(&w, body, out, &e);
        json_decref(body);
    } else {
        good = assign_params(&w, r, out, &e);
    }
    if (!good)
        http_reply_failure(out, &e);
    else if (http_reply_body(out)->size == 0)
        http_reply_error(out, 400, "Missing values to assign UIDs", NULL);
    else
        buf_put_u8(http_reply_body(out), '}');
    buf_fini(&w.results);
    buf_fini(&w.errors);
}

/* -- renaming -------------------------------------------------------------- */

struct renaming {
    struct slice kind, old_name, new_name;
};

static struct slice
read_member(const struct http_request *r, const struct json_t *body,
            const char *name)
{
    struct slice s = { NULL, 0 };
    const json_t *v = json_object_get(body, name);

    if (body == NULL)
        (void)http_param(r, name, &s);
    else if (json_is_string(v))
        s = slice_of(json_string_value(v), json_string_length(v));
    return s;
}

static void
rename_it(const struct api *a, const struct renaming *n, struct http_reply *out)
{
    struct buf *b = http_reply_body(out);
    char text[UID_KINDS * 8];
    enum uid_kind kind = UID_METRIC;
    struct error e;
    enum status st;

    (void)snprintf(text, sizeof text, "%.*s", SLICE_ARG(n->kind));
    INSIST(uid_kind_parse(text, &kind));
    st = uid_validate_name(a->uids, text, n->new_name, &e);
    if (st == ST_OK)
        st = uid_rename(a->uids, kind, n->old_name, n->new_name, &e);
    if (st == ST_OK) {
        put_path_drop_cache(a->put);
        buf_put_str(b, "{\"result\":\"true\"}");
        return;
    }
    if (st != ST_INVALID && st != ST_NOT_FOUND) {
        http_reply_failure(out, &e);
        return;
    }
    http_reply_status(out, 400);
    buf_put_str(b, "{\"result\":\"false\",\"error\":");
    json_put_string(b, slice_str(e.text));
    buf_put_u8(b, '}');
}

static void
rename_names(const struct api *a, const struct http_request *r,
             struct http_reply *out)
{
    struct json_t *body = NULL;
    struct renaming n = { 0 };

    if (http_method(r) == HTTP_POST) {
        body = api_parse_body(r, out);
        if (body == NULL)
            return;
    }
    for (size_t i = 0; i < KINDS_LEN; i++) {
        struct slice old = read_member(r, body, kinds[i]);

        if (old.size > 0) {
            n.kind = slice_str(kinds[i]);
            n.old_name = old;
        }
    }
    n.new_name = read_member(r, body, "name");
    if (n.kind.size == 0 || n.new_name.size == 0)
        http_reply_error(out, 400, "Missing necessary values to rename UID",
                         NULL);
    else
        rename_it(a, &n, out);
    json_decref(body);
}

void
api_uid(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const char *what = http_path(r) + strlen("/api/uid");
    enum http_method method = http_method(r);
    bool simple = method == HTTP_GET || method == HTTP_POST;

    if (strcmp(what, "/assign") == 0 || strcmp(what, "/rename") == 0) {
        if (!simple)
            http_reply_bad_method(out, r);
        else if (what[1] == 'a')
            assign(ctx, r, out);
        else
            rename_names(ctx, r, out);
        return;
    }
    http_reply_error(out, 501,
                     "Other UID endpoints have not been implemented yet", NULL);
}
