/* All engines and a plain sorted array take the same random operations, and
 * must say the same about each key, and on every walk.
 *
 * The keys are all strings of up to three of four bytes, in order; the array
 * holds for each the number of its value, 0 for none. */
#include "storage/kv/kv.h"

#include "tests/harness.h"
#include "tests/storage/engines.h"
#include "tests/tempdir.h"

#define KEYS  85 /* 1 + 4 + 16 + 64 */
#define STEPS 2500

struct key {
    uint8_t bytes[3];
    size_t size;
};

struct model {
    unsigned values[KEYS];
};

struct world {
    uint64_t random;
    struct key keys[KEYS];
    struct kv *kv[ENGINES_MAX];
    struct model now;
    unsigned last_value;
};

static uint64_t
draw(struct world *w, uint64_t below)
{
    return harness_random(&w->random) % below;
}

static size_t
make_keys(struct key *keys, size_t n, struct key prefix)
{
    static const uint8_t bytes[] = { 0, 1, 0x7f, 0xff };

    keys[n++] = prefix;
    for (size_t i = 0; prefix.size < 3 && i < 4; i++) {
        struct key longer = prefix;

        longer.bytes[longer.size++] = bytes[i];
        n = make_keys(keys, n, longer);
    }
    return n;
}

static struct slice
key_of(const struct world *w, size_t i)
{
    return slice_of(w->keys[i].bytes, w->keys[i].size);
}

/* Values of many sizes, each with its number in it. */
static struct slice
value_of(unsigned number, uint8_t out[1000])
{
    memset(out, (int)(number & 0xff), 1000);
    memcpy(out, &number, sizeof number);
    return slice_of(out, 4 + number % 31 * (number % 29));
}

static bool
value_is(struct slice v, unsigned number)
{
    uint8_t want[1000];

    return slice_eq(v, value_of(number, want));
}

static void
write_some(struct world *w)
{
    struct kv_batch *b = kv_batch_new();
    uint8_t bytes[1000];
    bool sync = draw(w, 200) == 0, gather = draw(w, 2) == 0;

    for (uint64_t i = draw(w, 12); i-- > 0;) {
        size_t k = draw(w, KEYS);

        if (draw(w, 3) == 0) {
            w->now.values[k] = 0;
            kv_batch_delete(b, key_of(w, k));
        } else {
            w->now.values[k] = ++w->last_value;
            kv_batch_put(b, key_of(w, k), value_of(w->last_value, bytes));
        }
    }
    for (int i = 0; i < engines_len(); i++) {
        ck_assert_int_eq(gather ? kv_gather(w->kv[i], b, NULL)
                                : kv_write(w->kv[i], b, NULL),
                         ST_OK);
        if (sync)
            ck_assert_int_eq(kv_sync(w->kv[i], NULL), ST_OK);
    }
    kv_batch_free(&b);
}

static void
get_one(struct world *w)
{
    size_t k = draw(w, KEYS);
    struct buf out = BUF_INIT;

    for (int i = 0; i < engines_len(); i++) {
        enum status st = kv_get(w->kv[i], key_of(w, k), &out, NULL);

        ck_assert_int_eq(st, w->now.values[k] == 0 ? ST_NOT_FOUND : ST_OK);
        if (st == ST_OK)
            ck_assert(value_is(buf_slice(&out), w->now.values[k]));
    }
    buf_fini(&out);
}

enum move { SEEK, NEXT, MOVES };

static size_t
forward(const struct model *m, size_t k)
{
    while (k < KEYS && m->values[k] == 0)
        k++;
    return k;
}

static size_t
move_model(const struct model *m, enum move move, size_t at, size_t k)
{
    switch (move) {
    case SEEK:
        return forward(m, k);
    case NEXT:
        return at == KEYS ? KEYS : forward(m, at + 1);
    case MOVES:
        break;
    }
    return KEYS;
}

static bool
move_iter(struct kv_iter *it, enum move move, struct slice key)
{
    switch (move) {
    case SEEK:
        return kv_iter_seek(it, key);
    case NEXT:
        return kv_iter_next(it);
    case MOVES:
        break;
    }
    return false;
}

static void
check_move(struct world *w, int engine, struct kv_iter *it, enum move move,
           size_t k, size_t at)
{
    bool on = move_iter(it, move, key_of(w, k));

    if (on != (at < KEYS) ||
        (on && (!slice_eq(kv_iter_key(it), key_of(w, at)) ||
                !value_is(kv_iter_value(it), w->now.values[at]))))
        ck_abort_msg("%s, move %d, key %zu", engines[engine].name, move, k);
}

static void
walk(struct world *w)
{
    struct kv_iter *iters[ENGINES_MAX];
    size_t at = KEYS; /* nowhere */

    for (int i = 0; i < engines_len(); i++)
        iters[i] = kv_iter_open(w->kv[i], slice_str(""));
    for (uint64_t n = draw(w, 20); n-- > 0;) {
        enum move move = (enum move)draw(w, MOVES);
        size_t k = draw(w, KEYS);

        at = move_model(&w->now, move, at, k);
        for (int i = 0; i < engines_len(); i++)
            check_move(w, i, iters[i], move, k, at);
    }
    for (int i = 0; i < engines_len(); i++)
        ck_assert_int_eq(kv_iter_close(&iters[i], NULL), ST_OK);
}

/* An engine keeps no deleted key. */
static void
check_garbage(struct world *w)
{
    struct kv_batch *b = kv_batch_new();

    for (size_t k = 0; k < KEYS; k++)
        kv_batch_delete(b, key_of(w, k));
    for (int i = 0; i < engines_len(); i++) {
        ck_assert_int_eq(kv_write(w->kv[i], b, NULL), ST_OK);
        if (engines[i].counts_tails)
            ck_assert_uint_eq(
                kv_approximate_bytes(w->kv[i], slice_str(""),
                                     slice_str("\xff\xff\xff\xff\xff")),
                0);
    }
    kv_batch_free(&b);
}

static void
finish(struct world *w, char **dir)
{
    check_garbage(w);
    for (int i = 0; i < engines_len(); i++)
        kv_close(&w->kv[i]);
    engines_clean(*dir);
    tempdir_free(dir);
}

START_TEST(engines_and_a_sorted_array_agree)
{
    struct world w = { .random = harness_seed((unsigned long)_i) };
    char *dir = tempdir_new();

    ck_assert_uint_eq(make_keys(w.keys, 0, (struct key){ { 0 }, 0 }), KEYS);
    for (int i = 0; i < engines_len(); i++)
        engine_open(i, dir, &w.kv[i]);
    for (int i = 0; i < STEPS; i++) {
        switch (draw(&w, 10)) {
        case 0:
        case 1:
        case 2:
            walk(&w);
            break;
        case 3:
            get_one(&w);
            break;
        default:
            write_some(&w);
        }
    }
    finish(&w, &dir);
}
END_TEST

TEST_MAIN("kv_random", TIMES(engines_and_a_sorted_array_agree, 8))
