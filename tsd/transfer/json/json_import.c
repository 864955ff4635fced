#include "tsd/transfer/json/json_import.h"

#include <jansson.h>

#include "base/process/clock.h"
#include "base/process/log.h"
#include "base/mem.h"
#include "base/obj.h"
#include "base/text/digit.h"
#include "base/text/number.h"
#include "query/model/rollup.h"
#include "storage/histogram/histogram_table.h"
#include "tsd/api/api.h"
#include "tsd/api/put/histogram_put.h"
#include "tsd/put/put_json.h"
#include "tsd/put/put_value.h"
#include "tsd/transfer/json/json_record.h"
#include "uid/meta/annotation.h"
#include "uid/meta/meta.h"
#include "uid/meta/tree.h"
#include "web/json/json.h"

#define IMPORTER_MAGIC FOURCC('J', 'I', 'M', 'P')
#define RECORDS_MAX    4096 /* gathered */
#define RECORDS_BYTES  ((size_t)4 << 20)

struct json_importer {
    uint32_t magic;
    const struct api *a;
    struct series_rules rules;
    struct put_batch *batch;
    struct json_owner owner;
    struct kv_batch *records;
    struct arena *arena; /* of one line */
    struct buf text, bytes;
    size_t points_len;                  /* in the batch */
    uint8_t trees[TREE_ID_MAX / 8 + 1]; /* a bit for each that is there */
    struct put_json_point points[PUT_BATCH_MAX];
    struct series_point rollups[PUT_BATCH_MAX];
};

struct json_importer *
json_importer_new(const struct api *a, const struct series_rules *rules,
                  struct put_batch *batch, const struct json_owner *owner)
{
    struct json_importer *j = mem_new(sizeof *j);

    j->magic = IMPORTER_MAGIC;
    j->a = a;
    j->rules = *rules;
    j->batch = batch;
    j->owner = *owner;
    j->records = kv_batch_new();
    j->arena = arena_new(0);
    return j;
}

void
json_importer_free(struct json_importer **jp)
{
    struct json_importer *j = OBJ_TAKE(jp, IMPORTER_MAGIC);

    if (j == NULL)
        return;
    kv_batch_free(&j->records);
    arena_free(&j->arena);
    buf_fini(&j->text);
    buf_fini(&j->bytes);
    OBJ_FREE(j);
}

static enum status
flush_records(struct json_importer *j, struct error *e)
{
    uint64_t lsn = 0;
    enum status st = ST_OK;

    if (kv_batch_len(j->records) == 0)
        return ST_OK;
    st = kv_batch_check(j->records, e);
    if (st == ST_OK)
        st = records_restore(j->a->records, j->records, &lsn, e);
    kv_batch_clear(j->records);
    put_batch_note(j->batch, lsn);
    return st;
}

enum status
json_importer_flush(struct json_importer *j, struct error *e)
{
    enum status st;

    OBJ_CHECK(j, IMPORTER_MAGIC);
    st = j->owner.flush(j->owner.ctx, e);
    j->points_len = 0;
    return st == ST_OK ? flush_records(j, e) : st;
}

/* -- points ---------------------------------------------------------------- */

/* The next time and value; false at the end of both. */
static bool
next_pair(struct put_json_point *line, int64_t *time, struct slice *value,
          enum status *st, struct error *e)
{
    struct slice raw;
    bool more = put_json_item(&line->times, &raw);

    *st = ST_OK;
    if (put_json_item(&line->values, value) != more)
        *st = error_set(e, ST_INVALID, "there are not as many values as times");
    else if (more && !put_parse_time(raw, time, NULL))
        *st = error_set(e, ST_INVALID,
                        "a time is neither a whole number nor seconds with "
                        "1 to 3 decimals");
    return more && *st == ST_OK;
}

static enum status
add_points(struct json_importer *j, struct put_json_point *line, size_t id,
           struct error *e)
{
    struct slice value;
    enum status st;
    int64_t time;

