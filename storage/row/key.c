/* The one place that knows how keys are laid out. */
#include "storage/row/key.h"

#include <stdio.h>

#include "base/cursor.h"
#include "base/hash.h"
#include "base/obj.h"

#define BASE_SIZE 4

static size_t
pair_size(const struct key_layout *s)
{
    return (size_t)s->tagk_width + s->tagv_width;
}

void
key_put_uint(uint8_t *out, uint64_t v, unsigned width)
{
    INSIST(width >= 1 && width <= 8);
    INSIST(width == 8 || v >> (8 * width) == 0);
    for (unsigned i = width; i-- > 0; v >>= 8)
        out[i] = (uint8_t)v;
}

uint64_t
key_get_uint_of(const uint8_t *in, unsigned width)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < width; i++)
        v = v << 8 | in[i];
    return v;
}

static bool
width_is_valid(unsigned width)
{
    return width >= 1 && width <= 8;
}

bool
key_layout_is_valid(const struct key_layout *s)
{
    return width_is_valid(s->metric_width) && width_is_valid(s->tagk_width) &&
           width_is_valid(s->tagv_width) && s->salt_width <= 1 &&
           s->salt_buckets >= 1 &&
           s->salt_buckets <= (s->salt_width == 0 ? 1 : 256) &&
           s->row_hours >= 1 && ROW_HOURS_MAX % s->row_hours == 0;
}

bool
tsuid_is_valid(const struct key_layout *s, struct slice tsuid)
{
    size_t size = pair_size(s), left;
    const uint8_t *tagk;
    uint64_t last = 0;

    if (tsuid.size < s->metric_width)
        return false;
    left = tsuid.size - s->metric_width;
    if (left > size * KEY_MAX_TAGS)
        return false;
    tagk = tsuid.data + s->metric_width;
    for (bool first = true; left >= size; left -= size, tagk += size) {
        uint64_t now = key_get_uint(tagk, s->tagk_width);

        if (!first && now <= last)
            return false;
        last = now;
        first = false;
    }
    return left == 0;
}

size_t
tsuid_tags(const struct key_layout *s, struct slice tsuid)
{
    return (tsuid.size - s->metric_width) / pair_size(s);
}

struct slice
tsuid_metric(const struct key_layout *s, struct slice tsuid)
{
    return slice_of(tsuid.data, s->metric_width);
}

static const uint8_t *
pair(const struct key_layout *s, struct slice tsuid, size_t i)
{
    INSIST(i < KEY_MAX_TAGS * 256 && /* no overflow, and no division */
           (i + 1) * pair_size(s) <= tsuid.size - s->metric_width);
    return tsuid.data + s->metric_width + i * pair_size(s);
}

struct slice
tsuid_tagk(const struct key_layout *s, struct slice tsuid, size_t i)
{
    return slice_of(pair(s, tsuid, i), s->tagk_width);
}

struct slice
tsuid_tagv(const struct key_layout *s, struct slice tsuid, size_t i)
{
    return slice_of(pair(s, tsuid, i) + s->tagk_width, s->tagv_width);
}

bool
tsuid_tags_begin_at(const struct key_layout *s, struct slice tsuid,
                    uint64_t least_tagk)
{
    return tsuid_tags(s, tsuid) == 0 ||
           tsuid_tagk_id(s, tsuid, 0) >= least_tagk;
}

unsigned
key_salt(const struct key_layout *s, struct slice tsuid)
{
    return s->salt_width == 0
               ? 0
               : (unsigned)(hash_slice(tsuid, 0) % s->salt_buckets);
}

static unsigned
bucket_below(const struct key_layout *s, unsigned salt)
{
    return salt >= s->salt_buckets ? KV_NO_BUCKET : salt;
}

/* Of what is behind the table byte of a row or a week. */
static unsigned
bucket_of_row(const struct key_layout *s, struct cursor c)
{
    unsigned salt = s->salt_width == 0 ? 0 : cursor_u8(&c);

    (void)cursor_bytes(&c, s->metric_width);
    (void)cursor_u32(&c);
    return c.failed ? KV_NO_BUCKET : bucket_below(s, salt);
}

