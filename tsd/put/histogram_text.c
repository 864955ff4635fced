#include "tsd/put/histogram_text.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file/file.h"
#include "base/text/digit.h"
#include "base/text/java.h"
#include "base/text/number.h"
#include "tsd/put/put_value.h"
#include "web/json/json.h"

#define SIMPLE_CODEC "net.opentsdb.core.SimpleHistogramDecoder"
#define LEAST_BYTES  6
#define CONFIG_MAX   ((size_t)1 << 20)

static enum status
take_codec(const char *name, const json_t *id, struct histogram_codecs *out,
           struct error *e)
{
    json_int_t n = json_integer_value(id);

    if (!json_is_integer(id) || n < 0 || n > 255)
        return error_set(e, ST_INVALID,
                         "tsd.core.histograms.config: ID for codec '%s' must "
                         "be from 0 to 255.",
                         name);
    if (strcmp(name, SIMPLE_CODEC) != 0)
        return error_set(e, ST_INVALID,
                         "tsd.core.histograms.config: Unable to find a decoder "
                         "named '%s'; there is " SIMPLE_CODEC,
                         name);
    out->simple = (int)n;
    return ST_OK;
}

enum status
histogram_codecs_read(const char *text, struct histogram_codecs *out,
                      struct error *e)
{
    size_t size = text == NULL ? 0 : strlen(text);
    struct buf json = BUF_INIT;
    json_t *codecs = NULL, *id;
    const char *name;
    enum status st = ST_OK;

    *out = (struct histogram_codecs){ .on = size > 0, .simple = -1 };
    if (size == 0)
        return ST_OK;
    if (size > 5 && strcmp(text + size - 5, ".json") == 0)
        st = file_read(text, CONFIG_MAX, &json, e);
    else
        buf_put_str(&json, text);
    if (st != ST_OK)
        (void)error_wrap(e, st, "tsd.core.histograms.config");
    else
        st = json_parse(buf_slice(&json), SIZE_MAX, &codecs, e);
    if (st == ST_OK && !json_is_object(codecs))
        st = error_set(e, ST_INVALID,
                       "tsd.core.histograms.config is no JSON object");
    json_object_foreach(codecs, name, id)
    {
        if (st == ST_OK)
            st = take_codec(name, id, out, e);
    }
    json_decref(codecs);
    buf_fini(&json);
    return st;
}

enum status
histogram_codec_check(const struct histogram_codecs *c, int64_t id,
                      struct error *e)
{
    if (c->simple >= 0 && id == c->simple)
        return ST_OK;
    return error_set(e, ST_INVALID, "No codec found mapped to ID %lld",
                     (long long)id);
}

enum status
histogram_simple_check(const struct histogram_codecs *c, struct error *e)
{
    if (c->simple >= 0)
        return ST_OK;
    return error_set(e, ST_INVALID, /* OpenTSDB says "class" twice */
                     "No codec ID assigned to class class " SIMPLE_CODEC);
}

static size_t
count(struct slice s, uint8_t c)
{
    size_t n = 0;

    for (size_t i = 0; i < s.size; i++)
        n += s.data[i] == c;
    return n;
}

/* Halves at the only 'c'; false when there is another number of them. */
static bool
halve(struct slice s, char c, struct slice *left, struct slice *right)
{
    if (count(s, (uint8_t)c) != 1)
        return false;
    *right = s;
    *left = slice_cut(right, c);
    return true;
}

static bool
parse_bound(struct slice text, float *out)
{
    double v;

    if (!java_parse_double(text, &v) && !put_parse_double(text, &v, NULL))
        return false;
    *out = (float)v;
    return !isnan(v);
}

enum status
histogram_parse_bounds(struct slice text, struct histogram_bucket *out,
                       struct error *e)
{
    struct slice low, high;

    if (!halve(text, ',', &low, &high))
        return error_set(e, ST_INVALID, "Unable to parse bucket bounds: %.*s",
                         SLICE_ARG(text));
    if (!parse_bound(low, &out->low) || !parse_bound(high, &out->high))
        return error_set(e, ST_NOT_FOUND, "For input string: \"%.*s\"",
                         SLICE_ARG(text));
    return ST_OK;
}

static enum status
take_bucket(struct slice text, struct histogram *h, struct error *e)
{
    struct slice name, number;
    struct histogram_bucket b = { 0 };

    if (!halve(text, '=', &name, &number))
        return error_set(e, ST_INVALID, "Improperly formatted bucket: %.*s",
                         SLICE_ARG(text));
    if (!number_parse_i64(number, &b.count))
        return error_set(e, ST_INVALID, "For input string: \"%.*s\"",
                         SLICE_ARG(number));
    if (name.size == 1 && (name.data[0] | 0x20) == 'u') {
        h->underflow = b.count;
        return ST_OK;
    }
    if (name.size == 1 && (name.data[0] | 0x20) == 'o') {
        h->overflow = b.count;
        return ST_OK;
    }
    if (count(name, ',') != 1)
        return error_set(e, ST_INVALID, "Improperly formatted bounds: %.*s",
                         SLICE_ARG(text));
    h->buckets[h->len++] = b;
    return histogram_parse_bounds(name, &h->buckets[h->len - 1], e);
}

enum status
histogram_parse_line(struct slice text, struct arena *a, struct histogram *out,
                     struct error *e)
{
    size_t parts = count(text, ':') + 1;
    enum status st = ST_OK;

    *out = (struct histogram){ 0 };
    if (parts > HISTOGRAM_BUCKETS_MAX)
        return error_set(e, ST_INVALID, "Too many buckets: %zu, at most %d",
                         parts, HISTOGRAM_BUCKETS_MAX);
    out->buckets = arena_array(a, parts, sizeof *out->buckets);
    if (out->buckets == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < parts && st == ST_OK; i++)
        st = take_bucket(slice_cut(&text, ':'), out, e);
    return st == ST_OK ? histogram_sort(out, a, e) : st;
}

/* Whole groups of four letters only. */
static size_t
decode_base64(struct slice text, uint8_t *out)
{
    unsigned group[4];
    size_t have = 0, size = 0;

    for (size_t i = 0; i < text.size; i++) {
        int v = text.data[i] == '=' ? 64 : digit_base64(text.data[i]);

        if (v < 0)
            continue;
        group[have++] = (unsigned)v;
        if (have < 4)
            continue;
        have = 0;
        out[size++] = (uint8_t)(group[0] << 2 | (group[1] & 63) >> 4);
        if (group[2] < 64)
            out[size++] = (uint8_t)(group[1] << 4 | group[2] >> 2);
        if (group[3] < 64)
            out[size++] = (uint8_t)(group[2] << 6 | group[3]);
    }
    return size;
}

enum status
histogram_parse_base64(struct slice text, struct arena *a,
                       struct histogram *out, struct error *e)
{
    uint8_t *bytes = arena_alloc(a, text.size + 3);
    struct buf shown = BUF_INIT;
    struct slice blob;
    enum status st;

    if (bytes == NULL)
        return error_no_memory(e);
    blob = slice_of(bytes, decode_base64(text, bytes));
    if (blob.size >= LEAST_BYTES)
        return histogram_decode(blob, a, out, e);
    put_bytes_print(&shown, blob);
    st =
        error_set(e, ST_INVALID, "Byte array shorter than 6 bytes detected: %s",
                  buf_cstr(&shown));
    buf_fini(&shown);
    return st;
}
