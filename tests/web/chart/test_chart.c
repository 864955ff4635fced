/* Charts, as pixels: compared with the pictures in golden/, which
 *
 *     HALITE_GOLDEN=write build/tests/web/chart/test_chart
 *
 * writes anew, to be looked at.  A few pixels may differ, and each a little: no
 * two versions of cairo round alike.  Texts are in the face that cairo has when
 * there is no font, so that no package of fonts matters. */
#include "web/chart/chart.h"

#include <cairo.h>
#include <math.h>

#include "base/process/library.h"
#include "tests/harness.h"

/* A pixel differs when a channel does by more than DIFFERS; so may MOST of all
 * pixels. */
#define DIFFERS 40
#define MOST    0.0005

#define POINTS 240
#define SERIES 3
#define START_MS                                                \
    INT64_C(1792800000000) /* the day before a change of clocks \
                            */
#define SPAN_MS INT64_C(172800000)

static int64_t ts_ms[SERIES][POINTS];
static double v[SERIES][POINTS];
static struct chart_series series[SERIES];
static const struct chart_note notes[] = {
    { START_MS + SPAN_MS / 3, "deploy 1.2" },
    { START_MS + SPAN_MS / 3 + SPAN_MS / 50, "back to 1.1" },
    { START_MS + SPAN_MS - 1, "end" },
};

/* Waves; the second has a hole, with a point alone in it, the third is large.
 */
static void
make_series(void)
{
    static const char *const names[] = { "host=a", "host=b", "disk" };

    for (int s = 0; s < SERIES; s++) {
        size_t n = 0;

        for (int i = 0; i < POINTS; i++) {
            if (s == 1 && i > 90 && i < 130 && i != 110)
                continue;
            ts_ms[s][n] = START_MS + i * SPAN_MS / POINTS;
            v[s][n++] = (s == 2 ? 1e6 : 10) *
                        (3 + s + 2 * sin(i / 15.0 + s) + i % 5 / 5.0);
        }
        series[s] = (struct chart_series){
            .name = names[s], .ts_ms = ts_ms[s], .v = v[s], .len = n
        };
    }
}

static struct chart
base_chart(void)
{
    static const struct timezone *zone;
    char conf[1000], *whole;

    (void)snprintf(conf, sizeof conf, "%s/tests/web/chart/no_fonts.conf",
                   getenv("srcdir") == NULL ? "." : getenv("srcdir"));
    whole = realpath(conf, NULL);
    ck_assert(whole != NULL);
    (void)setenv("FONTCONFIG_FILE", whole, 1);
    free(whole);
    ck_assert_int_eq(timezone_find(slice_str("Europe/Zurich"), &zone, NULL),
                     ST_OK);
    make_series();
    return (struct chart){ .width = 360,
                           .height = 220,
                           .scale = 1,
                           .from_ms = START_MS,
                           .to_ms = START_MS + SPAN_MS,
                           .zone = zone,
                           .ground = 0xffffff,
                           .ink = 0x222222,
                           .series = series,
                           .series_len = 2 };
}

/* -- what is drawn --------------------------------------------------------- */

static struct number_format gigabytes;

static void
plain(struct chart *c)
{
    c->title = "Two hosts";
    c->y.label = "percent";
    c->zone_name = "Europe/Zurich";
    c->key.common = "load{dc=x}";
    series[0].is_partial = true;
}

static void
dark(struct chart *c)
{
    c->ground = 0x15181d;
    c->ink = 0xd7dae0;
    c->series_len = 3;
    series[2].is_right = true;
    c->y2.label = "bytes";
    c->width = 480;
    c->notes = notes;
    c->notes_len = 3;
    ck_assert_int_eq(number_format_parse(slice_str("%.1s%cB"), &gigabytes),
                     ST_OK);
    c->y2.format = &gigabytes;
}

static void
stack(struct chart *c)
{
    c->style = CHART_STACK;
    c->key.is_horizontal = true;
}

static void
area(struct chart *c)
{
    c->style = CHART_AREA;
    c->key =
        (struct chart_key){ .is_inside = true, .left = 1, .has_frame = true };
}

static void
logarithmic(struct chart *c)
{
    c->series_len = 3;
    c->y.range.log = true;
    c->key.off = true;
    v[0][50] = 0;
}

