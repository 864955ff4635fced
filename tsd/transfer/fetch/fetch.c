#include "tsd/transfer/fetch/fetch_priv.h"

#include <jansson.h>

#include "base/text/glob.h"
#include "base/text/number.h"
#include "tsd/client/client.h"
#include "uid/meta/annotation.h"
#include "uid/meta/meta.h"
#include "uid/meta/tree.h"
#include "uid/names/uid.h"
#include "web/json/json.h"

/* Netty takes a larger body for one in chunks, which OpenTSDB rejects unless
 * tsd.http.request.enable_chunked is set, and then beyond its max_chunk. */
#define BODY_BYTES  ((size_t)4000)
#define LISTED_MAX  100000000 /* what a list is asked for: all */
#define LINES_BYTES ((size_t)256 << 10)
#define ANSWER_MAX  ((size_t)512 << 20)
#define STALL_S     300 /* a query may take its time */

#define ASSIGN "/api/uid/assign"

static const char *const parts[] = { "names",       "trees",  "metadata",
                                     "annotations", "points", "histograms" };

unsigned
fetch_part_find(struct slice name)
{
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (slice_eq_str(name, parts[i]))
            return 1u << i;
    return 0;
}

/* -- lines ----------------------------------------------------------------- */

void
fetch_begin(struct fetching *x, const char *type)
{
    buf_put_str(&x->out, "{\"type\":\"");
    buf_put_str(&x->out, type);
    buf_put_u8(&x->out, '"');
}

static enum status
fetch_flush(struct fetching *x, struct error *e)
{
    enum status st = ST_OK;

    if (x->out.failed)
        st = error_no_memory(e);
    else if (x->out.size > 0)
        st = x->f->lines(x->f->ctx, buf_slice(&x->out), e);
    x->lines_failed = st != ST_OK;
    buf_clear(&x->out);
    return st;
}

enum status
fetch_end(struct fetching *x, struct error *e)
{
    buf_put_str(&x->out, "}\n");
    return x->out.size >= LINES_BYTES ? fetch_flush(x, e) : ST_OK;
}

void
fetch_copy(struct fetching *x, const json_t *from, const char *name,
           const char *as)
{
    const json_t *v = json_object_get(from, name);
    char *text =
        v == NULL ? NULL : json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);

    if (text == NULL)
        return;
    json_name(&x->out, as);
    buf_put_str(&x->out, text);
    free(text);
}

/* The members of a record, of limits only those that are numbers. */
static void
fetch_copy_record(struct fetching *x, const json_t *from,
                  const struct record_format *format)
{
    for (size_t i = 0; i < format->len; i++) {
        const struct record_field *f = &format->fields[i];

        /* "NaN" is no limit. */
        if (f->type != RECORD_DOUBLE ||
            json_is_number(json_object_get(from, f->name)))
            fetch_copy(x, from, f->name, f->name);
    }
}

/* Into 'answer'. */
static enum status
fetch_send(struct fetching *x, const struct slice *body, struct error *e)
{
    const char *path = buf_cstr(&x->path);

    if (cancel_asked(x->f->cancel))
        return error_set(e, ST_BUSY, "stopped before the end");
    return body == NULL ? client_get(x->client, path, &x->answer, e)
                        : client_post(x->client, path, "application/json",
                                      *body, &x->answer, e);
}

enum status
fetch_other_answer(struct fetching *x, struct error *e)
{
    return error_set(e, ST_IO, "%s%s: that is no answer of OpenTSDB's API",
                     x->f->url, buf_cstr(&x->path));
}

/* Asks for 'path', and clears it.  ST_IO: the answer is no JSON_ARRAY, or
 * JSON_OBJECT, as 'type' says: another server's, or a proxy's. */
static enum status
fetch_ask(struct fetching *x, const struct slice *body, int type, json_t **out,
          struct error *e)
{
    enum status st = fetch_send(x, body, e);

