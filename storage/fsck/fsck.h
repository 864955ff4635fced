/* Looks at the files of a store's folder as they lie, without opening the
 * store: FORMAT, the WAL, the engine's log, tables and manifest.  And repairs
 * them so far that it can be opened.  What is in the tables is looked at by
 * uid/fsck/uid_fsck.h.
 *
 *     format_lock -> check_files -> (a copy) -> check_files, with 'aside' ->
 *     store_open
 *
 * Whatever is wrong goes to check->say(), as a finding with a code that
 * stays the same; what is not wrong but worth a line, as a note.
 *
 * Threads: owner.  The caller has the folder's lock.
 * Fails:   ST_IO when something cannot be looked at.  Damage is a finding, no
 *          failure. */
#pragma once

#include "base/error.h"
#include "base/slice.h"

struct finding {
    const char *code;     /* "row-block" */
    struct slice key;     /* of the engine; empty: it is about a file */
    const char *text;     /* what is wrong with it, and where it lies */
    const char *repaired; /* what was done about it; NULL: nothing */
    bool is_note;         /* nothing is wrong */
};

struct check {
    void (*say)(void *ctx, const struct finding *f);
    void *ctx;
    const char *aside; /* a folder: what is damaged goes there; NULL: only
                          looks, and changes nothing */
    /* What is of a series of which a name was deleted: a finding; and a repair
     * takes it out, with all else that the series has. */
    bool finds_orphans, drops_orphans;
    bool again; /* another round of repairs: what stays was told before */
    uint64_t found, repaired;
    uint64_t files, bytes; /* looked at */
    bool rejected;         /* store_open() will not open it as it is */
};

/* 'repaired' as in struct finding; without c->aside nothing is repaired.
 * Always ST_OK. */
enum status check_found(struct check *c, const char *code, struct slice key,
                        const char *repaired, const char *fmt, ...)
    PRINTF_LIKE(5, 6);
void check_note(struct check *c, const char *code, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* With c->aside it repairs what it finds; what it replaces or cuts off goes
 * there. */
MUST_CHECK enum status check_files(const char *dir, struct check *c,
                                   struct error *e);
