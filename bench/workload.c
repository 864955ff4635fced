/* See bench/workload.h.  Fast, because generating must not be what a benchmark
 * waits for: text that repeats is made once and copied. */
#include "bench/workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/number.h"

#define OUT_SIZE  ((size_t)1 << 20)
#define LINE_ROOM ((size_t)1024)

static const char *const metrics[WORKLOAD_METRICS] = {
    "cpu.usage_user",       "cpu.usage_system", "cpu.usage_idle",
    "cpu.usage_nice",       "cpu.usage_iowait", "cpu.usage_irq",
    "cpu.usage_softirq",    "cpu.usage_steal",  "cpu.usage_guest",
    "cpu.usage_guest_nice",
};
static const char *const regions[] = { "eu-north-1",     "eu-south-2",
                                       "us-central-1",   "us-northwest-1",
                                       "ap-southeast-1", "ap-northeast-2",
                                       "sa-west-1",      "af-south-1" };
static const char *const systems[] = { "Debian12", "Debian11", "Ubuntu22.04" };
static const char *const teams[] = { "web", "data", "infra", "mobile" };

const struct workload workload_default = {
    .hosts = 100,
    .metrics = WORKLOAD_METRICS,
    .start = 1735689600,
    .end = 1735689600 + 12 * 3600,
    .step = 10,
    .seed = 1,
    .prefix = "",
    .parts = 1,
};

/* A series' generator and where its walk is. */
struct walk {
    uint64_t state;
    double at;
};

struct text {
    uint16_t size;
    char bytes[190];
};

struct run {
    const struct workload *w;
    workload_write *write;
    void *ctx;
    struct workload_totals *totals;
    struct text heads[WORKLOAD_METRICS]; /* up to the time */
    struct text *tails;                  /* from the tags on, one a host */
    struct walk *walks;                  /* one a series */
    char *out;
    size_t used;
};

static uint64_t
next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint64_t
seed_of(const struct workload *w, uint64_t what)
{
    uint64_t state = w->seed * UINT64_C(0x2545f4914f6cdd1d) + what;

    return next(&state);
}

/* Nearly normal, of variance 1: four sixteenths of a random word summed. */
static double
normal(uint64_t *state)
{
    uint64_t z = next(state);
    uint64_t sum =
        (z & 0xffff) + (z >> 16 & 0xffff) + (z >> 32 & 0xffff) + (z >> 48);

    return ((double)sum / 65536 - 2) * 1.7320508075688772;
}

const char *
workload_metric(uint32_t i)
{
    return metrics[i];
}

/* What a metric's values are, where kinds are mixed. */
static enum workload_values
values_of(const struct workload *w, uint32_t metric)
{
    return w->values == WORKLOAD_MIXED ? (enum workload_values)(metric % 3)
                                       : w->values;
}

double
workload_unit(const struct workload *w, uint32_t metric)
{
    return values_of(w, metric) == WORKLOAD_FLOAT ? 0.01 : 1;
}

const char *
workload_fault(const struct workload *w)
{
    if (w->metrics < 1 || w->metrics > WORKLOAD_METRICS)
        return "metrics must be from 1 to 10";
    if (w->hosts < 1 || w->hosts > 10000000)
        return "hosts must be from 1 to 10,000,000";
    if (w->step < 1 || w->start < 1 || w->end <= w->start)
        return "start, end and step make no range";
    if (w->parts < 1 || w->part >= w->parts)
        return "there is no such part";
    if (w->gap_permille >= 1000 || w->jitter_ms >= w->step * 1000)
        return "gaps or jitter are too large";
    if (strlen(w->prefix) > 64)
        return "the prefix is too long";
    return "";
}