    *out = NULL;
    if (st == ST_OK)
        st = json_parse(buf_slice(&x->answer), SIZE_MAX, out, e);
    /* Names that have ids already make a 400 without an error in it. */
    else if (st == ST_INVALID && slice_eq_str(buf_slice(&x->path), ASSIGN) &&
             json_parse(buf_slice(&x->answer), SIZE_MAX, out, NULL) == ST_OK &&
             json_object_get(*out, "error") == NULL)
        st = ST_OK;
    else
        st = error_wrap(e, st, "%s", buf_cstr(&x->path));
    if (st == ST_OK && (int)json_typeof(*out) != type)
        st = fetch_other_answer(x, e);
    if (st != ST_OK) {
        json_decref(*out);
        *out = NULL;
    }
    buf_clear(&x->path);
    return st;
}

enum status
fetch_each(struct fetching *x, const struct slice *body, json_taker *take,
           void *ctx, struct error *e)
{
    enum status st = fetch_send(x, body, e);

    if (st != ST_OK)
        st = error_wrap(e, st, "%s", buf_cstr(&x->path));
    else if (x->answer.size == 0 || x->answer.data[0] != '[')
        st = fetch_other_answer(x, e);
    else
        st = json_each(buf_slice(&x->answer), take, ctx, e);
    buf_clear(&x->path);
    return st;
}

static bool
fetch_is_hex(const char *text)
{
    return text[strspn(text, "0123456789ABCDEFabcdef")] == '\0';
}

/* -- names ----------------------------------------------------------------- */

/* As requests for metadata name kinds of names. */
static const char *const fetch_kinds[UID_KINDS] = { "metric", "tagk", "tagv" };

static bool
says_something(const json_t *meta)
{
    for (size_t i = 0; i < meta_series_format.len; i++) {
        const struct record_field *f = &meta_series_format.fields[i];
        const char *text =
            f->type != RECORD_TEXT_OR_NULL
                ? NULL
                : json_string_value(json_object_get(meta, f->name));

        if (text != NULL && *text != '\0')
            return true;
    }
    return json_object_size(json_object_get(meta, "custom")) > 0;
}

static enum status
fetch_name_meta(struct fetching *x, enum uid_kind kind, const char *name,
                const char *id, struct error *e)
{
    json_t *meta;
    enum status st;

    buf_printf(&x->path, "/api/uid/uidmeta?type=%s&uid=%s", fetch_kinds[kind],
               id);
    st = fetch_ask(x, NULL, JSON_OBJECT, &meta, e);
    if (st == ST_NOT_FOUND)
        return ST_OK;
    if (st == ST_OK && says_something(meta)) {
        fetch_begin(x, "uidmeta");
        json_put_member(&x->out, "kind", slice_str(uid_kind_name(kind)));
        json_put_member(&x->out, "name", slice_str(name));
        fetch_copy_record(x, meta, &meta_name_format);
        st = fetch_end(x, e);
    }
    json_decref(meta);
    return st;
}

/* The ids of names come with the refusal to assign them again.  Asks for those
 * from '*at' on that a body has room for, and passes them. */
static enum status
fetch_names_meta(struct fetching *x, enum uid_kind kind, const json_t *names,
                 size_t *at, struct error *e)
{
    struct buf body = BUF_INIT;
    char errors[32];
    const char *name;
    json_t *answer, *why;
    struct slice text;
    enum status st;

    buf_printf(&body, "{\"%s\":[", fetch_kinds[kind]);
    do {
        name = json_string_value(json_array_get(names, *at));
        json_put_item(&body, slice_str(name));
        name = json_string_value(json_array_get(names, ++*at));
    } while (name != NULL && body.size + strlen(name) < BODY_BYTES);
    buf_put_str(&body, "]}");
    text = buf_slice(&body);
    buf_put_str(&x->path, ASSIGN);
    st = fetch_ask(x, &text, JSON_OBJECT, &answer, e);
    buf_fini(&body);
    if (st != ST_OK)
        return st;
    (void)snprintf(errors, sizeof errors, "%s_errors", fetch_kinds[kind]);
    json_object_foreach(json_object_get(answer, errors), name, why)
    {
        const char *said = json_string_value(why);
        const char *id = said == NULL ? NULL : strrchr(said, ' ');

        if (st == ST_OK && id != NULL && strstr(said, "already exists") != NULL)
            st = fetch_name_meta(x, kind, name, id + 1, e);
    }
    json_decref(answer);
    return st;
}

