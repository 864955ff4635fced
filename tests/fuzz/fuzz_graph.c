/* The parameters of /q, and what is drawn by them.
 *
 *     <series:1> { <points:1> { <ms since the last:4> <value:8> }.. }..
 * <name=value&..>
 *
 * Series are of either axis in turn; pictures are made small. */
#include "tsd/api/graph/graph_params.h"

#include "base/cursor.h"
#include "base/obj.h"
#include "tests/fuzz/target.h"

#define PARAMS 32
#define SERIES 4
#define POINTS 64
#define SIDE   200
#define BYTES  ((size_t)8 << 20)
/* Of how many inputs one is also drawn in pixels, which takes long. */
#if defined(REPLAY_HUNT)
#define PIXELS_EACH 2
#else
#define PIXELS_EACH 41
#endif
#define START_MS                                                \
    INT64_C(1774738800000) /* an hour before a change of clocks \
                            */

static int64_t ts_ms[SERIES][POINTS];
static double v[SERIES][POINTS];
static struct chart_series series[SERIES];

static size_t
read_series(struct cursor *c, int64_t *to_ms)
{
    size_t len = cursor_u8(c) % (SERIES + 1);

    *to_ms = START_MS + 1000;
    for (size_t s = 0; s < len; s++) {
        size_t n = cursor_u8(c) % (POINTS + 1);
        int64_t at_ms = START_MS;

        for (size_t i = 0; i < n; i++) {
            uint64_t bits;

            at_ms += cursor_u32(c);
            bits = cursor_u64(c);
            ts_ms[s][i] = at_ms;
            memcpy(&v[s][i], &bits, sizeof bits);
        }
        *to_ms = at_ms > *to_ms ? at_ms : *to_ms;
        series[s] = (struct chart_series){ .name = s == 1 ? "\xff\x01<" : "s",
                                           .ts_ms = ts_ms[s],
                                           .v = v[s],
                                           .len = n,
                                           .is_right = s % 2 == 1,
                                           .is_partial = s > 1 };
    }
    return len;
}

static size_t
read_params(struct slice text, struct http_param *params)
{
    size_t len = 0;

    while (text.size > 0 && len < PARAMS) {
        struct slice value = slice_cut(&text, '&');
        struct slice name = slice_cut(&value, '=');

        params[len++] = (struct http_param){ name, value };
    }
    return len;
}

static void
draw(struct chart *c, bool is_svg)
{
    struct arena *a = arena_new(BYTES);
    struct error e = { 0 };
    struct buf out;
    enum status st;

    buf_init(&out, BYTES);
    c->is_svg = is_svg;
    st = chart_draw(c, a, &out, &e);
    INSIST(st == ST_OK || st == ST_LIMIT);
    INSIST(st != ST_OK || out.size > 20);
    buf_fini(&out);
    arena_free(&a);
}

FUZZ_TARGET(data, size)
{
    struct cursor c = cursor_of(slice_of(data, size));
    struct arena *a = arena_new((size_t)1 << 20);
    const struct chart_note notes[] = { { START_MS, "start" },
                                        { START_MS + 500, "\xff" } };
    struct http_param params[PARAMS];
    struct graph_params p;
    struct error e = { 0 };
    int64_t to_ms;
    size_t series_len = read_series(&c, &to_ms);
    size_t len = read_params(slice_of(c.at, cursor_left(&c)), params);

    (void)graph_form_of(params, len);
    if (graph_params_parse(params, len, a, &p, &e) == ST_OK) {
        INSIST(p.chart.width >= CHART_SIDE_MIN);
        INSIST(p.chart.width <= CHART_SIDE_MAX);
        p.chart.width = p.chart.width < SIDE ? p.chart.width : SIDE;
        p.chart.height = p.chart.height < SIDE ? p.chart.height : SIDE;
        p.chart.from_ms = START_MS;
        p.chart.to_ms = to_ms;
        p.chart.series = series;
        p.chart.series_len = series_len;
        p.chart.notes = notes;
        p.chart.notes_len = 2;
        p.chart.zone_name = p.chart.title;
        INSIST(timezone_find(slice_str("Europe/Zurich"), &p.chart.zone, &e) ==
               ST_OK);
        draw(&p.chart, true);
        if (size % PIXELS_EACH == 0)
            draw(&p.chart, false);
    } else {
        INSIST(e.status == ST_INVALID || e.status == ST_LIMIT);
    }
    arena_free(&a);
    return 0;
}
