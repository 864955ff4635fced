/* Keys: the bytes under which things lie in the key-value engine, encoded and
 * decoded here and nowhere else (docs/FORMAT.md, "Keys").
 *
 *     row:     <'r'> <salt> <metric> <base:4> <tagk tagv>...   base: of a span
 *     week:    <'w'> <salt> <metric> <base:4> <tagk tagv>...   base: of a week
 *     series:  <'s'> <metric> <tagk tagv>...
 *
 * A TSUID is <metric> <tagk tagv>..., tags ascending by tagk id.  The salt is
 * hash(TSUID) mod buckets, so time never moves a series to another bucket.
 *
 * A row holds the hours of one *span*: 'row_hours' of them, beginning at a
 * multiple of so many since 1970.  An hour that is too large to be stored in
 * the row's value is a *part* of the row (storage/block/row_parts.h): its key
 * is that of a row whose base is the first second of the hour.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include "base/error.h"
#include "base/slice.h"
#include "storage/kv/kv_types.h"

/* The first byte of every key: all tables share one ordered space. */
enum table {
    TABLE_UID = 'u',
    TABLE_SERIES = 's',
    TABLE_TAGK_SETS = 'h',
    TABLE_ROWS = 'r',
    TABLE_ANNOTATIONS = 'a',
    TABLE_META = 'm',
    TABLE_TREES = 't',
    TABLE_HISTOGRAMS = 'g',
    TABLE_BATCHES = 'b',
    TABLE_QUARANTINE = 'q', /* damaged values of rows, put aside */
    TABLE_WEEKS = 'w',      /* summaries of a series' weeks */
    TABLE_RETENTION = 'c',  /* what is kept for how long; cuts */
};

/* The prefix of all keys of a table, for kv_iter_open(). */
#define KEY_TABLE(table) slice_of(&(const uint8_t){ (table) }, 1)

#define KEY_MAX_TAGS 32
#define TSUID_MAX    (8 + KEY_MAX_TAGS * 16)
#define ROW_KEY_MAX  (1 + 1 + TSUID_MAX + 4)

/* A TSUID of one's own. */
struct tsuid {
    size_t size;
    uint8_t bytes[TSUID_MAX];
};

static inline struct slice
tsuid_slice(const struct tsuid *t)
{
    return slice_of(t->bytes, t->size);
}

/* Chosen when a store is created, kept in its FORMAT file, never changed. */
struct key_layout {
    uint8_t salt_width;    /* 0: no salt; 1 */
    uint16_t salt_buckets; /* 1 when the width is 0; at most 256 */
    uint8_t metric_width;  /* 1..8 */
    uint8_t tagk_width;
    uint8_t tagv_width;
    uint8_t row_hours; /* in a row: 1, 2, 3, 4, 6, 8, 12 or 24 */
};

#define KEY_LAYOUT_DEFAULT \
    {                      \
        1, 16, 3, 3, 3, 6  \
    }
#define ROW_HOURS_MAX 24
#define WEEK_S        UINT32_C(604800)

/* Widths of 1..8, salt_width 0 or 1, buckets that fit it, hours that divide a
 * day? */
bool key_layout_is_valid(const struct key_layout *s);

/* A whole metric, then whole pairs, at most KEY_MAX_TAGS of them, tagks
 * ascending and distinct? */
bool tsuid_is_valid(const struct key_layout *s, struct slice tsuid);
size_t tsuid_tags(const struct key_layout *s, struct slice tsuid);
/* Lends the i-th pair's halves; 'i' < tsuid_tags(). */
struct slice tsuid_metric(const struct key_layout *s, struct slice tsuid);
struct slice tsuid_tagk(const struct key_layout *s, struct slice tsuid,
                        size_t i);
struct slice tsuid_tagv(const struct key_layout *s, struct slice tsuid,
                        size_t i);

/* Is the first tagk at least this?  Without tags: yes. */
bool tsuid_tags_begin_at(const struct key_layout *s, struct slice tsuid,
                         uint64_t least_tagk);

/* 0 .. salt_buckets - 1. */
unsigned key_salt(const struct key_layout *s, struct slice tsuid);

/* How many seconds a row spans, and the first one of the row that has this. */
static inline uint32_t
key_span_s(const struct key_layout *s)
{
    return s->row_hours * UINT32_C(3600);
}

static inline uint32_t
key_span_base(const struct key_layout *s, uint32_t time_s)
{
    return time_s - time_s % key_span_s(s);
}