/* '*names' is to json_decref(). */
static enum status
fetch_names(struct fetching *x, enum uid_kind kind, json_t **names,
            struct error *e)
{
    enum status st;

    buf_printf(&x->path, "/api/suggest?type=%s&max=%d", uid_kind_name(kind),
               LISTED_MAX);
    st = fetch_ask(x, NULL, JSON_ARRAY, names, e);
    for (size_t i = 0; st == ST_OK && i < json_array_size(*names); i++) {
        const char *name = json_string_value(json_array_get(*names, i));

        if (name == NULL)
            return error_set(e, ST_INVALID, "a name is no text");
        if ((x->f->parts & FETCH_NAMES) == 0)
            continue;
        fetch_begin(x, "uid");
        json_put_member(&x->out, "kind", slice_str(uid_kind_name(kind)));
        json_put_member(&x->out, "name", slice_str(name));
        st = fetch_end(x, e);
    }
    for (size_t i = 0; st == ST_OK && (x->f->parts & FETCH_METADATA) != 0 &&
                       i < json_array_size(*names);)
        st = fetch_names_meta(x, kind, *names, &i, e);
    return st;
}

/* -- trees -------------------------------------------------------------------
 */

static enum status
fetch_rule(struct fetching *x, const json_t *rule, struct error *e)
{
    const char *name = json_string_value(json_object_get(rule, "type"));
    enum tree_rule_type type;
    enum status st =
        tree_rule_type_parse(slice_str(name == NULL ? "" : name), &type, e);

    if (st != ST_OK)
        return st;
    fetch_begin(x, "rule");
    fetch_copy(x, rule, "treeId", "tree");
    fetch_copy(x, rule, "level", "level");
    fetch_copy(x, rule, "order", "order");
    json_put_int(&x->out, "ruleType", type);
    fetch_copy_record(x, rule, &tree_rule_format);
    return fetch_end(x, e);
}

/* By level, then by order. */
static enum status
fetch_rules(struct fetching *x, json_t *levels, struct error *e)
{
    json_t *orders, *rule;
    const char *key;
    enum status st = ST_OK;

    json_object_foreach(levels, key, orders)
    {
        const char *inner;

        json_object_foreach(orders, inner, rule)
        {
            if (st == ST_OK)
                st = fetch_rule(x, rule, e);
        }
    }
    return st;
}

static enum status
fetch_trees(struct fetching *x, struct error *e)
{
    json_t *trees;
    enum status st;

    buf_put_str(&x->path, "/api/tree");
    st = fetch_ask(x, NULL, JSON_ARRAY, &trees, e);
    if (st == ST_NOT_FOUND)
        return ST_OK;
    for (size_t i = 0; st == ST_OK && i < json_array_size(trees); i++) {
        const json_t *tree = json_array_get(trees, i);

        fetch_begin(x, "tree");
        fetch_copy(x, tree, "treeId", "tree");
        fetch_copy_record(x, tree, &tree_format);
        st = fetch_end(x, e);
        if (st == ST_OK)
            st = fetch_rules(x, json_object_get(tree, "rules"), e);
    }
    json_decref(trees);
    return st;
}

#define ID_DIGITS 6 /* of OpenTSDB's ids, unless it was set up otherwise */

/* The name of an id in hexadecimal; '*name' is to json_decref(), or NULL. */
static enum status
fetch_name(struct fetching *x, enum uid_kind kind, const char *id,
           json_t **name, struct error *e)
{
    json_t *meta;
    enum status st;

    buf_printf(&x->path, "/api/uid/uidmeta?type=%s&uid=%.*s", fetch_kinds[kind],
               ID_DIGITS, id);
    st = fetch_ask(x, NULL, JSON_OBJECT, &meta, e);
    *name = json_object_get(meta, "name");
    if (st == ST_OK && !json_is_string(*name))
        st = error_set(e, ST_INVALID, "the id %.*s has no name", ID_DIGITS, id);
    *name = st == ST_OK ? json_incref(*name) : NULL;
    json_decref(meta);
    return st;
}

