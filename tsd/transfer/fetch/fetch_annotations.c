/* Annotations: global ones, those that came beside points of their series, and
 * those that came beside none, whose series has to be asked for. */
#include "tsd/transfer/fetch/fetch_priv.h"

#include <jansson.h>

#include "uid/meta/annotation.h"

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

enum status
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