    while (next_pair(line, &time, &value, &st, e)) {
        struct put_json_point *p = &j->points[j->points_len++];

        *p = (struct put_json_point){ .metric = line->metric,
                                      .tags = line->tags,
                                      .value = value,
                                      .time = time };
        put_batch_json(j->batch, p, id, false);
        if (put_batch_is_full(j->batch)) {
            st = json_importer_flush(j, e);
            if (st != ST_OK)
                return st;
        }
    }
    return st;
}

/* Rollups are few: they go to the store by themselves. */
static enum status
put_rollups(struct json_importer *j, size_t len, uint64_t *points,
            struct error *e)
{
    uint64_t lsn = 0;
    int64_t since_us = clock_monotonic_us();
    enum status st = ST_OK;

    if (len > 0)
        st = store_put(j->a->store, j->rollups, len, &lsn, e);
    while (st == ST_BUSY && j->owner.wait(j->owner.ctx, since_us, e) == ST_OK)
        st = store_put(j->a->store, j->rollups, len, &lsn, e);
    if (st == ST_OK)
        *points += len;
    put_batch_note(j->batch, lsn);
    return st;
}

static enum status
add_rollups(struct json_importer *j, struct put_json_point *line,
            uint64_t *points, struct error *e)
{
    struct put_tags tags;
    struct slice metric, kind, value;
    struct tsuid tsuid;
    uint64_t number;
    size_t len = 0;
    series_ref ref;
    enum status st;
    int64_t time;

    /* All at once, so that what the slices refer to never moves. */
    buf_clear(&j->text);
    if (buf_reserve(&j->text, 3 * (line->metric.size + line->kind.size +
                                   line->tags.size) +
                                  1) == NULL)
        return error_no_memory(e);
    metric = put_json_text(line->metric, &j->text);
    put_json_tags(line->tags, &tags, &j->text);
    kind = put_json_text(line->kind, &j->text);
    if (kind.size == 0 || kind.size >= ROLLUP_NAME_MAX ||
        memchr(kind.data, '\0', kind.size) != NULL)
        return error_set(e, ST_INVALID, "'kind' is no kind of rollups");
    st =
        series_kind(j->a->series, buf_cstr(&j->text) + j->text.size - kind.size,
                    true, &number, e);
    if (st == ST_OK)
        st = series_resolve(
            j->a->series, &j->rules,
            &(struct series_text){ number, metric, tags.tags, tags.len }, &ref,
            &tsuid, e);
    while (st == ST_OK && next_pair(line, &time, &value, &st, e)) {
        struct series_point *p = &j->rollups[len++];
        struct buf why = BUF_INIT;

        *p = (struct series_point){ .series = ref };
        if (time <= 0 || !put_time_to_ms(time, &p->point.ts_ms))
            st =
                error_set(e, ST_INVALID, "bad timestamp=%lld", (long long)time);
        else if (!put_parse_value(value, &p->point, &why) ||
                 !put_value_is_finite(&p->point))
            st = error_set(e, ST_INVALID, "%s", buf_cstr(&why));
        buf_fini(&why);
        if (st == ST_OK && len == PUT_BATCH_MAX) {
            st = put_rollups(j, len, points, e);
            len = 0;
        }
    }
    return st == ST_OK ? put_rollups(j, len, points, e) : st;
}

/* False: the line is none of points; it is not looked at further. */
static bool
add_series(struct json_importer *j, struct slice line, size_t id,
           uint64_t *points, enum status *st, struct error *e)
{
    static const char head[] = "{\"type\":\"points\",";
    struct put_json_point x, more;
    struct put_json r;

    if (!slice_starts(line, slice_str(head)) || !put_json_open(&r, line))
        return false;
    r.kind = PUT_JSON_SERIES;
    if (!put_json_next(&r, &x)) {
        *st = put_json_status(&r, e);
        return true;
    }
    if (put_json_next(&r, &more) || put_json_status(&r, NULL) != ST_OK) {
        *st =
            error_set(e, ST_INVALID, "the line contains more than one record");
        return true;
    }
    *st = x.kind.size > 0 ? add_rollups(j, &x, points, e)
                          : add_points(j, &x, id, e);
    return true;
}