static struct text
tail_of(const struct workload *w, uint32_t host)
{
    uint64_t state = seed_of(w, UINT64_C(1) << 40 | host);
    uint64_t z = next(&state);
    const char *region = regions[z % 8], *os = systems[(z >> 32) % 3];
    const char *team = teams[(z >> 50) % 4];
    unsigned zone = 'a' + (unsigned)(z >> 8) % 3,
             rack = (unsigned)(z >> 16) % 100;
    unsigned service = (unsigned)(z >> 40) % 20;
    struct text t;
    int n;

    if (w->json)
        n = snprintf(t.bytes, sizeof t.bytes,
                     ",\"tags\":{\"host\":\"host_%u\",\"region\":\"%s\","
                     "\"datacenter\":\"%s%c\",\"rack\":\"%u\",\"os\":\"%s\","
                     "\"service\":\"%u\",\"team\":\"%s\"}}\n",
                     host, region, region, zone, rack, os, service, team);
    else
        n = snprintf(t.bytes, sizeof t.bytes,
                     " host=host_%u region=%s datacenter=%s%c rack=%u os=%s "
                     "service=%u team=%s\n",
                     host, region, region, zone, rack, os, service, team);
    t.size = (uint16_t)n;
    return t;
}

static void
begin_walk(const struct run *r, uint32_t host, uint32_t metric)
{
    const struct workload *w = r->w;
    uint64_t series = (uint64_t)host * w->metrics + metric;
    struct walk *walk = &r->walks[series];

    walk->state = seed_of(w, series);
    walk->at = values_of(w, metric) == WORKLOAD_COUNTER
                   ? (double)(next(&walk->state) % 1000000)
                   : (double)(next(&walk->state) >> 11) * 0x1p-53 * 100;
}

static bool
begin(struct run *r)
{
    const struct workload *w = r->w;

    r->out = malloc(OUT_SIZE);
    r->tails = mem_new_array(w->hosts, sizeof *r->tails);
    r->walks = mem_new_array((size_t)w->hosts * w->metrics, sizeof *r->walks);
    for (uint32_t i = 0; i < w->metrics; i++)
        r->heads[i].size = (uint16_t)snprintf(
            r->heads[i].bytes, sizeof r->heads[i].bytes, "%s%s%s%s",
            w->json ? "{\"metric\":\"" : "put ", w->prefix, metrics[i],
            w->json ? "\",\"timestamp\":" : " ");
    for (uint32_t h = 0; h < w->hosts; h++) {
        r->tails[h] = tail_of(w, h);
        for (uint32_t i = 0; i < w->metrics; i++)
            begin_walk(r, h, i);
    }
    return r->out != NULL;
}

/* The value at the walk's place, as it is printed: whole, or in hundredths;
 * with it the draw that says whether the point is there, and how late. Then a
 * step. */
static uint64_t
take_value(const struct run *r, uint64_t series, uint32_t *draw)
{
    const struct workload *w = r->w;
    enum workload_values kind = values_of(w, (uint32_t)(series % w->metrics));
    struct walk *walk = &r->walks[series];
    double at = walk->at;

    *draw = 0;
    if (w->gap_permille > 0 || w->jitter_ms > 0)
        *draw = (uint32_t)next(&walk->state);
    if (kind == WORKLOAD_COUNTER) {
        walk->at += (double)(next(&walk->state) % 1001);
        return (uint64_t)at;
    }
    walk->at += normal(&walk->state);
    walk->at = walk->at < 0 ? 0 : walk->at > 100 ? 100 : walk->at;
    return (uint64_t)(kind == WORKLOAD_FLOAT ? at * 100 : at);
}

static void
put_text(struct run *r, const char *bytes, size_t size)
{
    memcpy(r->out + r->used, bytes, size);
    r->used += size;
}

static void
put_value(struct run *r, uint32_t metric, uint64_t value)
{
    bool cents = values_of(r->w, metric) == WORKLOAD_FLOAT;
    char *end;

    r->used += number_format_i64((int64_t)(cents ? value / 100 : value),
                                 r->out + r->used);
    if (!cents)
        return;
    end = r->out + r->used;
    end[0] = '.';
    end[1] = (char)('0' + value % 100 / 10);
    end[2] = (char)('0' + value % 10);
    r->used += 3;
}

static bool
flush(struct run *r)
{
    bool ok = r->write(r->ctx, r->out, r->used);

    r->totals->bytes += r->used;
    r->used = 0;
    return ok;
}

