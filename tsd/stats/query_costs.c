#include "tsd/stats/query_costs.h"

#include "web/json/json.h"

static int64_t
larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void
query_costs_add(struct query_costs *c, const struct result_stats *s)
{
    c->subs++;
    c->rows += s->scan.rows;
    c->head_rows += s->scan.head_rows;
    c->keys += s->scan.keys;
    c->bytes += s->scan.bytes;
    c->points += s->points;
    c->seeks += s->scan.seeks;
    c->series += s->series;
    for (size_t i = 0; i < s->scans_len; i++) {
        c->scans++;
        c->bucket_us += s->scans[i].us;
        c->bucket_max_us = larger(c->bucket_max_us, s->scans[i].us);
    }
    c->plan_us += s->plan_us;
    c->scan_us += s->scan_us;
    c->numbers_us += s->numbers_us;
    c->scan_max_us = larger(c->scan_max_us, s->scan_us);
    c->numbers_max_us = larger(c->numbers_max_us, s->numbers_us);
}

void
query_costs_put_ms(struct buf *b, const char *name, int64_t us)
{
    json_name(b, name);
    buf_printf(b, "%.3f", (double)us / 1000);
}

static int64_t
share(int64_t us, uint64_t among)
{
    return among == 0 ? 0 : us / (int64_t)among;
}

void
query_costs_write(const struct query_costs *c, struct buf *b)
{
    json_put_int(b, "dpsPreFilter", (int64_t)c->points);
    json_put_int(b, "dpsPostFilter", (int64_t)c->points);
    json_put_int(b, "rowsPreFilter", (int64_t)c->rows);
    json_put_int(b, "rowsPostFilter", (int64_t)c->rows);
    json_put_int(b, "successfulScan", (int64_t)c->scans);
    query_costs_put_ms(b, "maxScannerTime", c->bucket_max_us);
    query_costs_put_ms(b, "avgScannerTime", share(c->bucket_us, c->scans));
    query_costs_put_ms(b, "maxQueryScanTime", c->scan_max_us);
    query_costs_put_ms(b, "avgQueryScanTime", share(c->scan_us, c->subs));
    query_costs_put_ms(b, "maxAggregationTime", c->numbers_max_us);
    query_costs_put_ms(b, "avgAggregationTime", share(c->numbers_us, c->subs));
}
