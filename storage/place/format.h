/* The FORMAT file and its copy, FORMAT.1, which say what a folder is: a store,
 * of which version, with keys of which key layout (docs/FORMAT.md, "FORMAT
 * file"). It is read before anything else in the folder is touched.  And the
 * LOCK file, which keeps a second process out.
 *
 *     format_lock -> format_read -> ST_OK, complete: open what is there
 *                         |-> ST_OK, not complete: a creation was cut short,
 *                         |   before anything was acknowledged: go on with it
 *                         `-> ST_NOT_FOUND: format_new, format_write, make the
 *                             engine and the WAL, complete = true,
 *                             format_write
 *
 * So a complete store whose engine is missing is rejected, not made anew.
 *
 * Threads: any; these are functions of their arguments.
 * Fails:   ST_IO; ST_CORRUPT for another version and a damaged file; each
 *          with a sentence for the operator. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "storage/row/key.h"

/* The format that this program reads and writes. */
#define FORMAT_VERSION 3
#define FORMAT_ID_SIZE 33

struct format {
    unsigned version;
    bool complete; /* everything was made; never create again */
    bool damaged;  /* one of the two files does not check: write both again */
    bool unread;   /* and it may be whole: it could not be read */
    struct key_layout layout;
    char id[FORMAT_ID_SIZE]; /* 32 hex digits, drawn at creation, and a NUL */
    /* Of a pool: the hours of rows that one object holds, a multiple of
     * row_hours; 0 in a folder. */
    unsigned window_hours;
};

/* A new identity, not complete. */
void format_new(struct format *out, const struct key_layout *layout);

/* The text, without a checksum; and back: ST_CORRUPT for all but what
 * format_print() writes.  'where' names it in the errors. */
void format_print(const struct format *f, struct buf *out);
MUST_CHECK enum status format_parse(struct buf *text, const char *where,
                                    struct format *out, struct error *e);

/* Reads FORMAT, or the copy, FORMAT.1, when FORMAT is absent or damaged.
 * ST_NOT_FOUND when both are absent, or the folder is.  When one could not be
 * read, 'e' says why, also on ST_OK. */
MUST_CHECK enum status format_read(const char *dir, struct format *out,
                                   struct error *e);

/* Replaces both files, the copy first, each all or nothing; durable when it
 * returns. */
MUST_CHECK enum status format_write(const char *dir, const struct format *f,
                                    struct error *e);

/* Two locks hold a folder: one of the folder itself, which nothing but the end
 * of its process takes away, and one of the file LOCK in it, which older
 * programs look at and which tells the pid. */
struct format_lock {
    int folder, file; /* -1: not held */
};
#define FORMAT_NOT_LOCKED \
    {                     \
        -1, -1            \
    }

/* Takes the folder for this process.  '*lock' holds it until format_unlock(),
 * or until the process ends, however it ends.  On a file system that is
 * read-only the folder's own lock is enough.  If root runs the process and
 * another user owns the folder, the whole process continues as that user:
 * ST_IO if it may not. */
MUST_CHECK enum status format_lock(const char *dir, struct format_lock *lock,
                                   struct error *e);
/* Writes a line behind the pid, for who wants to ask the process that has the
 * folder; reads it, without the newline: "" when there is none. */
#define FORMAT_NOTE_MAX 200
void format_lock_note(const struct format_lock *lock, const char *note);
void format_lock_read(const char *dir, char note[FORMAT_NOTE_MAX]);
/* Returns whether a process holds the folder, even if LOCK was deleted. */
bool format_is_locked(const char *dir);
/* Releases the lock. Does nothing if it is not held. */
void format_unlock(struct format_lock *lock);
