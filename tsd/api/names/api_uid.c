/* /api/uid/assign and /api/uid/rename: names and their ids. */
#include "tsd/api/api.h"

#include <jansson.h>
#include <strings.h>

#include "base/text/number.h"
#include "tsd/api/fields.h"
#include "tsd/put/put.h"
#include "tsd/put/put_tags.h"
#include "web/json/json.h"

static const char *const kinds[] = { "metric", "tagk", "tagv" };
#define KINDS_LEN (sizeof kinds / sizeof kinds[0])

/* One kind's names, and what became of them. */
struct work {
    const struct api *a;
    struct buf results;      /* members of the object */
    struct json_t *rejected; /* name: why; of equal names the last counts */
};

static void
put_member(struct buf *b, struct slice name)
{
    json_put_item(b, name);
    buf_put_u8(b, ':');
}

/* "metric", "tagk" or "tagv", in any case. */
static bool
read_kind(const char *text, enum uid_kind *out)
{
    return strcasecmp(text, "metrics") != 0 && uid_kind_parse(text, out);
}

/* False when the store failed, and nothing more should be tried. */
static bool
assign_one(struct work *w, const char *kind, struct slice name, struct error *e)
{
    enum uid_kind k = UID_METRIC;
    uint64_t id;
    enum status st = uid_validate_name(w->a->uids, kind, name, e);
    struct buf key = BUF_INIT;

    if (st == ST_OK && !read_kind(kind, &k))
        st = error_set(e, ST_INVALID, "Unknown type name");
    if (st == ST_OK)
        st = uid_assign(w->a->uids, k, name, &id, e);
    if (st == ST_OK) {
        put_member(&w->results, name);
        buf_printf(&w->results, "\"%0*llX\"", (int)uid_width(w->a->uids, k) * 2,
                   (unsigned long long)id);
    } else if (st == ST_INVALID) {
        buf_put_slice(&key, name);
        (void)json_object_set_new_nocheck(w->rejected, buf_cstr(&key),
                                          json_string_nocheck(e->text));
        buf_fini(&key);
    }
    return st == ST_OK || st == ST_INVALID;
}

/* Writes what became of one kind, and empties the buffers. */
static void
end_kind(struct work *w, struct slice kind, struct http_reply *out)
{
    struct buf *b = http_reply_body(out), errors = BUF_INIT;
    const char *name;
    json_t *why;

    buf_put_u8(b, b->size == 0 ? '{' : ',');
    json_put_string(b, kind);
    buf_put_str(b, ":{");
    buf_put_slice(b, buf_slice(&w->results));
    buf_put_u8(b, '}');
    json_object_foreach(w->rejected, name, why)
    {
        put_member(&errors, slice_str(name));
        json_put_string(&errors, slice_str(json_string_value(why)));
    }
    if (errors.size > 0) {
        http_reply_status(out, 400);
        buf_printf(b, ",\"%.*s_errors\":{", SLICE_ARG(kind));
        buf_put_slice(b, buf_slice(&errors));
        buf_put_u8(b, '}');
    }
    buf_fini(&errors);
    buf_clear(&w->results);
    (void)json_object_clear(w->rejected);
}

static bool
assign_params(struct work *w, const struct http_request *r,
              struct http_reply *out, struct error *e)
{
    for (size_t i = 0; i < KINDS_LEN; i++) {
        struct field_list names;
        struct slice list;

        if (!http_param(r, kinds[i], &list) || list.size == 0)
            continue;
        if (!field_split(list, http_arena(r), &names)) {
            (void)error_no_memory(e);
            return false;
        }
        for (size_t k = 0; k < names.len; k++)
            if (!assign_one(w, kinds[i], names.texts[k], e))
                return false;
        if (names.len > 0)
            end_kind(w, slice_str(kinds[i]), out);
    }
    return true;
}

static bool
are_lists_of_names(struct json_t *body)
{
    char number[NUMBER_TEXT_MAX];
    struct slice name;
    const char *kind;
    json_t *list;

    json_object_foreach(body, kind, list)
    {
        if (!json_is_array(list))
            return false;
        for (size_t i = 0; i < json_array_size(list); i++)
            if (!api_json_value_text(json_array_get(list, i), number, &name))
                return false;
    }
    return json_is_object(body);
}

static bool
assign_body(struct work *w, struct json_t *body, struct http_reply *out,
            struct error *e)
{
    char number[NUMBER_TEXT_MAX];
    struct slice name;
    const char *kind;
    json_t *list;

