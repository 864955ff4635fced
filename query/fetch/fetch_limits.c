/* What may stop a query: time, points, bytes, memory. */
#include "query/fetch/fetch.h"

void
fetch_limits_add(struct fetch_limits *l, uint64_t points, uint64_t bytes)
{
    atomic_fetch_add(&l->points, points);
    atomic_fetch_add(&l->bytes, bytes);
}

void
fetch_limits_reset(struct fetch_limits *l)
{
    atomic_store(&l->points, 0);
    atomic_store(&l->bytes, 0);
}

enum status
fetch_out_of_memory(const struct fetch_limits *l, struct error *e)
{
    if (l->budget == NULL)
        return error_no_memory(e);
    return error_set(
        e, ST_LIMIT,
        "Sorry, the points of this query do not fit into the %zu MB that "
        "it may use. Please try filtering using more tags or decrease "
        "your time range.",
        l->budget->max >> 20);
}

enum status
fetch_check_limits(struct fetch_limits *l, struct error *e)
{
    enum status st = deadline_check(&l->deadline, e);

    if (st != ST_OK)
        return st;
    if (l->max_points != 0 && atomic_load(&l->points) > l->max_points)
        return error_set(
            e, ST_LIMIT,
            "Sorry, you have attempted to fetch more than our limit of %llu "
            "data points. Please try filtering using more tags or decrease "
            "your time range.",
            (unsigned long long)l->max_points);
    if (l->max_bytes != 0 && atomic_load(&l->bytes) > l->max_bytes)
        return error_set(
            e, ST_LIMIT,
            "Sorry, you have attempted to fetch more than our maximum amount "
            "of %lluMB from storage. Please try filtering using more tags or "
            "decrease your time range.",
            (unsigned long long)(l->max_bytes >> 20));
    return ST_OK;
}