/* -- records --------------------------------------------------------------- */

/* The TSUID of "metric" and "tags", or of "tsuid", or none. */
static enum status
read_tsuid(struct json_importer *j, const json_t *o, bool enter,
           struct tsuid *tsuid, struct error *e)
{
    json_t *tags = json_object_get(o, "tags"), *value;
    struct put_tags list = { .len = 0 };
    struct slice metric, text;
    const char *key;
    series_ref ref;
    enum status st = json_text_member(o, "metric", &metric, e);

    tsuid->size = 0;
    if (st == ST_OK)
        st = json_text_member(o, "tsuid", &text, e);
    if (st != ST_OK)
        return st;
    if (text.data != NULL)
        return digits_parse_hex(text, tsuid->bytes, TSUID_MAX, &tsuid->size) &&
                       tsuid->size > 0
                   ? ST_OK
                   : error_set(e, ST_INVALID, "'tsuid' is no TSUID");
    if (metric.data == NULL && tags == NULL)
        return ST_OK;
    if (metric.data == NULL || !json_is_object(tags))
        return error_set(e, ST_INVALID, "'metric' and 'tags' go together");
    json_object_foreach(tags, key, value)
    {
        if (!json_is_string(value))
            return error_set(e, ST_INVALID, "a tag is no text");
        put_tags_set(
            &list, slice_str(key),
            slice_of(json_string_value(value), json_string_length(value)));
    }
    return enter ? series_resolve(
                       j->a->series, &j->rules,
                       &(struct series_text){ 0, metric, list.tags, list.len },
                       &ref, tsuid, e)
                 : series_identify(
                       j->a->series, &j->rules,
                       &(struct series_text){ 0, metric, list.tags, list.len },
                       tsuid, e);
}

static enum status
need_tsuid(struct json_importer *j, const json_t *o, struct tsuid *tsuid,
           struct error *e)
{
    enum status st = read_tsuid(j, o, true, tsuid, e);

    return st == ST_OK && tsuid->size == 0
               ? error_set(e, ST_INVALID, "there is no 'metric'")
               : st;
}

static enum status
add_annotation(struct json_importer *j, const json_t *o, struct error *e)
{
    uint8_t key[ANNOTATION_KEY_MAX];
    struct tsuid tsuid;
    struct annotation n = { 0 };
    size_t key_size;
    enum status st = read_tsuid(j, o, false, &tsuid, e);

    if (st == ST_OK)
        st = json_record_read(o, &annotation_format, j->arena, &n, e);
    if (st == ST_OK && n.start < 1)
        st = error_set(e, ST_INVALID, "The start timestamp has not been set");
    if (st != ST_OK)
        return st;
    key_size = annotation_key(tsuid_slice(&tsuid), annotation_ms(n.start), key);
    return record_put(j->records, slice_of(key, key_size), &annotation_format,
                      &n, e);
}

/* "kind" and "name", which gets an id if it has none. */
static enum status
read_name(struct json_importer *j, const json_t *o, enum uid_kind *kind,
          uint64_t *id, struct error *e)
{
    struct slice kind_text, name = { NULL, 0 };
    enum status st = json_text_member(o, "kind", &kind_text, e);

    if (st == ST_OK)
        st = json_text_member(o, "name", &name, e);
    if (st == ST_OK && (kind_text.data == NULL || name.data == NULL ||
                        !uid_kind_parse((const char *)kind_text.data, kind)))
        st = error_set(e, ST_INVALID, "'kind' and 'name' must name something");
    return st == ST_OK ? uid_get_or_create(j->a->uids, *kind, name, id, e) : st;
}

static enum status
add_name(struct json_importer *j, const json_t *o, struct error *e)
{
    enum uid_kind kind;
    uint64_t id;

    return read_name(j, o, &kind, &id, e);
}