unsigned
key_bucket(const struct key_layout *s, struct slice key)
{
    struct cursor c = cursor_of(key);
    uint8_t table = cursor_u8(&c);
    struct slice rest = slice_of(key.data + 1, cursor_left(&c));

    if (c.failed)
        return KV_NO_BUCKET;
    if (table == TABLE_ROWS)
        return bucket_of_row(s, c);
    if (table == TABLE_WEEKS && rest.size == s->salt_width)
        return s->salt_width == 0 ? 0 : bucket_below(s, rest.data[0]);
    if (table == TABLE_WEEKS)
        return bucket_of_row(s, c);
    if (table == TABLE_SERIES)
        return key_salt(s, rest);
    if (table == TABLE_ANNOTATIONS || table == TABLE_HISTOGRAMS) {
        size_t size = cursor_u16(&c);
        struct slice tsuid = cursor_bytes(&c, size);

        /* The key continues with <size:2> <TSUID>. */
        return c.failed || size == 0 ? KV_NO_BUCKET : key_salt(s, tsuid);
    }
    if (table == TABLE_QUARANTINE)
        return cursor_u8(&c) == TABLE_ROWS ? bucket_of_row(s, c) : KV_NO_BUCKET;
    if (table == TABLE_META && rest.size > 1 && rest.data[0] == 't')
        return key_salt(s, slice_of(rest.data + 1, rest.size - 1));
    if (table != TABLE_TAGK_SETS || rest.size <= s->metric_width)
        return KV_NO_BUCKET;
    return bucket_below(s, rest.data[rest.size - 1]);
}

/* -- rows and weeks -------------------------------------------------------- */

static size_t
put_key(const struct key_layout *s, enum table table, unsigned bucket,
        struct slice tsuid, uint32_t base, uint8_t *out)
{
    size_t n = 0, tags_size = tsuid.size - s->metric_width;

    INSIST(tsuid.size >= s->metric_width && tsuid.size <= TSUID_MAX);
    out[n++] = (uint8_t)table;
    if (s->salt_width == 1)
        out[n++] = (uint8_t)bucket;
    memcpy(out + n, tsuid.data, s->metric_width);
    n += s->metric_width;
    key_put_uint(out + n, base, BASE_SIZE);
    n += BASE_SIZE;
    if (tags_size > 0)
        memcpy(out + n, tsuid.data + s->metric_width, tags_size);
    return n + tags_size;
}

size_t
key_place(const struct key_layout *s, const struct key_place *p, uint8_t *out)
{
    size_t at = key_base_at(s);

    out[0] = p->table;
    if (s->salt_width == 1)
        out[1] = (uint8_t)p->bucket;
    key_put_uint(out + at - s->metric_width, p->metric, s->metric_width);
    key_put_uint(out + at, p->base, BASE_SIZE);
    return at + BASE_SIZE;
}

bool
key_base(const struct key_layout *s, struct slice key, uint32_t *base)
{
    size_t at = key_base_at(s);

    if (key.size < at + BASE_SIZE)
        return false;
    *base = (uint32_t)key_get_uint(key.data + at, BASE_SIZE);
    return true;
}

/* 'what' begins at multiples of 'span_s'. */
static enum status
parse_key(const struct key_layout *s, enum table table, const char *what,
          uint32_t span_s, struct slice key, uint32_t *base,
          struct tsuid *tsuid, struct error *e)
{
    struct cursor c = cursor_of(key);
    uint8_t first = cursor_u8(&c);
    unsigned found = s->salt_width == 0 ? 0 : cursor_u8(&c);
    struct slice metric = cursor_bytes(&c, s->metric_width);
    uint32_t begins = cursor_u32(&c);
    struct slice tags = cursor_bytes(&c, cursor_left(&c));
    struct slice whole = { tsuid->bytes, metric.size + tags.size };

