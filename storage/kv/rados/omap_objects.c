/* Keys to objects, and objects to ranges of keys. */
#include "storage/kv/rados/omap_objects.h"

#include <stdio.h>

#include "base/cursor.h"
#include "base/hash.h"

static const uint8_t tables[] = { /* ascending */
                                  TABLE_ANNOTATIONS, TABLE_BATCHES,
                                  TABLE_RETENTION,   TABLE_HISTOGRAMS,
                                  TABLE_TAGK_SETS,   TABLE_META,
                                  TABLE_QUARANTINE,  TABLE_ROWS,
                                  TABLE_SERIES,      TABLE_TREES,
                                  TABLE_UID,         TABLE_WEEKS
};
static const char kinds[] = "kmpv"; /* of names, ascending */
static const char whats[] = "cdin"; /* counter, deleted ids, ids, names */

static void
name_of_bucket(char table, unsigned bucket, char name[OMAP_OBJECT_SIZE])
{
    (void)snprintf(name, OMAP_OBJECT_SIZE, "%c.%02x", table, bucket);
}

static void
name_of_table(uint8_t table, char name[OMAP_OBJECT_SIZE])
{
    (void)snprintf(name, OMAP_OBJECT_SIZE, "x.%02x", table);
}

static void
name_of_shard(char kind, char what, unsigned shard, char name[OMAP_OBJECT_SIZE])
{
    if (what == 'c' || what == 'd')
        (void)snprintf(name, OMAP_OBJECT_SIZE, "u.%c.%c", kind, what);
    else
        (void)snprintf(name, OMAP_OBJECT_SIZE, "u.%c.%c.%02x", kind,
                       what == 'n' ? 'f' : 'r', shard);
}

void
omap_window_name(unsigned bucket, uint32_t window, char name[OMAP_OBJECT_SIZE])
{
    (void)snprintf(name, OMAP_OBJECT_SIZE, "r.%02x.%08x", bucket,
                   (unsigned)window);
}

void
omap_windows_name(unsigned bucket, char name[OMAP_OBJECT_SIZE])
{
    name_of_bucket('w', bucket, name);
}

void
omap_window_key(uint32_t window, char out[OMAP_WINDOW_KEY + 1])
{
    (void)snprintf(out, OMAP_WINDOW_KEY + 1, "%08x", (unsigned)window);
}

bool
omap_window_parse(struct slice key, uint32_t *window)
{
    char text[OMAP_WINDOW_KEY + 1], back[OMAP_WINDOW_KEY + 1];

    if (key.size != OMAP_WINDOW_KEY)
        return false;
    memcpy(text, key.data, key.size);
    text[OMAP_WINDOW_KEY] = '\0';
    *window = (uint32_t)strtoul(text, NULL, 16);
    omap_window_key(*window, back);
    return strcmp(text, back) == 0;
}

/* The table of keys that are kept by bucket; 0: they are not. */
static char
table_of_buckets(uint8_t table)
{
    switch (table) {
    case TABLE_SERIES:
    case TABLE_TAGK_SETS:
        return 's';
    case TABLE_ANNOTATIONS:
    case TABLE_HISTOGRAMS:
    case TABLE_META:
    case TABLE_QUARANTINE:
        return (char)table;
    case TABLE_WEEKS:
        return 'y';
    default:
        return '\0';
    }
}

/* Of these tables some keys belong to no series. */
static bool
has_others(uint8_t table)
{
    return table == TABLE_ANNOTATIONS || table == TABLE_META;
}

/* Of ids those that differ in the last byte alone lie together: they are given
 * out, and looked up, one after the other. */
static unsigned
shard_of(struct slice name_key)
{
    size_t last = name_key.size > 3 && name_key.data[2] == 'i' ? 1 : 0;

    return (
        unsigned)(hash_bytes(name_key.data + 3, name_key.size - 3 - last, 0) %
                  OMAP_SHARDS);
}

enum status
omap_object_of(const struct omap_map *m, struct slice key,
               struct omap_object *out, struct error *e)
{
    uint8_t table = key.size == 0 ? 0 : key.data[0];
    unsigned bucket;
    char by_bucket;

    *out = (struct omap_object){ .name = "x" };
    if (!m->has_layout)
        return ST_OK;
    if (table == 0 || memchr(tables, table, sizeof tables) == NULL)
        return error_set(e, ST_INVALID,
                         "a key of a table that is not known, 0x%02x", table);
    name_of_table(table, out->name);
    if (table == TABLE_UID) {
        if (!(key.size >= 3 && key.data[1] != 0 && key.data[2] != 0 &&
              strchr(kinds, key.data[1]) != NULL &&
              strchr(whats, key.data[2]) != NULL))
            return error_set(e, ST_INVALID, "a malformed key of a name");
        name_of_shard((char)key.data[1], (char)key.data[2], shard_of(key),
                      out->name);
        return ST_OK;
    }
    bucket = key_bucket(&m->layout, key);
    by_bucket = table_of_buckets(table);
    if (bucket == KV_NO_BUCKET) {
        if (table == TABLE_ROWS || (by_bucket != '\0' && !has_others(table)))
            return error_set(e, ST_INVALID,
                             "a malformed key of %zu bytes, table 0x%02x",
                             key.size, table);
        return ST_OK;
    }
    out->bucket = bucket;
    if (table == TABLE_ROWS) {
        uint32_t base =
            (uint32_t)key_get_uint(key.data + key_base_at(&m->layout), 4);

        out->skip = (uint8_t)(1 + m->layout.salt_width);
        out->has_window = true;
        out->window = base - base % m->window_s;
        omap_window_name(bucket, out->window, out->name);
    } else {
        name_of_bucket(by_bucket, bucket, out->name);
    }
    return ST_OK;
}

