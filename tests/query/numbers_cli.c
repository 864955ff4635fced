#include "query/aggregate/aggregate.h"

#include "query/downsample/fold.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/obj.h"

static struct deadline deadline; /* without a timeout */

/* aggregate_group() for scripts: with the argument "-", cases on stdin and
 * answers on stdout, line by line.  Without one, as "make check" calls it, it
 * becomes the script that compares it with the model (skipped where there is no
 * node).
 *
 *     query START_MS END_MS AGGREGATOR
 *     downsample INTERVAL_MS COUNT UNIT CALENDAR ALL AGGREGATOR FILL ZONE
 *     rate COUNTER MAX RESET DROP
 *     span                      begins a series; all its points are given ...
 *     p TIME_MS i INTEGER
 *     p TIME_MS d BITS          a double's bits, in hex
 *     run                       ... and here those of the scanned rows are used
 *
 * UNIT and FILL are numbers of the enums.  An answer:
 *
 *     range FROM_BASE TO_BASE
 *     TIME_MS i INTEGER | TIME_MS d BITS | TIME_MS n
 *     end | error TEXT
 *
 * With "stream", where there is "run", series are downsampled hour by hour, by
 * block summaries where these do. */

#define SPANS_MAX 4096

struct cli_case {
    struct query q;
    struct sub_query sq;
    struct points spans[SPANS_MAX];
    size_t len;
};

static _Noreturn void
die(const char *line)
{
    (void)fprintf(stderr, "numbers_cli: cannot read: %s\n", line);
    exit(2);
}

static void
case_clear(struct cli_case *c)
{
    for (size_t i = 0; i < c->len; i++)
        points_fini(&c->spans[i]);
    memset(c, 0, sizeof *c);
}

static void
read_query(struct cli_case *c, const char *line)
{
    char name[32];

    case_clear(c);
    if (sscanf(line, "query %" SCNd64 " %" SCNd64 " %31s", &c->q.start_ms,
               &c->q.end_ms, name) != 3)
        die(line);
    c->sq.aggregator = aggregator_find(slice_str(name));
    if (c->sq.aggregator == NULL)
        die(line);
}

static void
read_downsample(struct cli_case *c, const char *line)
{
    struct downsample *d = &c->sq.downsample;
    char name[32], zone[64];
    int unit, calendar, all, fill;

    if (sscanf(line, "downsample %" SCNd64 " %d %d %d %d %31s %d %63s",
               &d->interval_ms, &d->count, &unit, &calendar, &all, name, &fill,
               zone) != 8)
        die(line);
    d->on = true;
    d->unit = (enum time_unit)unit;
    d->calendar = calendar != 0;
    d->all = all != 0;
    d->fill = (enum fill_policy)fill;
    d->aggregator = aggregator_find(slice_str(name));
    if (d->aggregator == NULL ||
        timezone_find(slice_str(zone), &d->zone, NULL) != ST_OK)
        die(line);
}

static void
read_rate(struct cli_case *c, const char *line)
{
    struct rate_options *o = &c->sq.rate_options;
    int counter, drop;

    if (sscanf(line, "rate %d %" SCNd64 " %" SCNd64 " %d", &counter,
               &o->counter_max, &o->reset_value, &drop) != 4)
        die(line);
    c->sq.rate = true;
    o->counter = counter != 0;
    o->drop_resets = drop != 0;
}

static void
read_point(struct cli_case *c, const char *line)
{
    struct point p = { 0 };
    char type, text[32];
    bool good;
    uint64_t bits;

    if (c->len == 0 ||
        sscanf(line, "p %" SCNd64 " %c %31s", &p.ts_ms, &type, text) != 3)
        die(line);
    p.is_float = type == 'd';
    if (p.is_float) {
        good = sscanf(text, "%" SCNx64, &bits) == 1;
        memcpy(&p.v.d, &bits, sizeof p.v.d);
    } else {
        good = sscanf(text, "%" SCNd64, &p.v.i) == 1;
    }
    if (!good || !points_add(&c->spans[c->len - 1], p))
        die(line);
}

static void
print_answer(const struct dps *out)
{
    for (size_t i = 0; i < out->len; i++) {
        uint64_t bits;

        memcpy(&bits, &out->v[i], sizeof bits);
        if (out->kind[i] == DP_INT)
            (void)printf("%" PRId64 " i %" PRId64 "\n", out->ts_ms[i],
                         out->v[i].i);
        else if (out->kind[i] == DP_DOUBLE)
            (void)printf("%" PRId64 " d %016" PRIx64 "\n", out->ts_ms[i], bits);
        else
            (void)printf("%" PRId64 " n\n", out->ts_ms[i]);
    }
    (void)printf("end\n");
}

/* Downsamples points as a fetch does their rows: of an hour each. */
static void
stream(const struct fold *f, const struct column *span, struct arena *a,
       struct column *out)
{
    struct bucket_acc acc = { 0 };
    size_t to;