static enum status
put_meta(struct json_importer *j, const json_t *o,
         const struct record_format *format, struct meta_of of, struct error *e)
{
    struct meta meta = meta_empty();
    uint8_t key[META_KEY_MAX];
    enum status st = json_record_read(o, format, j->arena, &meta, e);

    return st == ST_OK
               ? record_put(j->records, meta_key(of, key), format, &meta, e)
               : st;
}

static enum status
add_name_meta(struct json_importer *j, const json_t *o, struct error *e)
{
    enum uid_kind kind;
    uint8_t bytes[8];
    uint64_t id;
    unsigned width;
    enum status st = read_name(j, o, &kind, &id, e);

    if (st != ST_OK)
        return st;
    width = uid_width(j->a->uids, kind);
    key_put_uint(bytes, id, width);
    return put_meta(
        j, o, &meta_name_format,
        (struct meta_of){ (enum meta_kind)kind, slice_of(bytes, width) }, e);
}

static enum status
add_series_meta(struct json_importer *j, const json_t *o, struct error *e)
{
    struct tsuid tsuid;
    enum status st = need_tsuid(j, o, &tsuid, e);

    return st == ST_OK
               ? put_meta(j, o, &meta_series_format,
                          (struct meta_of){ META_SERIES, tsuid_slice(&tsuid) },
                          e)
               : st;
}

/* "tree", "level", "order": not negative, the tree an id. */
static enum status
read_place(const json_t *o, struct tree_rule *rule, struct error *e)
{
    enum status st = json_whole_member(o, "tree", &rule->tree, e);

    if (st == ST_OK)
        st = json_whole_member(o, "level", &rule->level, e);
    if (st == ST_OK)
        st = json_whole_member(o, "order", &rule->order, e);
    if (st == ST_OK && (rule->tree < 1 || rule->tree > TREE_ID_MAX))
        st = error_set(e, ST_INVALID, "Invalid Tree ID");
    if (st == ST_OK && (rule->level < 0 || rule->level > INT32_MAX ||
                        rule->order < 0 || rule->order > INT32_MAX))
        st = error_set(e, ST_INVALID, "'level' or 'order' is out of range");
    return st;
}

static enum status
add_tree(struct json_importer *j, const json_t *o, struct error *e)
{
    uint8_t key[TREE_KEY_SIZE];
    struct tree_rule place;
    struct tree tree = { 0 };
    enum status st = read_place(o, &place, e);

    if (st == ST_OK)
        st = json_record_read(o, &tree_format, j->arena, &tree, e);
    if (st == ST_OK)
        st = record_put(j->records, tree_key(place.tree, key), &tree_format,
                        &tree, e);
    if (st == ST_OK)
        j->trees[place.tree / 8] |= (uint8_t)(1 << place.tree % 8);
    return st;
}

static enum status
add_rule(struct json_importer *j, const json_t *o, struct error *e)
{
    uint8_t key[TREE_RULE_KEY_SIZE];
    struct tree_rule rule = { 0 };
    int type;
    enum status st = read_place(o, &rule, e);

    if (st == ST_OK)
        st = json_record_read(o, &tree_rule_format, j->arena, &rule, e);
    type = (int)rule.type;
    if (st == ST_OK && (type <= TREE_RULE_NONE || type > TREE_RULE_TAGV_CUSTOM))
        st = error_set(e, ST_INVALID, "Unrecognized rule type");
    if (st == ST_OK && rule.group > INT32_MAX)
        st = error_set(e, ST_INVALID, "'regexGroupIdx' is out of range");
    if (st == ST_OK) {
        /* A rule of no tree is damage to fsck, and to whatever backs the store
         * up. */
        struct tree tree;

        if ((j->trees[rule.tree / 8] & 1 << rule.tree % 8) == 0)
            st = tree_get(j->a->records, rule.tree, j->arena, &tree, e);
        if (st == ST_OK)
            j->trees[rule.tree / 8] |= (uint8_t)(1 << rule.tree % 8);
    }
    return st == ST_OK ? record_put(j->records,
                                    tree_rule_key(rule.tree, rule.level,
                                                  rule.order, key),
                                    &tree_rule_format, &rule, e)
                       : st;
}

