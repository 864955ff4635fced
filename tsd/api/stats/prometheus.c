#include "tsd/api/stats/prometheus.h"

#include <math.h>

#include "base/process/latency.h"

void
prom_head(struct buf *b, const char *name, const char *type, const char *help)
{
    buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void
prom_gauge(struct buf *b, const char *name, const char *help, double value)
{
    prom_head(b, name, "gauge", help);
    buf_printf(b, "%s %.15g\n", name, value);
}

void
prom_total(struct buf *b, const char *name, const char *help, double value)
{
    prom_head(b, name, "counter", help);
    buf_printf(b, "%s %.15g\n", name, value);
}

void
prom_labelled(struct buf *b, const char *name, const char *label,
              const char *text, uint64_t value)
{
    buf_printf(b, "%s{%s=\"%s\"} %llu\n", name, label, text,
               (unsigned long long)value);
}

/* Bounds are powers of two, at which the classes of a latency end.  The sum of
 * all is read last, and once: no bucket exceeds it. */
void
prom_latency(struct buf *b, const char *name, const char *help,
             const struct latency *l)
{
    unsigned long long all;

    if (l == NULL)
        return;
    prom_head(b, name, "histogram", help);
    for (unsigned e = 7; e <= 25; e += 2)
        buf_printf(b, "%s_bucket{le=\"%.9g\"} %llu\n", name,
                   ldexp(1e-6, (int)e),
                   (unsigned long long)latency_below(l, e));
    all = latency_below(l, 64);
    buf_printf(b, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.9g\n%s_count %llu\n",
               name, all, name, (double)l->sum_us / 1e6, name, all);
}