static void
points(struct chart *c)
{
    c->style = CHART_POINTS;
    c->is_transparent = true;
    c->time_format = "%a %Hh";
    c->key.off = true;
}

static void
circles(struct chart *c)
{
    c->style = CHART_CIRCLES;
    c->y.range = (struct scale_range){
        .has_min = true, .has_max = true, .min = 10, .max = 40
    };
    c->key.off = true;
}

static void
dots(struct chart *c)
{
    c->style = CHART_DOTS;
    c->key.off = true;
}

static void
smooth(struct chart *c)
{
    c->is_smooth = true;
    series[0].len = series[1].len = 12;
    c->to_ms = START_MS + SPAN_MS / 20;
    c->key.off = true;
}

static void
dense(struct chart *c)
{
    static int64_t many_ms[20000];
    static double many[20000];

    for (int i = 0; i < 20000; i++) {
        many_ms[i] = START_MS + i * SPAN_MS / 20000;
        many[i] = i % 97 + (i == 7777 ? 200 : 0);
    }
    series[0].ts_ms = many_ms;
    series[0].v = many;
    series[0].len = 20000;
    c->series_len = 1;
    c->style = CHART_LINE;
}

static void
fine(struct chart *c)
{
    c->width = 180;
    c->height = 110;
    c->scale = 2;
}

static void
empty(struct chart *c)
{
    c->series_len = 0;
}

static const struct {
    const char *name;
    void (*change)(struct chart *c);
} cases[] = {
    { "plain", plain },     { "dark", dark },       { "stack", stack },
    { "area", area },       { "log", logarithmic }, { "points", points },
    { "circles", circles }, { "dots", dots },       { "smooth", smooth },
    { "dense", dense },     { "fine", fine },       { "empty", empty },
};
#define CASES (sizeof cases / sizeof cases[0])

/* -- comparing ------------------------------------------------------------- */

static void
draw(const struct chart *c, struct buf *out)
{
    struct arena *a = arena_new((size_t)64 << 20);
    struct error e = { 0 };

    ck_assert_msg(chart_draw(c, a, out, &e) == ST_OK, "%s", e.text);
    arena_free(&a);
}

/* What reads a picture, which the program does not do. */
#define READER_CALLS(CALL)                            \
    CALL(cairo, image_surface_create_from_png_stream) \
    CALL(cairo, image_surface_get_data)               \
    CALL(cairo, image_surface_get_height)             \
    CALL(cairo, image_surface_get_stride)             \
    CALL(cairo, image_surface_get_width)              \
    CALL(cairo, surface_destroy)                      \
    CALL(cairo, surface_status)

static struct {
    READER_CALLS(LIBRARY_MEMBER)
} reader;

static struct library reader_library = {
    .purpose = "this test",
    .package = "libcairo2",
    .file_names = { "libcairo.so.2" },
    LIBRARY_CALLS(READER_CALLS, reader),
};

static void
load_reader(void)
{
    struct error e = { 0 };

    ck_assert_msg(library_load(&reader_library, &e) == ST_OK, "%s", e.text);
}

struct source {
    struct slice left;
};

static cairo_status_t
read_bytes(void *ctx, unsigned char *to, unsigned size)
{
    struct source *s = ctx;

    if (size > s->left.size)
        return CAIRO_STATUS_READ_ERROR;
    memcpy(to, s->left.data, size);
    s->left = slice_of(s->left.data + size, s->left.size - size);
    return CAIRO_STATUS_SUCCESS;
}

static cairo_surface_t *
decode(struct slice png)
{
    struct source s = { png };
    cairo_surface_t *image;

    load_reader();
    image = reader.image_surface_create_from_png_stream(read_bytes, &s);

    ck_assert_int_eq(reader.surface_status(image), CAIRO_STATUS_SUCCESS);
    return image;
}

static bool
pixel_differs(const uint8_t *a, const uint8_t *b)
{
    for (int i = 0; i < 4; i++)
        if (abs(a[i] - b[i]) > DIFFERS)
            return true;
    return false;
}

