/* Imports files: reads them in blocks of lines, hands these to a taker (a store
 * of this process, or a server), and counts points and bad lines. An import
 * that ended early is run again from the beginning: points that are stored
 * already are overwritten with the same values.
 *
 *     files -> source -> taker -> durable
 *
 * Owns:    its threads; each reads one file at a time.
 * Bounds:  a block of lines for each thread.
 * Threads: import_run(): one at a time; callbacks as they say.
 * Fails:   ST_INVALID: a bad line, with 'stop_at_bad'; ST_BUSY: cancelled; and
 *          the failures of source.h and of the taker. */
#pragma once

#include "base/error.h"
#include "tsd/transfer/import/import_writer.h"
#include "tsd/transfer/import/source.h"

/* Takes lines for one thread at a time. */
struct import_taker {
    enum status (*take)(void *ctx, struct slice lines, import_bad *bad,
                        void *bad_ctx, struct import_counts *counts,
                        struct error *e);
    /* All that was taken survives a power cut. */
    enum status (*sync)(void *ctx, struct error *e);
    void *ctx;
};

struct import_totals {
    uint64_t points, records, bad;
    uint64_t bytes_read, bytes_all; /* of files; all: 0 where not known */
};

struct import_file {
    const char *path;
    struct import_totals totals;
    int64_t us;
};

struct import {
    const char *const *paths;
    size_t paths_len;
    bool opentsdb;    /* OpenTSDB's rules for packed files; one thread */
    bool stop_at_bad; /* the takers stop at a bad line, and the import ends */
    size_t threads;   /* at most; 0: a CPU each */
    /* For each thread one. */
    void (*open)(void *ctx, struct import_taker *out);
    void (*close)(void *ctx, struct import_taker *taker);
    /* Under a lock. */
    void (*bad)(void *ctx, const char *path, const struct source_line *line,
                struct slice why);
    void (*progress)(void *ctx, const struct import_totals *t); /* some a s */
    void (*ended)(void *ctx, const struct import_file *file);
    void *ctx;
    struct cancel cancel; /* asked after each block */
};

/* '*totals' is what was taken, also after a failure: then the error tells of
 * the first one.  Files behind it may have been taken too. */
MUST_CHECK enum status
import_run(struct import *m, struct import_totals *totals, struct error *e);
