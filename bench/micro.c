/* See bench/micro.h.  The best of many rounds, because others run on the same
 * machine: they make a round slower, never faster. */
#include "bench/micro.h"

#include <stdio.h>
#include <time.h>

#define ROUNDS     15
#define ROUND_NS   20e6
#define ROUNDS_MAX 1000000

static volatile uint64_t used;

void
micro_use(uint64_t v)
{
    used += v;
}

static double
cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double
time_calls(void (*work)(void *ctx), void *ctx, unsigned calls)
{
    double from = cpu_ns();

    for (unsigned i = 0; i < calls; i++)
        work(ctx);
    return cpu_ns() - from;
}

/* Nanoseconds of one call. */
static double
best(void (*work)(void *ctx), void *ctx)
{
    double least = time_calls(work, ctx, 1);
    unsigned calls = 1;

    while (time_calls(work, ctx, calls) < ROUND_NS && calls < ROUNDS_MAX)
        calls *= 2;
    for (int i = 0; i < ROUNDS; i++) {
        double t = time_calls(work, ctx, calls) / calls;

        least = t < least ? t : least;
    }
    return least;
}

void
micro_run(const struct micro *m, void *ctx)
{
    double items = (double)m->items, work = best(m->work, ctx) / items;

    printf("{\"what\":\"%s\",\"unit\":\"%s\",\"ns\":%.4g,\"ceiling\":\"%s\","
           "\"ceiling_ns\":%.4g}\n",
           m->what, m->unit, work, m->ceiling, best(m->limit, ctx) / items);
    (void)fflush(stdout);
}

int
main(void)
{
    micro_put();
    micro_block();
    micro_query();
    return 0;
}