static enum status
add_histogram(struct json_importer *j, const json_t *o, struct error *e)
{
    struct tsuid tsuid;
    size_t size = 0;
    int64_t time, codec = j->a->histograms.simple, ms = 0;
    struct slice data;
    uint8_t *value;
    enum status st = need_tsuid(j, o, &tsuid, e);

    if (st == ST_OK)
        st = json_whole_member(o, "time", &time, e);
    if (st == ST_OK && json_object_get(o, "codec") != NULL)
        st = json_whole_member(o, "codec", &codec, e);
    else if (st == ST_OK && codec < 0)
        st = error_set(e, ST_INVALID, "%s", HISTOGRAMS_ARE_OFF);
    if (st == ST_OK)
        st = json_text_member(o, "data", &data, e);
    if (st != ST_OK)
        return st;
    if (time <= 0 || !put_time_to_ms(time, &ms) || codec < 0 || codec > 255)
        return error_set(e, ST_INVALID, "'time' or 'codec' is out of range");
    value = arena_alloc(j->arena, 1 + data.size / 2);
    if (value == NULL)
        return error_no_memory(e);
    value[0] = (uint8_t)codec;
    if (!digits_parse_hex(data, value + 1, data.size / 2, &size))
        return error_set(e, ST_INVALID, "'data' is not hexadecimal");
    histogram_put(j->records, tsuid_slice(&tsuid), ms,
                  slice_of(value, 1 + size));
    return ST_OK;
}

static const struct {
    const char *type;
    enum status (*add)(struct json_importer *j, const json_t *o,
                       struct error *e);
} types[] = {
    { "uid", add_name },
    { "uidmeta", add_name_meta },
    { "tsmeta", add_series_meta },
    { "annotation", add_annotation },
    { "histogram", add_histogram },
    { "tree", add_tree },
    { "rule", add_rule },
};
#define TYPES_LEN (sizeof types / sizeof types[0])

enum status
json_importer_add(struct json_importer *j, struct slice line, size_t id,
                  uint64_t *points, uint64_t *records, struct error *e)
{
    struct kv_batch_mark mark;
    enum status st = ST_OK;
    struct json_t *o = NULL;
    struct slice type = { NULL, 0 };
    size_t i = 0;

    OBJ_CHECK(j, IMPORTER_MAGIC);
    if (add_series(j, line, id, points, &st, e))
        return st;
    arena_reset(j->arena);
    mark = kv_batch_mark(j->records);
    st = json_parse(line, SIZE_MAX, &o, e);
    if (st == ST_OK && !json_is_object(o))
        st = error_set(e, ST_INVALID, "a line is no object");
    if (st == ST_OK)
        st = json_text_member(o, "type", &type, e);
    while (i < TYPES_LEN && !slice_eq_str(type, types[i].type))
        i++;
    if (st == ST_OK && slice_eq_str(type, "points"))
        st = error_set(e, ST_INVALID,
                       "'type' is the first member of a line of points");
    else if (st == ST_OK && i == TYPES_LEN)
        st = type.data == NULL ? error_set(e, ST_INVALID, "there is no 'type'")
                               : error_set(e, ST_INVALID, "unknown type: %s",
                                           log_quote(type));
    if (st == ST_OK)
        st = types[i].add(j, o, e);
    json_decref(o);
    if (st != ST_OK) {
        kv_batch_rewind(j->records, mark);
        return st;
    }
    ++*records;
    mark = kv_batch_mark(j->records);
    return mark.len >= RECORDS_MAX || mark.size >= RECORDS_BYTES
               ? flush_records(j, e)
               : ST_OK;
}
