/* /api/search/tsmeta, tsmeta_summary, tsuids, uidmeta and annotation: what has
 * these words in its names or its metadata.
 *
 * OpenTSDB hands these to a plug-in.  Here the tables are read from end to end
 * for each search: a million series take seconds, but there is no index that
 * could be behind, and none that costs while points come in. */
#include "tsd/api/api.h"

#include "base/text/number.h"
#include "tsd/api/annotation_json.h"
#include "tsd/api/meta_json.h"
#include "tsd/api/names/search_terms.h"
#include "tsd/api/series_json.h"
#include "web/json/json.h"

#define LIMIT_DEFAULT 25
#define LOOKS_BETWEEN 1024

enum find_what { TSMETA, TSMETA_SUMMARY, TSUIDS, UIDMETA, ANNOTATION };

static const struct {
    const char *path, *type;
} whats[] = {
    { "tsmeta", "TSMETA" },         { "tsmeta_summary", "TSMETA_SUMMARY" },
    { "tsuids", "TSUIDS" },         { "uidmeta", "UIDMETA" },
    { "annotation", "ANNOTATION" },
};
#define WHATS_LEN (sizeof whats / sizeof whats[0])

struct find {
    const struct api *a;
    const struct http_request *r;
    enum find_what what;
    struct slice query;
    struct search_terms terms;
    int64_t limit, start; /* limit 0 and less: all */
    struct buf *b;
    struct arena *scratch; /* of one candidate */
    struct buf name;       /* of one id */
    enum uid_kind kind;    /* whose names are walked */
    uint64_t seen;
    int64_t total, written;
    enum status st; /* a visit's failure, which ends the walk */
    struct error *e;
};

static bool read_request(struct find *f, struct http_reply *out);
static enum status find_series(struct find *f);
static enum status find_names(struct find *f);
static enum status find_notes(struct find *f);

static void
find_answer(struct find *f, struct http_reply *out)
{
    int64_t started_us = clock_monotonic_us();

    buf_printf(f->b, "{\"type\":\"%s\"", whats[f->what].type);
    json_put_text(f->b, "query", f->query);
    buf_printf(f->b, ",\"metric\":\"*\",\"limit\":%lld,\"results\":[",
               (long long)f->limit);
    f->st = f->what == UIDMETA      ? find_names(f)
            : f->what == ANNOTATION ? find_notes(f)
                                    : find_series(f);
    if (f->st == ST_OK && f->b->failed)
        f->st = error_set(f->e, ST_LIMIT, "the answer is too large");
    if (f->st != ST_OK) {
        http_reply_failure(out, f->e);
        return;
    }
    buf_printf(f->b,
               "],\"time\":%lld.0,\"startIndex\":%lld,\"totalResults\":%lld}",
               (long long)((clock_monotonic_us() - started_us) / 1000),
               (long long)f->start, (long long)f->total);
}

static bool
find(const struct api *a, const struct http_request *r, struct slice type,
     struct http_reply *out)
{
    struct error e;
    struct find f = { .a = a,
                      .r = r,
                      .limit = LIMIT_DEFAULT,
                      .b = http_reply_body(out),
                      .e = &e };
    size_t i = 0;

    while (i < WHATS_LEN && !slice_eq_str(type, whats[i].path))
        i++;
    if (i == WHATS_LEN)
        return false;
    f.what = (enum find_what)i;
    if (!read_request(&f, out))
        return true;
    if (!settings_bool(a->settings, "tsd.search.enable")) {
        http_reply_error(out, 400, "Searching is not enabled",
                         "Searching has not been enabled on this TSD");
        return true;
    }
    if (search_parse(f.query, &f.terms, &e) != ST_OK) {
        http_reply_failure(out, &e);
        return true;
    }
    f.scratch = http_arena_new(r);
    find_answer(&f, out);
    arena_free(&f.scratch);
    buf_fini(&f.name);
    return true;
}

void
api_search(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const char *type = http_path(r) + strlen("/api/search");
    char details[200];
    size_t size;

    if (http_method(r) == HTTP_PUT || http_method(r) == HTTP_DELETE) {
        http_reply_error(out, 400,
                         http_method(r) == HTTP_PUT
                             ? "Unsupported method: PUT"
                             : "Unsupported method: DELETE",
                         NULL);
        return;
    }
    if (!api_is_current(ctx, out))
        return;
    type += *type == '/';
    size = strcspn(type, "/");
    if (size == strlen("lookup") && strncmp(type, "lookup", size) == 0) {
        api_lookup(ctx, r, out);
        return;
    }
    if (size == 0) {
        http_reply_error(out, 400, "Invalid search query type supplied",
                         "Type provided was null or empty");
        return;
    }
    if (find(ctx, r, slice_of(type, size), out))
        return;
    (void)snprintf(details, sizeof details, "Unknown type: %.*s", (int)size,
                   type);
    http_reply_error(out, 400, "Invalid search query type supplied", details);
}

