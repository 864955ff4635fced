/* /api/uid/uidmeta: what people say about a metric, a tagk or a tagv. */
#include "tsd/api/meta_json.h"

/* 'message' and 'details' are the same text where OpenTSDB wraps an exception
 * without a word of its own. */
static void
uidmeta_reject(const struct api_call *w, const struct error *e)
{
    if (e->status == ST_NOT_FOUND)
        http_reply_error(w->out, 404, "Could not find the requested UID",
                         e->text);
    else if (e->status == ST_INVALID)
        http_reply_error(w->out, 400, e->text, e->text);
    else
        http_reply_failure(w->out, e);
}

/* Both texts are there. */
static enum status
parse_whose(const struct api_call *w, const struct meta_request *n,
            struct meta_of *out, struct error *e)
{
    enum uid_kind kind = UID_METRIC;
    enum status st = meta_read_type(n->type_text, &kind, e);

    if (st == ST_OK)
        st = meta_read_id(n->id_text, w->arena, &out->id, e);
    out->kind = (enum meta_kind)kind;
    return st;
}

static unsigned
width_of(const struct api_call *w, const struct meta_of *of)
{
    return uid_width(w->a->uids, (enum uid_kind)of->kind);
}

static enum status
read_whose(const struct api_call *w, const struct meta_request *n,
           struct meta_of *out, struct error *e)
{
    enum status st = parse_whose(w, n, out, e);

    if (st == ST_OK && out->id.size != width_of(w, out))
        st = error_set(e, ST_INVALID,
                       "Wrong id.length = %zu which is != %u required for "
                       "'%s'",
                       out->id.size, width_of(w, out),
                       uid_kind_name((enum uid_kind)out->kind));
    return st;
}

static enum status
uidmeta_write(const struct api_call *w, struct meta_of of, struct error *e)
{
    return meta_write_uid(w->a, http_reply_body(w->out), (enum uid_kind)of.kind,
                          of.id, w->arena, e);
}

/* The text of what a request lacks; NULL: nothing. */
static const char *
missing(const struct meta_request *n)
{
    if (n->id_text.size == 0)
        return "Missing UID";
    return n->type_text.size == 0 ? "Missing type" : NULL;
}

static void
uidmeta_delete(const struct api_call *w)
{
    static const char message[] = "Unable to delete UIDMeta information";
    struct meta_request n;
    struct meta_of of;
    struct error e;

    if (!meta_read(w->r, false, &n, w->out))
        return;
    if (missing(&n) != NULL)
        http_reply_error(w->out, 400, message, missing(&n));
    else if (parse_whose(w, &n, &of, &e) != ST_OK)
        http_reply_error(w->out, 400, message, e.text);
    else if (of.id.size == width_of(w, &of) && /* else no name has it */
             meta_delete(w->a->records, of, &e) != ST_OK)
        http_reply_failure(w->out, &e);
    else
        http_reply_empty(w->out, 204);
}

void
api_uidmeta(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct api_call w = { ctx, r, out, http_arena(r) };

    if (!api_is_current(ctx, out))
        return;
    if (http_method(r) == HTTP_DELETE)
        uidmeta_delete(&w);
    else if (http_method(r) == HTTP_GET) {
        struct meta_request n = { 0 };
        struct meta_of of;
        struct error e;

        if (!api_need_param(w.r, "uid", &n.id_text, w.out) ||
            !api_need_param(w.r, "type", &n.type_text, w.out))
            return;
        if (read_whose(&w, &n, &of, &e) != ST_OK ||
            uidmeta_write(&w, of, &e) != ST_OK)
            uidmeta_reject(&w, &e);
    } else {
        bool overwrite = http_method(w.r) == HTTP_PUT;
        struct meta_request n;
        struct meta_of of;
        struct error e;

        if (!meta_read(w.r, false, &n, w.out))
            return;
        if (missing(&n) != NULL)
            http_reply_error(w.out, 400, missing(&n), missing(&n));
        else if (n.fields == 0)
            http_reply_empty(w.out, 304);
        else if (read_whose(&w, &n, &of, &e) != ST_OK ||
                 meta_put(
                     w.a->records, of, &n.meta,
                     &(struct record_change){ n.fields, overwrite, w.arena },
                     &e) != ST_OK ||
                 uidmeta_write(&w, of, &e) != ST_OK)
            uidmeta_reject(&w, &e);
    }
}