/* Adds the metric and the tags of a TSUID to an empty object. */
static enum status
fetch_names_of(struct fetching *x, const char *tsuid, json_t *series,
               struct error *e)
{
    size_t digits = tsuid == NULL ? 0 : strlen(tsuid);
    json_t *tags = json_object(), *name = NULL, *value = NULL;
    enum status st =
        digits % (2 * ID_DIGITS) == ID_DIGITS && fetch_is_hex(tsuid)
            ? fetch_name(x, UID_METRIC, tsuid, &name, e)
            : error_set(e, ST_INVALID, "its TSUID cannot be read");

    if (st == ST_OK && json_object_set_new(series, "metric", name) != 0)
        st = error_no_memory(e);
    for (size_t at = ID_DIGITS; at < digits && st == ST_OK;
         at += 2 * (size_t)ID_DIGITS) {
        st = fetch_name(x, UID_TAGK, tsuid + at, &name, e);
        if (st == ST_OK)
            st = fetch_name(x, UID_TAGV, tsuid + at + ID_DIGITS, &value, e);
        if (st == ST_OK &&
            json_object_set(tags, json_string_value(name), value) != 0)
            st = error_no_memory(e);
        json_decref(name);
        json_decref(value);
        name = value = NULL;
    }
    if (json_object_set_new(series, "tags", tags) != 0 && st == ST_OK)
        st = error_no_memory(e);
    return st;
}

static enum status
put_annotation(struct fetching *x, const json_t *note, const json_t *series,
               struct error *e)
{
    fetch_begin(x, "annotation");
    if (series != NULL) {
        fetch_copy(x, series, "metric", "metric");
        fetch_copy(x, series, "tags", "tags");
    }
    fetch_copy_record(x, note, &annotation_format);
    return fetch_end(x, e);
}

enum status
fetch_annotations(struct fetching *x, const json_t *notes, const json_t *series,
                  struct error *e)
{
    enum status st = ST_OK;

    for (size_t i = 0; st == ST_OK && i < json_array_size(notes); i++)
        st = put_annotation(x, json_array_get(notes, i), series, e);
    return st;
}

enum status
fetch_lone_annotations(struct fetching *x, const json_t *notes, struct error *e)
{
    enum status st = ST_OK;
    char *text;

    for (size_t i = 0; st == ST_OK && i < json_array_size(notes); i++) {
        const json_t *note = json_array_get(notes, i);
        const char *tsuid = json_string_value(json_object_get(note, "tsuid"));
        json_t *series = json_object();

        st = fetch_names_of(x, tsuid, series, e);
        if (st == ST_OK) {
            st = put_annotation(x, note, series, e);
        } else if (st == ST_INVALID || st == ST_NOT_FOUND) {
            text = json_dumps(note, JSON_COMPACT | JSON_ENCODE_ANY);
            (void)error_wrap(e, e->status, "an annotation is left out");
            x->f->bad(x->f->ctx, x->metric_name,
                      slice_str(text == NULL ? "" : text), e);
            free(text);
            st = ST_OK;
        }
        json_decref(series);
    }
    return st;
}

static enum status
fetch_globals(struct fetching *x, struct error *e)
{
    json_t *notes;
    enum status st;

    /* Compared with the times as they are written, which may be in ms. */
    buf_printf(&x->path, "/api/annotations?start_time=%lld&end_time=%lld999",
               (long long)x->f->from_s, (long long)x->f->to_s);
    st = fetch_ask(x, NULL, JSON_ARRAY, &notes, e);
    if (st == ST_NOT_FOUND)
        return ST_OK;
    if (st == ST_OK)
        st = fetch_annotations(x, notes, NULL, e);
    json_decref(notes);
    return st;
}

/* -- series ---------------------------------------------------------------- */

static enum status
fetch_series_meta(struct fetching *x, const json_t *series, struct error *e)
{
    const char *tsuid = json_string_value(json_object_get(series, "tsuid"));
    json_t *meta;
    enum status st;

    buf_printf(&x->path, "/api/uid/tsmeta?tsuid=%s", tsuid);
    st = fetch_ask(x, NULL, JSON_OBJECT, &meta, e);
    if (st == ST_NOT_FOUND)
        return ST_OK;
    if (st == ST_OK && says_something(meta)) {
        fetch_begin(x, "tsmeta");
        fetch_copy(x, series, "metric", "metric");
        fetch_copy(x, series, "tags", "tags");
        fetch_copy_record(x, meta, &meta_series_format);
        st = fetch_end(x, e);
    }
    json_decref(meta);
    return st;
}