/* -- the request ----------------------------------------------------------- */

static const struct field find_fields[] = {
#define AT(member) offsetof(struct find, member)
    { "query", "query", FIELD_TEXT, AT(query), FIELD_NEEDED, 0, NULL },
    { "limit", "limit", FIELD_INT, AT(limit), 0, 0,
      "Unable to convert 'limit' to a valid number" },
    { "start_index", "startIndex", FIELD_INT, AT(start), 0, 0,
      "Unable to convert 'start_index' to a valid number" },
#undef AT
};

static bool
read_request(struct find *f, struct http_reply *out)
{
    unsigned seen;

    f->query = slice_str("");
    return fields_read(f->r, FIELDS(find_fields), f, &seen, out);
}

/* -- what all walks share -------------------------------------------------- */

/* Begins with a candidate; false: stop. */
static bool
find_begin(struct find *f)
{
    if (++f->seen % LOOKS_BETWEEN == 0 && http_is_cancelled(f->r)) {
        f->st = error_set(f->e, ST_BUSY, "the client hung up");
        return false;
    }
    arena_reset(f->scratch);
    search_begin(&f->terms);
    return true;
}

/* The candidate has shown its fields: is it to be written? */
static bool
find_is_wanted(struct find *f)
{
    if (!search_is_hit(&f->terms))
        return false;
    if (f->total++ < f->start || (f->limit > 0 && f->written >= f->limit))
        return false;
    f->written++;
    json_next(f->b);
    return true;
}

static bool
may_go_on(const struct find *f)
{
    return f->st == ST_OK && !f->b->failed;
}

static void
find_show(struct find *f, const char *name, struct slice value)
{
    search_field(&f->terms, slice_str(name), value);
}

static void
show_number(struct find *f, const char *name, int64_t v)
{
    char text[NUMBER_TEXT_MAX];

    find_show(f, name, slice_of(text, number_format_i64(v, text)));
}

static void
show_id(struct find *f, const char *name, struct slice id)
{
    struct buf hex = BUF_INIT;

    api_put_hex(&hex, id);
    find_show(f, name, buf_slice(&hex));
    buf_fini(&hex);
}

static void
show_pairs(struct find *f, const struct text_pairs *p)
{
    struct buf name = BUF_INIT;

    for (size_t i = 0; i < p->len; i++) {
        buf_clear(&name);
        buf_put_str(&name, "custom.");
        buf_put_slice(&name, p->pairs[i].key);
        search_field(&f->terms, buf_slice(&name), p->pairs[i].value);
    }
    buf_fini(&name);
}

static void
show_meta(struct find *f, const struct meta *m)
{
    find_show(f, "displayName", m->display_name);
    find_show(f, "description", m->description);
    find_show(f, "notes", m->notes);
    find_show(f, "units", m->units);
    find_show(f, "dataType", m->data_type);
    show_number(f, "created", m->created);
    show_number(f, "retention", m->retention);
    show_pairs(f, &m->custom);
}

/* Reads the name of an id into f->name. */
static bool
read_name(struct find *f, enum uid_kind kind, struct slice id)
{
    buf_clear(&f->name);
    f->st = uid_name(f->a->uids, kind, key_get_uint(id.data, (unsigned)id.size),
                     &f->name, f->e);
    return f->st == ST_OK;
}

/* -- series ---------------------------------------------------------------- */

/* Shows the names; a tag is a field of its own, too. */
static bool
show_names(struct find *f, struct slice tsuid)
{
    const struct key_layout *layout = store_layout(f->a->store);

    if (!read_name(f, UID_METRIC, tsuid_metric(layout, tsuid)))
        return false;
    find_show(f, "metric.name", buf_slice(&f->name));
    for (size_t i = 0; i < tsuid_tags(layout, tsuid); i++) {
        struct slice key;

        if (!read_name(f, UID_TAGK, tsuid_tagk(layout, tsuid, i)))
            return false;
        find_show(f, "tags.name", buf_slice(&f->name));
        key = slice_of(arena_strdup(f->scratch, buf_slice(&f->name)),
                       f->name.size);
        if (!read_name(f, UID_TAGV, tsuid_tagv(layout, tsuid, i)))
            return false;
        find_show(f, "tags.name", buf_slice(&f->name));
        search_field(&f->terms, key, buf_slice(&f->name));
    }
    return true;
}