static bool
put_point(struct run *r, uint32_t host, uint32_t metric, int64_t time,
          uint64_t value, uint32_t draw)
{
    const struct workload *w = r->w;
    const struct text *head = &r->heads[metric], *tail = &r->tails[host];
    int64_t ms = time * 1000;

    if (w->gap_permille > 0 && (draw >> 16) % 1000 < w->gap_permille)
        return true;
    if (w->jitter_ms > 0)
        ms += (int64_t)((draw & 0xffff) % (w->jitter_ms + 1));
    put_text(r, head->bytes, head->size);
    r->used +=
        number_format_i64(w->jitter_ms > 0 ? ms : time, r->out + r->used);
    if (w->json)
        put_text(r, ",\"value\":", 9);
    else
        put_text(r, " ", 1);
    put_value(r, metric, value);
    put_text(r, tail->bytes, tail->size);
    r->totals->points++;
    r->totals->sums[metric] += (int64_t)value;
    if (ms / 1000 > r->totals->last_s)
        r->totals->last_s = ms / 1000;
    return r->used < OUT_SIZE - LINE_ROOM || flush(r);
}

static bool
put_host(struct run *r, uint32_t host, int64_t time)
{
    bool ok = true;

    for (uint32_t i = 0; i < r->w->metrics && ok; i++) {
        uint32_t draw;
        uint64_t v = take_value(r, (uint64_t)host * r->w->metrics + i, &draw);

        ok = put_point(r, host, i, time, v, draw);
    }
    return ok;
}

static bool
run_in_order(struct run *r)
{
    const struct workload *w = r->w;
    bool ok = true;

    if (w->order == WORKLOAD_BY_HOST) {
        for (uint32_t h = w->part; h < w->hosts; h += w->parts)
            for (int64_t t = w->start; t < w->end && ok; t += w->step)
                ok = put_host(r, h, t);
        return ok;
    }
    for (int64_t t = w->start; t < w->end; t += w->step)
        for (uint32_t h = w->part; h < w->hosts && ok; h += w->parts)
            ok = put_host(r, h, t);
    return ok;
}

/* All values first; then the points by a random permutation of their numbers.
 */
static bool
run_shuffled(struct run *r)
{
    const struct workload *w = r->w;
    uint64_t steps = (uint64_t)((w->end - w->start + w->step - 1) / w->step);
    uint64_t series = (uint64_t)w->hosts * w->metrics, all = series * steps;
    uint64_t *values = malloc(all * sizeof *values);
    uint32_t *draws = malloc(all * sizeof *draws);
    uint32_t *order = malloc(all * sizeof *order);
    uint64_t state = seed_of(w, UINT64_C(1) << 41);
    bool ok = all < UINT32_MAX && values && draws && order;

    for (uint64_t i = 0; i < all && ok; i++) {
        uint64_t k = next(&state) % (i + 1);

        values[i] = take_value(r, i / steps, &draws[i]);
        order[i] = order[k];
        order[k] = (uint32_t)i;
    }
    for (uint64_t i = 0; i < all && ok; i++) {
        uint32_t n = order[i], host = (uint32_t)(n / steps / w->metrics);

        if (host % w->parts == w->part)
            ok = put_point(r, host, (uint32_t)(n / steps % w->metrics),
                           w->start + (int64_t)(n % steps) * w->step, values[n],
                           draws[n]);
    }
    free(values);
    free(draws);
    free(order);
    return ok;
}

bool
workload_run(const struct workload *w, workload_write *write, void *ctx,
             struct workload_totals *out)
{
    struct run r = { .w = w, .write = write, .ctx = ctx, .totals = out };
    bool ok;

    memset(out, 0, sizeof *out);
    ok = begin(&r);
    if (ok)
        ok =
            w->order == WORKLOAD_SHUFFLED ? run_shuffled(&r) : run_in_order(&r);
    if (ok)
        ok = flush(&r);
    free(r.out);
    free(r.tails);
    free(r.walks);
    return ok;
}
