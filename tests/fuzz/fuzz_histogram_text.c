/* Histograms as text, on a line and in base64: what is taken is in order, and
 * its bytes decode; what is not has a sentence. */
#include "base/obj.h"
#include "tsd/put/histogram_text.h"
#include "tests/fuzz/target.h"

static void
check(enum status st, const struct histogram *h, const struct error *e,
      struct arena *arena)
{
    struct buf b = BUF_INIT;
    struct histogram again;

    if (st != ST_OK) {
        INSIST(e->text[0] != '\0');
        return;
    }
    INSIST(h->len <= HISTOGRAM_BUCKETS_MAX);
    for (size_t i = 1; i < h->len; i++)
        INSIST(histogram_compare(&h->buckets[i - 1], &h->buckets[i]) < 0);
    histogram_encode(h, &b);
    INSIST(histogram_decode(buf_slice(&b), arena, &again, NULL) == ST_OK);
    INSIST(again.len == h->len && again.underflow == h->underflow);
    buf_fini(&b);
}

FUZZ_TARGET(data, size)
{
    struct arena *arena = arena_new(8 << 20);
    struct slice text = slice_of(data, size);
    struct histogram h;
    struct error e = { ST_OK, "" };

    check(histogram_parse_line(text, arena, &h, &e), &h, &e, arena);
    e.text[0] = '\0';
    check(histogram_parse_base64(text, arena, &h, &e), &h, &e, arena);
    arena_free(&arena);
    return 0;
}