    for (size_t at = 0; at < span->len; at = to) {
        uint32_t base = hour_base(span->ts_ms[at]);
        struct points hour = { 0 }, back = { 0 };
        struct summary summary;
        struct spacing spacing;
        struct buf block = BUF_INIT;
        bool good = true;

        for (to = at; to < span->len && hour_base(span->ts_ms[to]) == base;
             to++)
            good &=
                points_add(&hour, (struct point){ span->ts_ms[to], span->v[to],
                                                  span->is_float[to] != 0 });
        block_encode(&hour, base, &block);
        if (!good ||
            block_summary(buf_slice(&block), base, &summary, NULL) != ST_OK ||
            block_decode_spaced(buf_slice(&block), base, ALL_VALUES, &back,
                                &spacing, NULL) != ST_OK)
            die("a block");
        if (!bucket_acc_summary(f, &acc, &summary, a)) {
            struct batch row =
                batch_of_row(spacing.even ? &back : &hour, &spacing);

            bucket_acc_add(f, &acc, &row, NULL, a);
        }
        points_fini(&hour);
        points_fini(&back);
        buf_fini(&block);
    }
    if (!bucket_acc_end(f, &acc, a))
        die("too many buckets");
    *out = bucket_acc_column(&acc);
}

/* As a fetch that has waited for all rows. */
static void
collect(const struct fold *f, const struct column *span, struct arena *a,
        struct column *out)
{
    struct bucket_acc acc = { 0 };
    const struct batch all = { .times = { .list = span->ts_ms,
                                          .len = span->len },
                               .v = span->v,
                               .is_float = span->is_float };
    union number *scratch = arena_alloc(a, (span->len + 1) * sizeof *scratch);

    bucket_acc_add(f, &acc, &all, scratch, a);
    if (!bucket_acc_end(f, &acc, a))
        die("too many buckets");
    *out = bucket_acc_column(&acc);
}

static void
run(struct cli_case *c, bool streams)
{
    struct arena *a = arena_new(0);
    struct query_reading r;
    struct fold f;
    struct column *spans =
        (struct column *)mem_new_array(SPANS_MAX, sizeof *spans);
    struct dps out;
    struct error e;
    size_t n = 0;

    reading_make(&r, &c->q, &c->sq);
    streams = streams && r.form != READ_POINTS;
    if (streams)
        buckets_list(&r.buckets, a);
    f = reading_fold(&r, 0);
    (void)printf("range %" PRIu32 " %" PRIu32 "\n", r.from_base, r.to_base);
    for (size_t i = 0; i < c->len; i++) {
        struct points *p = &c->spans[i];
        size_t first = 0, last;

        INSIST(points_sort_unique(p));
        while (first < p->len && p->ts_ms[first] < (int64_t)r.from_base * 1000)
            first++;
        last = first;
        while (last < p->len && hour_base(p->ts_ms[last]) <= r.to_base)
            last++;
        spans[n] = (struct column){ .len = 0 };
        if (last > first)
            spans[n] = (struct column){ .ts_ms = p->ts_ms + first,
                                        .v = p->v + first,
                                        .is_float = p->is_float + first,
                                        .len = last - first };
        if (streams && r.form != READ_FOLDED)
            collect(&f, &spans[n], a, &spans[n]);
        else if (streams)
            stream(&f, &spans[n], a, &spans[n]);
        n += reading_has(&r, &spans[n]); /* as groups are made */
    }
    if (aggregate_group(&(struct aggregate_job){ .q = &c->q,
                                                 .sq = &c->sq,
                                                 .reading = &r,
                                                 .deadline = &deadline },
                        spans, n, a, &out, &e) == ST_OK)
        print_answer(&out);
    else
        (void)printf("error %s\n", e.text);
    (void)fflush(stdout);
    free(spans);
    arena_free(&a);
}

static int
compare(const char *self)
{
    const char *srcdir = getenv("srcdir");
    char script[4096];

    (void)snprintf(script, sizeof script, "%s/tests/model/compare_numbers.mjs",
                   srcdir == NULL ? "." : srcdir);
    (void)execlp("node", "node", script, self, (char *)NULL);
    (void)printf("there is no node to run the model with\n");
    return 77;
}

int
main(int argc, char **argv)
{
    struct cli_case *c = (struct cli_case *)mem_new(sizeof *c);
    char line[256];

    if (argc < 2) {
        free(c);
        return compare(argv[0]);
    }
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strncmp(line, "query ", 6) == 0)
            read_query(c, line);
        else if (strncmp(line, "downsample ", 11) == 0)
            read_downsample(c, line);
        else if (strncmp(line, "rate ", 5) == 0)
            read_rate(c, line);
        else if (strncmp(line, "span", 4) == 0 && c->len < SPANS_MAX)
            c->len++;
        else if (strncmp(line, "p ", 2) == 0)
            read_point(c, line);
        else if (strncmp(line, "run", 3) == 0)
            run(c, false);
        else if (strncmp(line, "stream", 6) == 0)
            run(c, true);
        else
            die(line);
    }
    case_clear(c);
    free(c);
    return 0;
}