/* The part of the pixels that differ; 1 when the sizes do. */
static double
difference(struct slice left, struct slice right)
{
    cairo_surface_t *a = decode(left), *b = decode(right);
    int width = reader.image_surface_get_width(a);
    int height = reader.image_surface_get_height(a);
    int stride = reader.image_surface_get_stride(a), n = 0;
    double part = 1;

    if (width == reader.image_surface_get_width(b) &&
        height == reader.image_surface_get_height(b)) {
        for (int i = 0; i < width * height; i++) {
            int at = i / width * stride + i % width * 4;

            n += pixel_differs(reader.image_surface_get_data(a) + at,
                               reader.image_surface_get_data(b) + at);
        }
        part = (double)n / (width * height);
    }
    reader.surface_destroy(a);
    reader.surface_destroy(b);
    return part;
}

static FILE *
open_golden(const char *name, const char *mode)
{
    char path[1000];
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/tests/web/chart/golden/%s.png",
                   getenv("srcdir") == NULL ? "." : getenv("srcdir"), name);
    f = fopen(path, mode);
    ck_assert_msg(f != NULL, "%s: cannot be opened", path);
    return f;
}

static void
read_golden(const char *name, struct buf *out)
{
    FILE *f = open_golden(name, "rb");
    uint8_t *to = buf_reserve(out, (size_t)1 << 20);

    ck_assert(to != NULL);
    out->size += fread(to, 1, (size_t)1 << 20, f);
    (void)fclose(f);
}

START_TEST(looks_as_before)
{
    const char *write = getenv("HALITE_GOLDEN");
    struct buf drawn = BUF_INIT, golden = BUF_INIT;
    struct chart c = base_chart();
    double part;

    cases[_i].change(&c);
    draw(&c, &drawn);
    if (write != NULL && strcmp(write, "write") == 0) {
        FILE *f = open_golden(cases[_i].name, "wb");

        ck_assert(fwrite(drawn.data, 1, drawn.size, f) == drawn.size);
        (void)fclose(f);
    }
    read_golden(cases[_i].name, &golden);
    part = difference(buf_slice(&drawn), buf_slice(&golden));
    ck_assert_msg(part <= MOST, "%s: %.2f %% of the pixels differ",
                  cases[_i].name, 100 * part);
    buf_fini(&drawn);
    buf_fini(&golden);
}
END_TEST

/* -- the comparison is no better than what it sees ------------------------- */

static void
other_colour(struct chart *c)
{
    static struct chart_series other[2];

    other[0] = series[1];
    other[1] = series[0];
    c->series = other;
}

static void
spike(struct chart *c)
{
    (void)c;
    v[0][100] += 30;
}

static void
no_gap(struct chart *c)
{
    static int64_t dense_ms[POINTS];

    for (size_t i = 0; i < series[1].len; i++)
        dense_ms[i] = START_MS + (int64_t)i * SPAN_MS / (int64_t)series[1].len;
    series[1].ts_ms = dense_ms;
    (void)c;
}

static void
other_zone(struct chart *c)
{
    c->zone = timezone_utc();
}

static void
other_text(struct chart *c)
{
    c->title = "Two hosts, more or less";
}

static void
no_key(struct chart *c)
{
    c->key.off = true;
}

static void
other_range(struct chart *c)
{
    c->y.range.has_min = true;
    c->y.range.min = -5;
}

static void
other_ground(struct chart *c)
{
    c->ground = 0xd0d0d0;
}

static void (*const changes[])(struct chart *c) = {
    other_colour, spike,       no_gap,       other_zone, other_text,
    no_key,       other_range, other_ground, smooth,     points,
};

START_TEST(sees_a_change)
{
    struct buf drawn = BUF_INIT, golden = BUF_INIT;
    struct chart c = base_chart();

    plain(&c);
    changes[_i](&c);
    draw(&c, &drawn);
    read_golden("plain", &golden);
    ck_assert_msg(difference(buf_slice(&drawn), buf_slice(&golden)) > MOST,
                  "change %d is not seen", _i);
    buf_fini(&drawn);
    buf_fini(&golden);
}
END_TEST

/* -- limits ---------------------------------------------------------------- */