static void
write_series(struct find *f, struct slice tsuid, const struct meta *meta)
{
    struct series_points points;

    if (f->what == TSMETA_SUMMARY) {
        f->st = series_put(f->a, f->b, tsuid, f->e);
    } else if (f->what == TSUIDS) {
        buf_put_u8(f->b, '"');
        api_put_hex(f->b, tsuid);
        buf_put_u8(f->b, '"');
    } else {
        f->st =
            series_points(f->a->store, &tsuid, 1, &points, CANCEL_NEVER, f->e);
        if (f->st == ST_OK)
            f->st = meta_write_series(f->a, f->b, tsuid, meta, &points,
                                      f->scratch, f->e);
    }
}

static bool
see_series(void *ctx, struct slice tsuid)
{
    struct find *f = ctx;
    struct meta meta;

    if (!find_begin(f))
        return false;
    f->st = meta_get(f->a->records, (struct meta_of){ META_SERIES, tsuid },
                     f->scratch, &meta, f->e);
    if (f->st == ST_OK && show_names(f, tsuid)) {
        show_id(f, "tsuid", tsuid);
        show_meta(f, &meta);
        if (find_is_wanted(f))
            write_series(f, tsuid, &meta);
    }
    /* Deleted, or one of its names was. */
    if (f->st == ST_NOT_FOUND)
        f->st = ST_OK;
    return may_go_on(f);
}

/* Series that have metadata and no points. */
static bool
see_record(void *ctx, struct slice tsuid)
{
    struct find *f = ctx;
    bool exists;

    f->st = series_exists(f->a->series, tsuid, &exists, f->e);
    return f->st == ST_OK && (exists || see_series(f, tsuid));
}

static enum status
find_series(struct find *f)
{
    enum status st = series_each(f->a->series, 0, NULL, see_series, f, f->e);

    if (st == ST_OK && f->st == ST_OK)
        st =
            meta_each_series(f->a->records, slice_str(""), see_record, f, f->e);
    return st == ST_OK ? f->st : st;
}

/* -- names ----------------------------------------------------------------- */

static bool
see_name(void *ctx, struct slice name, uint64_t id)
{
    struct find *f = ctx;
    unsigned width = uid_width(f->a->uids, f->kind);
    uint8_t bytes[8];
    struct slice uid = slice_of(bytes, width);
    struct meta meta;

    key_put_uint(bytes, id, width);
    if (!find_begin(f))
        return false;
    f->st = meta_get(f->a->records,
                     (struct meta_of){ (enum meta_kind)f->kind, uid },
                     f->scratch, &meta, f->e);
    if (f->st == ST_OK) {
        find_show(f, "name", name);
        find_show(f, "type", slice_str(uid_kind_name(f->kind)));
        if (f->kind == UID_METRIC)
            find_show(f, "type", slice_str("metric"));
        show_id(f, "uid", uid);
        show_meta(f, &meta);
        if (find_is_wanted(f))
            f->st = meta_write_uid(f->a, f->b, f->kind, uid, f->scratch, f->e);
    }
    if (f->st == ST_NOT_FOUND) /* deleted meanwhile */
        f->st = ST_OK;
    return may_go_on(f);
}

static enum status
find_names(struct find *f)
{
    enum status st = ST_OK;

    for (int kind = 0; kind < UID_KINDS && st == ST_OK && f->st == ST_OK;
         kind++) {
        f->kind = (enum uid_kind)kind;
        st = uid_suggest(f->a->uids, f->kind, slice_str(""), 0, see_name, f,
                         f->e);
    }
    return st == ST_OK ? f->st : st;
}

/* -- annotations ----------------------------------------------------------- */

static bool
see_note(void *ctx, const struct annotation *n)
{
    struct find *f = ctx;

    if (!find_begin(f))
        return false;
    show_id(f, "tsuid", n->tsuid);
    find_show(f, "description", n->description);
    find_show(f, "notes", n->notes);
    show_number(f, "startTime", n->start);
    show_number(f, "endTime", n->end);
    show_pairs(f, &n->custom);
    if (find_is_wanted(f))
        annotation_write(f->b, n);
    return may_go_on(f);
}

static enum status
find_notes(struct find *f)
{
    enum status st = annotation_walk(f->a->records, see_note, f, f->e);

    return st == ST_OK ? f->st : st;
}
