/* The naive twin: each field as the list of all values that it allows, and the
 * product of the lists as the list of all keys that match, in order. */
#include "storage/row/mask.h"

#include "storage/row/key.h"
#include "storage/kv/kv.h"
#include "tests/harness.h"

#define S(literal) slice_of((literal), sizeof(literal) - 1)

/* ck_assert() writes to a pipe, also when all is well: not for inner loops. */
#define EXPECT(cond)                   \
    do                                 \
        if (!(cond))                   \
            ck_abort_msg("%s", #cond); \
    while (0)

struct naive {
    size_t size; /* of a key */
    size_t len;
    uint8_t *keys; /* ascending */
};

static struct slice
naive_key(const struct naive *n, size_t i)
{
    return slice_of(n->keys + i * n->size, n->size);
}

/* Appends a field: every key so far, followed by every value. */
static void
naive_add(struct naive *n, const uint8_t *values, size_t len, size_t width)
{
    size_t size = n->size + width, at = 0;
    uint8_t *keys = malloc(n->len * len * size + 1);

    for (size_t i = 0; i < n->len; i++) {
        for (size_t j = 0; j < len; j++, at += size) {
            if (n->size > 0)
                memcpy(keys + at, n->keys + i * n->size, n->size);
            memcpy(keys + at + n->size, values + j * width, width);
        }
    }
    free(n->keys);
    *n = (struct naive){ size, n->len * len, keys };
}

/* The first of its keys that is >= 'key'; 'len' when there is none. */
static size_t
naive_hint(const struct naive *n, struct slice key)
{
    size_t lo = 0, hi = n->len;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (slice_cmp(naive_key(n, mid), key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void
check(const struct mask *m, const struct naive *n, struct slice key)
{
    size_t want = naive_hint(n, key);
    bool match = want < n->len && slice_eq(naive_key(n, want), key);
    uint8_t out[64];
    size_t found = mask_hint(m, key, out);

    EXPECT(mask_match(m, key) == match);
    EXPECT(found == (want < n->len ? n->size : 0));
    EXPECT(found == 0 || slice_eq(slice_of(out, n->size), naive_key(n, want)));
}

/* -- masks at random ------------------------------------------------------ */

static uint64_t
limit(size_t width)
{
    return UINT64_MAX >> (64 - 8 * width);
}

/* A value of at most 8 bytes; often at an edge. */
static uint64_t
random_number(uint64_t *r, size_t width)
{
    uint64_t max = limit(width), v = harness_random(r) & max;

    switch (harness_random(r) % 4) {
    case 0:
        return harness_random(r) % 3;
    case 1:
        return max - harness_random(r) % 3;
    default:
        return v;
    }
}

static void
add_numbers(struct mask *m, struct naive *n, uint64_t *r, size_t width)
{
    size_t len = harness_random(r) % 8, kept = 0;
    uint64_t values[8], last = 0;
    uint8_t in_order[8 * 8];

    for (size_t i = 0; i < len; i++)
        values[i] = random_number(r, width);
    mask_add_set(m, values, len, (unsigned)width);
    for (size_t i = 0; i < len; i++) { /* selection sort, doubles dropped */
        uint64_t best = 0;
        bool any = false;

        for (size_t j = 0; j < len; j++) {
            if ((kept == 0 || values[j] > last) && (!any || values[j] < best)) {
                best = values[j];
                any = true;
            }
        }
        if (!any)
            break;
        key_put_uint(in_order + kept++ * width, best, (unsigned)width);
        last = best;
    }
    naive_add(n, in_order, kept, width);
}

/* A run of values. */
static void
add_run(struct mask *m, struct naive *n, uint64_t *r, size_t width)
{
    uint64_t lo = random_number(r, width);
    uint64_t step = harness_random(r) % 3 == 0 ? 1 : 1 + harness_random(r) % 9;
    uint64_t count = harness_random(r) % 12, hi = lo + count * step, max;
    uint8_t values[12 * 8];
    size_t len = 0;

    max = limit(width);
    if (hi > max || hi < lo)
        hi = max;
    if (harness_random(r) % 16 == 0) { /* nothing */
        lo = 1 + harness_random(r) % 100;
        hi = lo - 1;
    }
    mask_add_steps(m, lo, hi, step, (unsigned)width);
    for (uint64_t v = lo; v <= hi && len < 12; v += step) {
        key_put_uint(values + len++ * width, v, (unsigned)width);
        if (hi - v < step)
            break;
    }
    naive_add(n, values, len, width);
}

static void
add_any(struct mask *m, struct naive *n)
{
    uint8_t values[256];

    for (size_t i = 0; i < 256; i++)
        values[i] = (uint8_t)i;
    mask_add_any(m, 1);
    naive_add(n, values, 256, 1);
}

static void
add_wide(struct mask *m, struct naive *n)
{
    static const uint8_t bytes[10] = "aaaaaaaaa\xff";

    mask_add_fixed(m, slice_of(bytes, 10));
    naive_add(n, bytes, 1, 10);
}

static struct mask *
random_mask(uint64_t *r, size_t max_size, struct naive *n)
{
    struct mask *m = mask_new();
    uint8_t fixed[4];
    size_t room, width, anys = 0;

    *n = (struct naive){ 0, 1, malloc(1) };
    while ((room = max_size - n->size) > 0) {
        width = 1 + harness_random(r) % (room < 4 ? room : 4);
        if (n->len > 3000)
            break;
        switch (harness_random(r) % 6) {
        case 0:
            key_put_uint(fixed, random_number(r, width), (unsigned)width);
            mask_add_fixed(m, slice_of(fixed, width));
            naive_add(n, fixed, 1, width);
            break;
        case 1:
            if (anys++ < 1)
                add_any(m, n);
            break;
        case 2:
            if (room >= 10)
                add_wide(m, n);
            break;
        case 3:
            add_numbers(m, n, r, width);
            break;
        default:
            add_run(m, n, r, width);
        }
    }
    return m;
}

/* All keys of up to two bytes, and some of three, against masks of one or two
 * bytes. */
START_TEST(every_short_key)
{
    uint64_t r = harness_seed(1);

    for (int i = 0; i < harness_rounds(60); i++) {
        struct naive n;
        struct mask *m = random_mask(&r, 1 + harness_random(&r) % 2, &n);

        check(m, &n, S(""));
        for (unsigned k = 0; k < 65536; k++) {
            uint8_t key[3] = { (uint8_t)(k >> 8), (uint8_t)k,
                               (uint8_t)harness_random(&r) };

            check(m, &n, slice_of(key, 2));
            if (k % 7 == 0)
                check(m, &n, slice_of(key, 3));
            if (k < 256)
                check(m, &n, slice_of(key + 1, 1));
        }
        mask_free(&m);
        free(n.keys);
    }
}
END_TEST

/* A key near one that matches: longer, shorter, a byte off. */
static size_t
random_key(const struct naive *n, uint64_t *r, uint8_t *out)
{
    size_t size = n->size;

    memset(out, 0, 64);
    if (n->len > 0)
        memcpy(out, naive_key(n, harness_random(r) % n->len).data, size);
    for (uint64_t i = harness_random(r) % 3; i-- > 0;) {
        size_t at = harness_random(r) % size;

        out[at] =
            (uint8_t)(harness_random(r) % 2 == 0
                          ? harness_random(r)
                          : (uint64_t)out[at] + harness_random(r) % 3 - 1);
    }
    switch (harness_random(r) % 4) {
    case 0:
        return harness_random(r) % (size + 1);
    case 1:
        out[size] = (uint8_t)(harness_random(r) % 3 - 1);
        return size + 1 + harness_random(r) % 3;
    default:
        return size;
    }
}

START_TEST(keys_near_matches)
{
    uint64_t r = harness_seed(2);

    for (int i = 0; i < harness_rounds(2000); i++) {
        struct naive n;
        struct mask *m = random_mask(&r, 1 + harness_random(&r) % 24, &n);
        uint8_t key[64];

        for (int k = 0; k < 200; k++)
            check(m, &n, slice_of(key, random_key(&n, &r, key)));
        mask_free(&m);
        ck_assert_ptr_null(m);
        free(n.keys);
    }
}
END_TEST

START_TEST(sets_take_the_smallest_hint)
{
    uint64_t r = harness_seed(3);

    for (int i = 0; i < 500; i++) {
        struct mask_set *s = mask_set_new();
        struct naive n[4];
        size_t len = 1 + harness_random(&r) % 4;

        for (size_t j = 0; j < len; j++) {
            struct mask *m;

            m = random_mask(&r, 1 + harness_random(&r) % 6, &n[j]);
            mask_set_give(s, &m);
            ck_assert_ptr_null(m);
        }
        for (int k = 0; k < 100; k++) {
            uint8_t bytes[64], out[ROW_KEY_MAX];
            struct slice key, best = { NULL, 0 };

            key = slice_of(bytes, random_key(&n[(size_t)k % len], &r, bytes));
            for (size_t j = 0; j < len; j++) {
                size_t at = naive_hint(&n[j], key);

                if (at < n[j].len &&
                    (best.data == NULL ||
                     slice_cmp(naive_key(&n[j], at), best) < 0))
                    best = naive_key(&n[j], at);
            }
            ck_assert(
                slice_eq(slice_of(out, mask_set_hint(s, key, out)), best));
            ck_assert_int_eq(mask_set_match(s, key),
                             best.data != NULL && slice_eq(key, best));
        }
        for (size_t j = 0; j < len; j++)
            free(n[j].keys);
        mask_set_free(&s);
        ck_assert_ptr_null(s);
    }
}
END_TEST

/* -- the edges, by name --------------------------------------------------- */

START_TEST(an_empty_set_matches_nothing)
{
    struct mask *m = mask_new();
    struct mask_set *s = mask_set_new();
    uint8_t out[ROW_KEY_MAX];

    ck_assert_uint_eq(mask_set_hint(s, S("a"), out), 0);
    ck_assert(!mask_set_match(s, S("a")));
    mask_add_fixed(m, S("a"));
    mask_add_set(m, NULL, 0, 3);
    ck_assert(!mask_match(m, S("aaaa")));
    ck_assert(!mask_hint(m, S(""), out));
    mask_set_give(s, &m);
    ck_assert_uint_eq(mask_set_hint(s, S(""), out), 0);
    m = mask_new();
    mask_add_fixed(m, S("b"));
    mask_set_give(s, &m);
    ck_assert_uint_eq(mask_set_hint(s, S(""), out), 1);
    mask_set_free(&s);
}
END_TEST

START_TEST(steps_stay_within_their_width)
{
    struct mask *m = mask_new();
    uint8_t out[8];

    mask_add_steps(m, 3600, UINT64_MAX, 3600, 4);
    ck_assert(mask_hint(m, S("\xff\xff\x00\x00"), out));
    ck_assert_uint_eq(key_get_uint(out, 4) % 3600, 0);
    ck_assert((mask_hint(m, S("\xff\xff\xff\x00"), out) > 0) ==
              (4294967040u <= 4294967295u / 3600 * 3600));
    ck_assert(!mask_hint(m, S("\xff\xff\xff\xff"), out));
    mask_free(&m);
    m = mask_new();
    mask_add_steps(m, 5, UINT64_MAX, UINT64_MAX, 8);
    ck_assert(mask_hint(m, S(""), out));
    ck_assert_uint_eq(key_get_uint(out, 8), 5);
    ck_assert(!mask_hint(m, S("\0\0\0\0\0\0\0\6"), out));
    mask_free(&m);
}
END_TEST

/* From the first number of the width to the last. */
START_TEST(steps_over_all_numbers)
{
    struct mask *m = mask_new();

    mask_add_steps(m, 0, 255, 5, 1);
    for (unsigned i = 0; i < 256; i++) {
        uint8_t key = (uint8_t)i;

        ck_assert_int_eq(mask_match(m, slice_of(&key, 1)), i % 5 == 0);
    }
    mask_free(&m);
}
END_TEST

START_TEST(large_sets)
{
    enum { LEN = 100000 };
    struct mask *m = mask_new();
    uint64_t *values = malloc(LEN * sizeof *values);
    uint8_t out[4];

    for (unsigned i = 0; i < LEN; i++) /* 7919 and 100,000 share no factor */
        values[i] = i * 7919u % LEN * 3 + 1;
    mask_add_fixed(m, S("x"));
    mask_add_set(m, values, LEN, 3);
    for (unsigned v = 0; v < 3 * LEN + 10; v++) {
        uint8_t key[4] = { 'x' };
        unsigned want = v == 0 ? 1 : (v + 1) / 3 * 3 + 1;

        key_put_uint(key + 1, v, 3);
        EXPECT(mask_match(m, slice_of(key, 4)) == (v % 3 == 1 && v < 3 * LEN));
        EXPECT(mask_hint(m, slice_of(key, 4), out) == (want < 3 * LEN ? 4 : 0));
        EXPECT(want >= 3 * LEN || key_get_uint(out + 1, 3) == want);
    }
    free(values);
    mask_free(&m);
}
END_TEST

/* -- scans ---------------------------------------------------------------- */

static void
put(struct kv *kv, struct slice key)
{
    struct kv_batch *b = kv_batch_new();

    kv_batch_put(b, key, S("v"));
    ck_assert_int_eq(kv_write(kv, b, NULL), ST_OK);
    kv_batch_free(&b);
}

/* What a scan with hints does; notes every key that it looks at. */
static size_t
scan(struct kv *kv, const struct mask_set *s, struct kv_iter_counts *counts,
     struct buf *looked_at)
{
    struct kv_iter *it = kv_iter_open(kv, slice_str(""));
    uint8_t hint[ROW_KEY_MAX];
    size_t size = mask_set_hint(s, S(""), hint), matches = 0;
    bool on = size > 0 && kv_iter_seek(it, slice_of(hint, size));

    while (on) {
        if (looked_at != NULL)
            buf_put_slice(looked_at, kv_iter_key(it));
        if (mask_set_match(s, kv_iter_key(it))) {
            matches++;
            on = kv_iter_next(it);
            continue;
        }
        size = mask_set_hint(s, kv_iter_key(it), hint);
        on = size > 0 && kv_iter_seek(it, slice_of(hint, size));
    }
    *counts = kv_iter_counts(it);
    ck_assert_int_eq(kv_iter_close(&it, NULL), ST_OK);
    return matches;
}

static struct kv *
memory(void)
{
    struct kv_options o = { .place = KV_MEMORY };
    struct kv *kv;

    ck_assert_int_eq(kv_open(&o, &kv, NULL), ST_OK);
    return kv;
}

static const char *const visits[] = {
    "ali1989***20140310example.com*********",
    "ali1989***20140522example.com*********",
    "ali1989***20140628example.com*********",
    "ali1989***20140628example.net*********",
    "alice*****20140310foo.bar*************",
    "alice*****20140312foo.bar*************",
    "alice*****20140629foo.bar*************",
    "alice*****20140704foo.bar*************",
    "bob*******20140624example.com*********",
    "bob*******20140625example.com*********",
    "bob*******20140626example.com*********",
    "bob*******20140627example.com*********",
    "bob*******20140628example.com*********",
};

/* In this order, and no other. */
static const size_t touched[] = { 0, 2, 3, 4, 6, 8, 12 };

START_TEST(one_day_of_all_users)
{
    struct kv *kv = memory();
    struct mask *m = mask_new();
    struct mask_set *s = mask_set_new();
    struct kv_iter_counts counts;
    struct buf looked_at = BUF_INIT;

    for (size_t i = 0; i < sizeof visits / sizeof visits[0]; i++)
        put(kv, slice_str(visits[i]));
    mask_add_any(m, 10);
    mask_add_fixed(m, S("20140628"));
    mask_add_any(m, 20);
    mask_set_give(s, &m);
    ck_assert_uint_eq(scan(kv, s, &counts, &looked_at), 3);
    ck_assert_uint_eq(looked_at.size, 7 * 38);
    for (size_t i = 0; i < 7; i++)
        ck_assert(slice_eq_str(slice_of(looked_at.data + i * 38, 38),
                               visits[touched[i]]));
    /* The first, then one for each of: ali's day, alice's, past alice, bob's.
     */
    ck_assert_uint_eq(counts.seeks, 5);
    ck_assert_uint_eq(counts.steps, 3);
    buf_fini(&looked_at);
    mask_set_free(&s);
    kv_close(&kv);
}
END_TEST

/* 24 hours of 400 hosts in 4 datacenters, half of the rows with a third tag:
 * <'r'> <metric> <base:4> <1 dc> <2 host> [<3 7>], every id one byte but the
 * host's, two. */
#define HOURS 24
#define HOSTS 400

static void
fill(struct kv *kv)
{
    struct kv_batch *b = kv_batch_new();

    for (unsigned h = 0; h < HOURS; h++) {
        for (unsigned i = 0; i < HOSTS; i++) {
            uint8_t key[13] = { 'r', 9 };

            key_put_uint(key + 2, h * 3600, 4);
            key[6] = 1;
            key[7] = (uint8_t)(1 + i * 4 / HOSTS);
            key[8] = 2;
            key_put_uint(key + 9, i, 2);
            key[11] = 3;
            key[12] = 7;
            kv_batch_put(b, slice_of(key, i % 2 == 0 ? 13 : 11), S("v"));
        }
    }
    ck_assert_int_eq(kv_write(kv, b, NULL), ST_OK);
    kv_batch_free(&b);
}

/* 'tags' 2 or 3; 'dc' 0: any. */
static struct mask *
rows(size_t tags, unsigned from_h, unsigned to_h, uint8_t dc,
     const uint64_t *hosts, size_t hosts_len)
{
    struct mask *m = mask_new();

    mask_add_fixed(m, S("r\x09"));
    mask_add_steps(m, from_h * 3600, to_h * 3600, 3600, 4);
    mask_add_fixed(m, S("\x01"));
    if (dc == 0)
        mask_add_any(m, 1);
    else
        mask_add_fixed(m, slice_of(&dc, 1));
    mask_add_fixed(m, S("\x02"));
    if (hosts == NULL)
        mask_add_any(m, 2);
    else
        mask_add_set(m, hosts, hosts_len, 2);
    if (tags == 3) {
        mask_add_fixed(m, S("\x03"));
        mask_add_any(m, 1);
    }
    return m;
}

static const struct {
    unsigned from_h, to_h;
    uint8_t dc;
    bool two_hosts; /* 10 and 311 */
    bool both_layouts;
    size_t matches;
    uint64_t max_seeks, max_steps;
} scans[] = {
    /* one datacenter: into it and out of it, hour by hour */
    { 0, 23, 3, false, true, 24 * 100, 24 * 2 + 1, 24 * 100 },
    /* the same within three hours: not a row of the others */
    { 5, 7, 3, false, true, 3 * 100, 3 * 2 + 1, 3 * 100 },
    /* two hosts anywhere: a few jumps per datacenter and hour */
    { 0, 23, 0, true, true, 24 * 2, 24 * 4 * 3 + 2, 24 * 2 },
    /* everything of an hour: no jumps but the first and the last */
    { 4, 4, 0, false, true, 400, 2, 400 },
    /* a host of datacenter 4 asked for in 1: nothing, a jump an hour */
    { 0, 23, 1, true, true, 24, 24 * 3 + 1, 24 },
    /* one key layout only: every other row is stepped over by a hint */
    { 4, 4, 2, false, false, 50, 52, 50 },
    /* outside the stored time: one look, or none */
    { 100, 200, 0, false, true, 0, 1, 0 },
};

START_TEST(hints_skip_what_the_mask_excludes)
{
    struct kv *kv = memory();
    struct mask_set *s = mask_set_new();
    struct kv_iter_counts counts;
    uint64_t hosts[] = { 311, 10 };
    struct mask *m;
    size_t layouts = scans[_i].both_layouts ? 2 : 1;

    fill(kv);
    for (size_t i = 0; i < layouts; i++) {
        m = rows(3 - i, scans[_i].from_h, scans[_i].to_h, scans[_i].dc,
                 scans[_i].two_hosts ? hosts : NULL, 2);
        mask_set_give(s, &m);
    }
    ck_assert_uint_eq(scan(kv, s, &counts, NULL), scans[_i].matches);
    ck_assert_uint_le(counts.seeks, scans[_i].max_seeks);
    ck_assert_uint_le(counts.steps, scans[_i].max_steps);
    mask_set_free(&s);
    kv_close(&kv);
}
END_TEST

/* -- as bytes -------------------------------------------------------------- */

/* What is read matches and hints as what was written; no cut of it is read. */
START_TEST(other_processes_see_the_same)
{
    uint64_t r = harness_seed(12);
    struct buf bytes = BUF_INIT, again = BUF_INIT;

    for (int round = 0; round < 300; round++) {
        struct mask_set *set = mask_set_new(), *read;
        struct naive n;
        struct cursor c;
        size_t left = 3;

        for (uint64_t k = harness_random(&r) % 4; k-- > 0;) {
            struct mask *m = random_mask(&r, 1 + harness_random(&r) % 20, &n);

            free(n.keys);
            mask_set_give(set, &m);
        }
        buf_clear(&bytes);
        mask_set_write(set, &bytes);
        c = cursor_of(buf_slice(&bytes));
        read = mask_set_read(&c, &left);
        ck_assert_ptr_nonnull(read);
        ck_assert_uint_eq(cursor_left(&c), 0);
        buf_clear(&again);
        mask_set_write(read, &again);
        ck_assert(slice_eq(buf_slice(&bytes), buf_slice(&again)));
        for (int k = 0; k < 200; k++) {
            uint8_t key[24], a[ROW_KEY_MAX], b[ROW_KEY_MAX];
            struct slice s = { key, harness_random(&r) % 24 };
            size_t size;

            for (size_t i = 0; i < s.size; i++)
                key[i] = (uint8_t)(harness_random(&r) % 3);
            ck_assert(mask_set_match(set, s) == mask_set_match(read, s));
            size = mask_set_hint(set, s, a);
            ck_assert_uint_eq(mask_set_hint(read, s, b), size);
            ck_assert(size == 0 || memcmp(a, b, size) == 0);
        }
        mask_set_free(&read);
        for (size_t cut = 0; cut < bytes.size; cut++) {
            c = cursor_of(slice_of(bytes.data, cut));
            left = 3;
            ck_assert_ptr_null(mask_set_read(&c, &left));
            ck_assert(c.failed);
        }
        mask_set_free(&set);
    }
    buf_fini(&bytes);
    buf_fini(&again);
}
END_TEST

static const struct {
    const char *bytes;
    size_t size;
} malformed[] = {
    { "\4", 1 },                   /* more masks than may be */
    { "\1\0\0", 3 },               /* no field */
    { "\1\1\2\1\0\0\5\1", 8 },     /* never: 2 */
    { "\1\1\0\11\0\0\5\1", 8 },    /* a width of 9 */
    { "\1\1\0\0\0\0\5\1", 8 },     /* of 0 */
    { "\1\1\0\1\0\6\5\1", 8 },     /* lo over hi */
    { "\1\1\0\1\0\0\200\2\1", 9 }, /* hi over a byte */
    { "\1\1\0\1\0\0\5\0", 8 },     /* no step */
    { "\1\1\0\1\2\5\0", 7 },       /* a number twice */
    { "\1\1\0\1\2\5\373\1", 8 },   /* a number over a byte */
    { "\1\1\0\1\177\1", 6 },       /* more numbers than bytes */
};

START_TEST(malformed_bytes_are_rejected)
{
    struct cursor c =
        cursor_of(slice_of(malformed[_i].bytes, malformed[_i].size));
    size_t left = 3;

    ck_assert_ptr_null(mask_set_read(&c, &left));
    ck_assert(c.failed);
}
END_TEST

TEST_MAIN("mask", TEST(every_short_key), TEST(keys_near_matches),
          TEST(sets_take_the_smallest_hint), TEST(an_empty_set_matches_nothing),
          TEST(steps_stay_within_their_width), TEST(steps_over_all_numbers),
          TEST(large_sets), TEST(one_day_of_all_users),
          LOOP(hints_skip_what_the_mask_excludes, scans),
          TEST(other_processes_see_the_same),
          LOOP(malformed_bytes_are_rejected, malformed))
