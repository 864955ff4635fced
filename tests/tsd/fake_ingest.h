/* What lies under tsd/put/put.h, in miniature: a series is its metric and
 * sorted tags as text, the store is a list of what was put.  A test may make
 * the store forget series, be busy, or fail.  Linked instead of uid/ and
 * storage/. */
#pragma once

#include <stdatomic.h>

#include "base/process/lock.h"
#include "uid/series/series.h"

#define FAKE_SERIES 4096

struct fake {
    struct lock lock;
    char *series[FAKE_SERIES]; /* "metric{a=b,c=d}", NULL: forgotten */
    size_t series_len;
    size_t resolved;   /* calls */
    size_t short_ways; /* calls of series_of_metric() that said so */
    struct buf log;    /* "metric{a=b} 1356998400000 1\n" a point */
    bool keep_log;
    size_t points, commits, committed_points;
    size_t busy;         /* so many points of the next batch are taken */
    bool is_busy, fails; /* 'busy' counts; every put fails */
    bool unknown_metrics;
    char kind[64]; /* that was asked for last */
    const char *commit_fails;
    /* Other owners, who are waited for: are there any?  So many times they do
     * not answer; then they reject. */
    bool has_owners;
    size_t owners_busy;
    const char *owners_reject;
};
extern struct fake fake;

void fake_reset(void);
/* Refs that were given out are stale from now on. */
void fake_forget(void);
/* The log as a string. */
const char *fake_log(void);