    json_object_foreach(body, kind, list)
    {
        for (size_t i = 0; i < json_array_size(list); i++)
            if (!api_json_value_text(json_array_get(list, i), number, &name) ||
                !assign_one(w, kind, name, e))
                return false;
        end_kind(w, slice_str(kind), out);
    }
    return true;
}

static void
uid_serve_assign(const struct api *a, const struct http_request *r,
                 struct http_reply *out)
{
    struct work w = { .a = a, .rejected = json_object() };
    struct json_t *body = NULL;
    struct error e;
    bool good;

    if (http_method(r) == HTTP_POST) {
        body = api_parse_body(r, out);
        if (body == NULL) {
            json_decref(w.rejected);
            return;
        }
        if (!are_lists_of_names(body)) {
            http_reply_error(out, 400, "Unable to parse the given JSON",
                             "an object of arrays of names is wanted");
            json_decref(body);
            json_decref(w.rejected);
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
    json_decref(w.rejected);
}

/* -- renaming -------------------------------------------------------------- */

/* What is missing has no bytes, not even none of them. */
struct renaming {
    const char *kind;
    struct slice old_name, new_name;
};

/* All members of the body but "name" are kinds. */
static enum status
read_members(const struct http_request *r, json_t *body, struct renaming *n,
             struct error *e)
{
    struct put_tags members = { .len = 0 };
    const char *key;
    json_t *value;

    if (!json_is_object(body))
        return error_set(e, ST_INVALID, "an object is wanted");
    json_object_foreach(body, key, value)
    {
        struct slice text = { NULL, 0 };
        enum status st = field_read_text(value, key, http_arena(r), &text, e);

        if (st != ST_OK)
            return st;
        put_tags_set(&members, slice_str(key), text);
    }
    put_tags_sort(&members);
    for (size_t i = 0; i < members.len; i++) {
        const struct tag *m = &members.tags[i];

        if (slice_eq_str(m->key, "name")) {
            n->new_name = m->value;
        } else {
            n->kind = (const char *)m->key.data;
            n->old_name = m->value;
        }
    }
    return ST_OK;
}

static void
rename_it(const struct api *a, const struct renaming *n, struct http_reply *out)
{
    struct buf *b = http_reply_body(out);
    struct error e;
    enum uid_kind kind = UID_METRIC;
    enum status st = uid_validate_name(a->uids, n->kind, n->new_name, &e);

    if (st == ST_OK && !read_kind(n->kind, &kind))
        st = error_set(&e, ST_INVALID, "Unknown type name");
    if (st == ST_OK && n->old_name.size == 0)
        st = error_set(&e, ST_NOT_FOUND, "Invalid %s: empty string", n->kind);
    if (st == ST_OK)
        st = uid_rename(a->uids, kind, n->old_name, n->new_name, &e);
    if (st == ST_OK) {
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

void
api_uid(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct slice what = api_sub_path(r);

    if (!api_is_current(ctx, out))
        return;
    if (slice_eq_str(what, "assign"))
        uid_serve_assign(ctx, r, out);
    else if (slice_eq_str(what, "rename")) {
        struct json_t *body = NULL;
        struct renaming n = { 0 };
        struct error e;
        static const char *const order[] = { "metric", "tagv", "tagk" };
        struct slice s;
        enum status st = ST_OK;

        if (http_method(r) == HTTP_POST) {
            body = api_parse_body(r, out);
            if (body == NULL)
                return;
            st = read_members(r, body, &n, &e);
        } else {
            /* OpenTSDB walks through a HashMap, and of several kinds the last
             * one counts: this is their order in that of its parameters. */
            for (size_t i = 0; i < KINDS_LEN; i++)
                if (http_param(r, order[i], &s) && s.size > 0) {
                    n.kind = order[i];
                    n.old_name = s;
                }
            if (http_param(r, "name", &s) && s.size > 0)
                n.new_name = s;
        }
        if (st != ST_OK)
            api_reject_json(out, &e);
        else if (n.old_name.data == NULL || n.new_name.data == NULL)
            http_reply_error(out, 400, "Missing necessary values to rename UID",
                             NULL);
        else
            rename_it(ctx, &n, out);
        json_decref(body);
    } else
        http_reply_error(out, 501,
                         "Other UID endpoints have not been implemented yet",
                         NULL);
}