enum status
fetch_lookup(struct fetching *x, int64_t limit, bool from_meta, json_t **answer,
             const json_t **series, struct error *e)
{
    struct buf body = BUF_INIT;
    struct slice text;
    enum status st;

    buf_put_u8(&body, '{');
    json_put_member(&body, "metric", x->metric);
    json_put_int(&body, "limit", limit);
    json_put_bool(&body, "useMeta", from_meta);
    buf_put_u8(&body, '}');
    text = buf_slice(&body);
    buf_put_str(&x->path, "/api/search/lookup");
    st = fetch_ask(x, &text, JSON_OBJECT, answer, e);
    buf_fini(&body);
    *series = json_object_get(*answer, "results");
    for (size_t i = 0; st == ST_OK && i < json_array_size(*series); i++) {
        const char *tsuid = json_string_value(
            json_object_get(json_array_get(*series, i), "tsuid"));

        if (tsuid == NULL || !fetch_is_hex(tsuid))
            st = error_set(e, ST_INVALID, "a series has no TSUID");
    }
    return st;
}

static enum status
fetch_metrics(struct fetching *x, const json_t *names, struct error *e)
{
    enum status st = ST_OK;

    for (size_t i = 0; st == ST_OK && i < json_array_size(names); i++) {
        const char *metric = json_string_value(json_array_get(names, i));

        if (x->f->metrics != NULL &&
            !glob_fits(slice_str(x->f->metrics), slice_str(metric), false))
            continue;
        st = ST_OK;
        x->metric_name = metric;
        x->metric = slice_str(metric);
        if ((x->f->parts & FETCH_METADATA) != 0) {
            /* Series with metadata are in the table of metadata, which is what
             * the lookup reads. */
            json_t *answer;
            const json_t *series;

            st = fetch_lookup(x, LISTED_MAX, true, &answer, &series, e);
            for (size_t j = 0; st == ST_OK && j < json_array_size(series); j++)
                st = fetch_series_meta(x, json_array_get(series, j), e);
            json_decref(answer);
        }
        st = st == ST_OK ? fetch_points(x, e) : st;
        if ((st == ST_INVALID || st == ST_NOT_FOUND || st == ST_LIMIT) &&
            !x->lines_failed) {
            x->f->missed(x->f->ctx, metric, e);
            st = ST_OK;
        } else if (st != ST_OK) {
            st = error_wrap(e, st, "%.100s", metric);
        }
    }
    return st;
}

enum status
fetch_all(const struct fetch *f, struct error *e)
{
    const struct client_options o = { .address = f->url,
                                      .cacert = f->cacert,
                                      .stall_s = STALL_S,
                                      .foreign = true };
    struct fetching x = { .f = f, .answer = { .max = ANSWER_MAX } };
    json_t *names[UID_KINDS] = { NULL };
    enum status st = client_open(&o, &x.client, e);

    for (int kind = 0; kind < UID_KINDS && st == ST_OK; kind++)
        st = fetch_names(&x, (enum uid_kind)kind, &names[kind], e);
    if (st == ST_OK && (f->parts & FETCH_TREES) != 0)
        st = fetch_trees(&x, e);
    if (st == ST_OK && (f->parts & FETCH_ANNOTATIONS) != 0)
        st = fetch_globals(&x, e);
    if (st == ST_OK && (f->parts & ~(unsigned)(FETCH_NAMES | FETCH_TREES)) != 0)
        st = fetch_metrics(&x, names[UID_METRIC], e);
    if (st == ST_OK)
        st = fetch_flush(&x, e);
    for (int kind = 0; kind < UID_KINDS; kind++)
        json_decref(names[kind]);
    client_close(&x.client);
    buf_fini(&x.out);
    buf_fini(&x.path);
    buf_fini(&x.answer);
    return st;
}
