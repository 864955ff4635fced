/* All engines and a plain sorted array take the same random operations, and
 * must say the same about the present, about snapshots, and on every walk.
 *
 * The keys are all strings of up to three of four bytes, in order; the array
 * holds for each the number of its value, 0 for none. */
#include "config.h"

#include "storage/kv/kv.h"

#include "tests/harness.h"
#include "tests/storage/engines.h"
#include "tests/tempdir.h"

#define KEYS  85 /* 1 + 4 + 16 + 64 */
#define HELD  4  /* snapshots at a time */
#define STEPS 2500

struct key {
    uint8_t bytes[3];
    size_t size;
};

struct model {
    unsigned values[KEYS];
};

struct held {
    bool taken;
    struct model model;
    struct kv_snapshot *snapshots[ENGINES];
    /* Opened some time ago, standing at 'at' (KEYS: nowhere). */
    struct kv_iter *iters[ENGINES];
    struct model seen; /* by the iterators */
    size_t at;
};

struct world {
    uint64_t random;
    struct key keys[KEYS];
    struct kv *kv[ENGINES];
    struct model now;
    struct held held[HELD];
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

/* -- operations ----------------------------------------------------------- */

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
    for (int i = 0; i < ENGINES; i++)
        ck_assert_int_eq(gather ? kv_gather(w->kv[i], b, NULL)
                                : kv_write(w->kv[i], b, sync, NULL),
                         ST_OK);
    kv_batch_free(&b);
}

static void
get_one(struct world *w)
{
    size_t k = draw(w, KEYS);
    struct buf out = BUF_INIT;

    for (int i = 0; i < ENGINES; i++) {
        enum status st = kv_get(w->kv[i], key_of(w, k), &out, NULL);

        ck_assert_int_eq(st, w->now.values[k] == 0 ? ST_NOT_FOUND : ST_OK);
        if (st == ST_OK)
            ck_assert(value_is(buf_slice(&out), w->now.values[k]));
    }
    buf_fini(&out);
}

static void
release(struct world *w, struct held *h)
{
    for (int i = 0; i < ENGINES; i++) {
        kv_snapshot_release(w->kv[i], &h->snapshots[i]);
        ck_assert_int_eq(kv_iter_close(&h->iters[i], NULL), ST_OK);
    }
    h->taken = false;
}

static void
take_or_release(struct world *w)
{
    struct held *h = &w->held[draw(w, HELD)];

    if (h->taken) {
        release(w, h);
        return;
    }
    h->taken = true;
    h->model = w->now;
    for (int i = 0; i < ENGINES; i++)
        h->snapshots[i] = kv_snapshot_take(w->kv[i]);
}

/* Over the snapshot, or over the present; sometimes the snapshot goes and the
 * iterator stays. */
static void
open_iters(struct world *w)
{
    struct held *h = &w->held[draw(w, HELD)];
    bool present = draw(w, 2) == 0, drop = draw(w, 4) == 0;

    if (!h->taken || (!present && h->snapshots[0] == NULL))
        return;
    for (int i = 0; i < ENGINES; i++) {
        ck_assert_int_eq(kv_iter_close(&h->iters[i], NULL), ST_OK);
        h->iters[i] = kv_iter_open(w->kv[i], present ? NULL : h->snapshots[i],
                                   slice_str(""));
        if (drop)
            kv_snapshot_release(w->kv[i], &h->snapshots[i]);
    }
    h->seen = present ? w->now : h->model;
    h->at = KEYS;
}

/* -- walking -------------------------------------------------------------- */

enum move { SEEK, NEXT, MOVES };

static size_t
forward(const struct model *m, size_t k)
{
    while (k < KEYS && m->values[k] == 0)
        k++;
    return k;
}

static size_t
move_model(const struct held *h, enum move move, size_t k)
{
    switch (move) {
    case SEEK:
        return forward(&h->seen, k);
    case NEXT:
        return h->at == KEYS ? KEYS : forward(&h->seen, h->at + 1);
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
walk(struct world *w)
{
    struct held *h = &w->held[draw(w, HELD)];

    if (!h->taken || h->iters[0] == NULL)
        return;
    for (uint64_t n = draw(w, 20); n-- > 0;) {
        enum move move = (enum move)draw(w, MOVES);
        size_t k = draw(w, KEYS);

        h->at = move_model(h, move, k);
        for (int i = 0; i < ENGINES; i++) {
            bool on = move_iter(h->iters[i], move, key_of(w, k));

            if (on != (h->at < KEYS) ||
                (on && (!slice_eq(kv_iter_key(h->iters[i]), key_of(w, h->at)) ||
                        !value_is(kv_iter_value(h->iters[i]),
                                  h->seen.values[h->at]))))
                ck_abort_msg("engine %d, move %d, key %zu", i, move, k);
        }
    }
}

/* While no snapshot or iterator is open, an engine keeps no deleted key. */
static void
check_garbage(struct world *w)
{
    struct kv_batch *b = kv_batch_new();

    for (size_t k = 0; k < KEYS; k++)
        kv_batch_delete(b, key_of(w, k));
    for (int i = 0; i < ENGINES; i++) {
        ck_assert_int_eq(kv_write(w->kv[i], b, false, NULL), ST_OK);
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
    for (size_t i = 0; i < HELD; i++)
        release(w, &w->held[i]);
    check_garbage(w);
    for (int i = 0; i < ENGINES; i++)
        kv_close(&w->kv[i]);
    tempdir_free(dir);
}

START_TEST(engines_and_a_sorted_array_agree)
{
    struct world w = { .random = harness_seed((unsigned long)_i) };
    char *dir = tempdir_new();

    ck_assert_uint_eq(make_keys(w.keys, 0, (struct key){ { 0 }, 0 }), KEYS);
    for (int i = 0; i < ENGINES; i++)
        engine_open(i, dir, &w.kv[i]);
    for (int i = 0; i < STEPS; i++) {
        switch (draw(&w, 12)) {
        case 0:
            take_or_release(&w);
            break;
        case 1:
            open_iters(&w);
            break;
        case 2:
        case 3:
        case 4:
            walk(&w);
            break;
        case 5:
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