    if (c.failed || first != table || whole.size > TSUID_MAX)
        return error_set(e, ST_CORRUPT, "a %s key of %zu bytes, table 0x%02x",
                         what, key.size, first);
    memcpy(tsuid->bytes, metric.data, metric.size);
    if (tags.size > 0)
        memcpy(tsuid->bytes + metric.size, tags.data, tags.size);
    if (!tsuid_is_valid(s, whole))
        return error_set(e, ST_CORRUPT,
                         "a %s key of %zu bytes whose tags are not whole "
                         "pairs in ascending order",
                         what, key.size);
    if (begins % span_s != 0)
        return error_set(e, ST_CORRUPT,
                         "a %s key whose time %u is none at which %ss of "
                         "%u hours begin",
                         what, (unsigned)begins, what,
                         (unsigned)(span_s / 3600));
    if (found != key_salt(s, whole))
        return error_set(e, ST_CORRUPT,
                         "a %s key in salt bucket %u that belongs in %u", what,
                         found, key_salt(s, whole));
    *base = begins;
    tsuid->size = whole.size;
    return ST_OK;
}

size_t
key_row(const struct key_layout *s, struct slice tsuid, uint32_t time_s,
        uint8_t *out)
{
    return key_row_in(s, key_salt(s, tsuid), tsuid, time_s, out);
}

size_t
key_row_in(const struct key_layout *s, unsigned bucket, struct slice tsuid,
           uint32_t time_s, uint8_t *out)
{
    return put_key(s, TABLE_ROWS, bucket, tsuid, key_span_base(s, time_s), out);
}

size_t
key_row_part(const struct key_layout *s, struct slice tsuid, uint32_t base,
             uint8_t *out)
{
    INSIST(base % 3600 == 0);
    return put_key(s, TABLE_ROWS, key_salt(s, tsuid), tsuid, base, out);
}

enum status
key_row_parse(const struct key_layout *s, struct slice key, uint32_t *base,
              struct tsuid *tsuid, struct error *e)
{
    return parse_key(s, TABLE_ROWS, "row", 3600, key, base, tsuid, e);
}

enum status
key_row_error(struct slice tsuid, uint32_t base, enum status status,
              struct error *e)
{
    char hex[2 * TSUID_MAX + 1] = "";

    for (size_t i = 0; i < tsuid.size && i < TSUID_MAX; i++)
        (void)snprintf(hex + 2 * i, 3, "%02X", tsuid.data[i]);
    return error_wrap(e, status, "series %s, hour %u", hex, base);
}

size_t
key_week(const struct key_layout *s, struct slice tsuid, uint32_t time_s,
         uint8_t *out)
{
    return put_key(s, TABLE_WEEKS, key_salt(s, tsuid), tsuid,
                   time_s - time_s % WEEK_S, out);
}

enum status
key_week_parse(const struct key_layout *s, struct slice key, uint32_t *base,
               struct tsuid *tsuid, struct error *e)
{
    return parse_key(s, TABLE_WEEKS, "week", WEEK_S, key, base, tsuid, e);
}

size_t
key_weeks_state(const struct key_layout *s, unsigned bucket, uint8_t *out)
{
    out[0] = TABLE_WEEKS;
    if (s->salt_width == 1)
        out[1] = (uint8_t)bucket;
    return 1u + s->salt_width;
}

size_t
key_series(struct slice tsuid, uint8_t *out)
{
    INSIST(tsuid.size <= TSUID_MAX);
    out[0] = TABLE_SERIES;
    if (tsuid.size > 0)
        memcpy(out + 1, tsuid.data, tsuid.size);
    return 1 + tsuid.size;
}

size_t
key_series_of(const struct key_layout *s, uint64_t metric, uint8_t *out)
{
    out[0] = TABLE_SERIES;
    if (metric == 0)
        return 1;
    key_put_uint(out + 1, metric, s->metric_width);
    return 1u + s->metric_width;
}