/* The salt bucket of a key of any table, in a store of several processes: that
 * of its TSUID, or the one that a tag-key set's key ends with.  KV_NO_BUCKET:
 * it belongs to none, or is malformed. */
unsigned key_bucket(const struct key_layout *s, struct slice key);

/* Where rows and weeks lie, before their tags. */
struct key_place {
    uint8_t table;
    unsigned bucket;
    uint64_t metric;
    uint32_t base;
};

/* The first key of a place, or one before it, in 'out'; returns its size. */
size_t key_place(const struct key_layout *s, const struct key_place *p,
                 uint8_t *out);

/* Where in such a key the base is. */
static inline size_t
key_base_at(const struct key_layout *s)
{
    return 1u + s->salt_width + s->metric_width;
}

/* The base of such a key; false: the key is too short to have one. */
bool key_base(const struct key_layout *s, struct slice key, uint32_t *base);

/* The key of the row that has 'time_s'.  Writes at most ROW_KEY_MAX bytes to
 * 'out', returns how many. */
size_t key_row(const struct key_layout *s, struct slice tsuid, uint32_t time_s,
               uint8_t *out);
/* The same where the TSUID's salt bucket is known. */
size_t key_row_in(const struct key_layout *s, unsigned bucket,
                  struct slice tsuid, uint32_t time_s, uint8_t *out);

/* The key of the part of a row that has the hour at 'base'. */
size_t key_row_part(const struct key_layout *s, struct slice tsuid,
                    uint32_t base, uint8_t *out);

/* Splits the key of a row, or of a part of one: then '*base' is that of an hour
 * at which no span begins.  The first hour of a span has no part.  ST_CORRUPT
 * when the bytes are no such key of this key layout: another table, tags that
 * are no valid TSUID's, a time at which no hour of a row begins, another's
 * salt. */
MUST_CHECK enum status key_row_parse(const struct key_layout *s,
                                     struct slice key, uint32_t *base,
                                     struct tsuid *tsuid, struct error *e);

/* Puts the series and the hour of a row in front of the text of 'e', and
 * returns 'status'. */
enum status key_row_error(struct slice tsuid, uint32_t base, enum status status,
                          struct error *e);

/* key_row() and key_row_parse() of weeks (storage/week/week.h): of the one that
 * has 'time_s'.
 */
size_t key_week(const struct key_layout *s, struct slice tsuid, uint32_t time_s,
                uint8_t *out);
MUST_CHECK enum status key_week_parse(const struct key_layout *s,
                                      struct slice key, uint32_t *base,
                                      struct tsuid *tsuid, struct error *e);
/* The key before all weeks of a salt bucket: what is known of them.  At most 2
 * bytes. */
size_t key_weeks_state(const struct key_layout *s, unsigned bucket,
                       uint8_t *out);

/* The key of a series in the directory; at most 1 + TSUID_MAX bytes. */
size_t key_series(struct slice tsuid, uint8_t *out);
/* What the keys of a metric's series begin with; 0: those of all.  At most 9
 * bytes. */
size_t key_series_of(const struct key_layout *s, uint64_t metric, uint8_t *out);

/* Numbers in keys: big-endian, 'width' bytes, which must hold 'v'. */
void key_put_uint(uint8_t *out, uint64_t v, unsigned width);

uint64_t key_get_uint_of(const uint8_t *in, unsigned width);

static inline uint64_t
key_get_uint(const uint8_t *in, unsigned width)
{
    if (width != 3) /* as most are */
        return key_get_uint_of(in, width);
    return (uint64_t)in[0] << 16 | (uint64_t)in[1] << 8 | in[2];
}

/* The ids of a TSUID; 'i' < tsuid_tags(). */
static inline uint64_t
tsuid_metric_id(const struct key_layout *s, struct slice tsuid)
{
    return key_get_uint(tsuid_metric(s, tsuid).data, s->metric_width);
}

static inline uint64_t
tsuid_tagk_id(const struct key_layout *s, struct slice tsuid, size_t i)
{
    return key_get_uint(tsuid_tagk(s, tsuid, i).data, s->tagk_width);
}

static inline uint64_t
tsuid_tagv_id(const struct key_layout *s, struct slice tsuid, size_t i)
{
    return key_get_uint(tsuid_tagv(s, tsuid, i).data, s->tagv_width);
}