/* Too little memory is an error at each of its places, never a crash. */
START_TEST(runs_out_of_memory)
{
    bool drawn = false;

    for (size_t size = 1; !drawn; size = size * 5 / 4 + 64) {
        struct arena *a = arena_new(size);
        struct chart c = base_chart();
        struct buf out = BUF_INIT;
        enum status st;

        stack(&c);
        c.is_svg = _i == 1;
        st = chart_draw(&c, a, &out, NULL);
        ck_assert(st == ST_OK || st == ST_LIMIT);
        drawn = st == ST_OK;
        buf_fini(&out);
        arena_free(&a);
        ck_assert_uint_lt(size, (size_t)64 << 20);
    }
}
END_TEST

START_TEST(keeps_the_cap_of_bytes)
{
    struct chart c = base_chart();
    struct arena *a = arena_new(0);
    struct error e = { 0 };
    struct buf out;

    c.is_svg = _i == 1;
    buf_init(&out, 2000);
    ck_assert_int_eq(chart_draw(&c, a, &out, &e), ST_LIMIT);
    ck_assert_str_eq(e.text, "the picture is too large");
    buf_fini(&out);
    arena_free(&a);
}
END_TEST

static enum status
stop(void *ctx, struct error *e)
{
    int *left = ctx;

    return --*left < 0 ? error_set(e, ST_BUSY, "stopped") : ST_OK;
}

/* Wherever it is asked. */
START_TEST(stops)
{
    for (int i = 0;; i++) {
        int left = i;
        struct chart c = base_chart();
        struct arena *a = arena_new(0);
        struct buf out = BUF_INIT;
        enum status st;

        c.stop = stop;
        c.stop_ctx = &left;
        st = chart_draw(&c, a, &out, NULL);
        buf_fini(&out);
        arena_free(&a);
        if (st == ST_OK) {
            ck_assert_int_ge(i, 2);
            break;
        }
        ck_assert_int_eq(st, ST_BUSY);
    }
}
END_TEST

START_TEST(says_how_much_is_not_shown)
{
    static struct chart_series many[CHART_SERIES_MAX];
    struct chart c = base_chart();
    struct buf out = BUF_INIT;

    for (size_t i = 0; i < CHART_SERIES_MAX; i++)
        many[i] = series[i % 2];
    c.series = many;
    c.series_len = CHART_SERIES_MAX;
    c.left_out = 234;
    c.is_svg = true;
    draw(&c, &out);
    ck_assert(strstr(buf_cstr(&out),
                     ">and 1230 more, of which 234 are not drawn</text>"));
    buf_fini(&out);
}
END_TEST

static size_t
count(const char *text, const char *what)
{
    size_t n = 0;

    while ((text = strstr(text, what)) != NULL) {
        text += strlen(what);
        n++;
    }
    return n;
}

/* The second series has a point with gaps on both sides. */
START_TEST(shows_a_point_alone)
{
    struct chart c = base_chart();
    struct buf out = BUF_INIT;

    c.style = _i == 0 ? CHART_LINE : CHART_STACK;
    c.is_svg = true;
    draw(&c, &out);
    ck_assert_uint_eq(count(buf_cstr(&out), "h0"), 1);
    buf_clear(&out);
    series[1].len = 90;
    draw(&c, &out);
    ck_assert_uint_eq(count(buf_cstr(&out), "h0"), 0);
    buf_fini(&out);
}
END_TEST

/* Texts are the client's: what is not UTF-8 or not XML does not get through. */
START_TEST(cleans_texts)
{
    struct chart c = base_chart();
    struct buf out = BUF_INIT;

    series[0].name = "a\xff\x01<b>&\"\xef\xbf\xbf";
    c.title = "</title><script>";
    c.is_svg = _i == 1;
    draw(&c, &out);
    if (c.is_svg) {
        ck_assert(strstr(buf_cstr(&out), ">a\ufffd &lt;b&gt;&amp;\"") != NULL);
        ck_assert(strstr(buf_cstr(&out), "<script>") == NULL);
    }
    buf_fini(&out);
}
END_TEST

TEST_MAIN("chart", LOOP(looks_as_before, cases), LOOP(sees_a_change, changes),
          TIMES(runs_out_of_memory, 2), TIMES(keeps_the_cap_of_bytes, 2),
          TIMES(shows_a_point_alone, 2), TEST(stops),
          TEST(says_how_much_is_not_shown), TIMES(cleans_texts, 2))