/* -- sections -------------------------------------------------------------- */

/* Of rows, or weeks, of which a bucket has one object. */
static bool
section_of_bucket(const struct omap_map *m, struct slice key,
                  struct omap_section *out)
{
    uint8_t salt = m->layout.salt_width == 1 && key.size > 1 ? key.data[1] : 0;
    bool rows = key.data[0] == TABLE_ROWS;
    uint8_t size = (uint8_t)(1 + m->layout.salt_width);

    *out = (struct omap_section){ .prefix = { key.data[0], salt },
                                  .prefix_size = size,
                                  .skip = rows ? size : 0,
                                  .has_windows = rows,
                                  .bucket = salt };
    return salt < m->layout.salt_buckets;
}

static bool
section_of_names(struct slice key, struct omap_section *out)
{
    uint8_t kind = key.size > 1 ? key.data[1] : 0;

    for (const char *k = kinds; *k != '\0'; k++) {
        uint8_t what = (uint8_t)*k == kind && key.size > 2 ? key.data[2] : 0;

        for (const char *w = whats; (uint8_t)*k >= kind && *w != '\0'; w++)
            if ((uint8_t)*w >= what) {
                *out =
                    (struct omap_section){ .prefix = { TABLE_UID, (uint8_t)*k,
                                                       (uint8_t)*w },
                                           .prefix_size = 3 };
                return true;
            }
    }
    return false;
}

bool
omap_section_at(const struct omap_map *m, struct slice key,
                struct omap_section *out)
{
    uint8_t table = key.size == 0 ? 0 : key.data[0];

    *out = (struct omap_section){ 0 };
    if (!m->has_layout)
        return true;
    if (table == TABLE_ROWS || table == TABLE_UID || table == TABLE_WEEKS) {
        if (table == TABLE_UID ? section_of_names(key, out)
                               : section_of_bucket(m, key, out))
            return true;
        table++;
    }
    for (size_t i = 0; i < sizeof tables; i++) {
        if (tables[i] < table)
            continue;
        if (tables[i] != table) /* its first */
            return omap_section_at(m, slice_of(&tables[i], 1), out);
        *out = (struct omap_section){ .prefix = { table }, .prefix_size = 1 };
        return true;
    }
    return false;
}

size_t
omap_section_end(const struct omap_section *s, uint8_t *out)
{
    size_t size = s->prefix_size;

    memcpy(out, s->prefix, size);
    while (size > 0 && out[size - 1] == 0xff)
        size--;
    if (size > 0)
        out[size - 1]++;
    return size;
}

bool
omap_section_object(const struct omap_map *m, const struct omap_section *s,
                    size_t i, char name[OMAP_OBJECT_SIZE])
{
    size_t buckets = m->layout.salt_buckets;
    uint8_t table = s->prefix[0];
    char by_bucket;

    if (s->prefix_size == 0) {
        memcpy(name, "x", 2);
        return i == 0;
    }
    if (s->prefix_size == 3) {
        name_of_shard((char)s->prefix[1], (char)s->prefix[2], (unsigned)i,
                      name);
        return i <
               (s->prefix[2] == 'c' || s->prefix[2] == 'd' ? 1 : OMAP_SHARDS);
    }
    if (table == TABLE_WEEKS) {
        name_of_bucket(table_of_buckets(table), s->bucket, name);
        return i == 0;
    }
    by_bucket = m->has_layout ? table_of_buckets(table) : '\0';
    if (by_bucket != '\0' && i < buckets) {
        name_of_bucket(by_bucket, (unsigned)i, name);
        return true;
    }
    name_of_table(table, name);
    return i == (by_bucket == '\0' ? 0 : buckets) &&
           (by_bucket == '\0' || has_others(table));
}

/* The base time of a row's key, or of the first one that begins so. */
static uint32_t
time_of(const struct omap_map *m, struct slice key)
{
    size_t at = key_base_at(&m->layout);
    uint8_t base[4] = { 0 };

    if (key.size > at)
        memcpy(base, key.data + at,
               key.size - at < sizeof base ? key.size - at : sizeof base);
    return (uint32_t)key_get_uint(base, sizeof base);
}

bool
omap_windows_between(const struct omap_map *m, struct slice from,
                     struct slice end, uint32_t *first, uint32_t *last)
{
    size_t at = key_base_at(&m->layout);
    uint32_t a, b;

    if (!m->has_layout || from.size < at || end.size < at ||
        from.data[0] != TABLE_ROWS || memcmp(from.data, end.data, at) != 0)
        return false;
    a = time_of(m, from);
    b = time_of(m, end);
    if (b > a && end.size <= at + 4) /* no row of that time is in front of it */
        b--;
    *first = a - a % m->window_s;
    *last = b - b % m->window_s;
    return a <= b;
}

void
omap_window_seek(const struct omap_map *m, uint32_t window, struct slice key,
                 struct buf *out)
{
    size_t at = key_base_at(&m->layout);
    uint32_t time = time_of(m, key);

    buf_clear(out);
    buf_make_room(out, key.size + at + 4);
    buf_put_slice(out, key);
    while (out->size < at)
        buf_put_u8(out, 0);
    if (time >= window && time - window < m->window_s)
        return; /* inside: the key itself is the place */
    out->size = at;
    buf_put_u32(out, window);
    if (time < window)
        return;
    /* Behind it: in front of the window's first row of the next metric. */
    for (size_t i = at; i-- > 0;)
        if (++out->data[i] != 0)
            break;
}
