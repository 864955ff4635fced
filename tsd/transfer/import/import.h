/* Imports files: reads them as blocks of lines, hands these to what takes them,
 * a store of this process or a server, and keeps account.
 *
 *     files -> source -> [import_check] -> taker -> durable -> journal
 *
 * Owns:    its threads, one a file at a time.
 * Bounds:  a block of lines for each thread; as OpenTSDB, also
 *          tsd/transfer/import/import_check.h.
 * Threads: import_run(): one at a time; callbacks as they say.
 * Fails:   ST_INVALID: a bad line, where that is the end; ST_BUSY: cancelled,
 *          journals are written; what source.h and takers say. */
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
    bool opentsdb;    /* OpenTSDB's rules for files and lines; one thread */
    bool any_order;   /* of these, not that the times of a series rise */
    bool stop_at_bad; /* nothing behind a bad line is stored */
    size_t threads;   /* at most; 0: a CPU each */
    const char *journal_of; /* which store it is; NULL: no journals */
    uint64_t journal_from;  /* files of so many bytes have one */
    /* For each thread one. */
    bool (*open)(void *ctx, struct import_taker *out, struct error *e);
    void (*close)(void *ctx, struct import_taker *taker);
    /* Under a lock. */
    void (*bad)(void *ctx, const char *path, const struct source_line *line,
                struct slice why);
    /* What bad() wrote survives a power cut; or NULL. */
    enum status (*sync_bad)(void *ctx, struct error *e);
    void (*progress)(void *ctx, const struct import_totals *t); /* some a s */
    void (*began)(void *ctx, const char *path, uint64_t resumed_at);
    void (*ended)(void *ctx, const struct import_file *file);
    void *ctx;
    struct cancel cancel; /* asked after each block */
};

/* '*totals' is what was taken, also after a failure: then the error tells of
 * the first one.  Files behind it may have been taken too. */
MUST_CHECK enum status
import_run(struct import *m, struct import_totals *totals, struct error *e);
