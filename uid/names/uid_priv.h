/* The inside of the UID table.
 *
 *     uid.c         reads
 *     uid_assign.c  ids for names
 *     uid_change.c  names renamed and deleted, and what others must hear
 *     uid_deleted.c the ids whose names were deleted
 *
 * Threads: 'lock' is held by whoever changes the table, across one WAL
 *          append; readers take none. */
#pragma once

#include <stdatomic.h>

#include "base/process/lock.h"
#include "uid/names/uid.h"
#include "uid/names/uid_cache_priv.h"
#include "uid/names/uid_events.h"

#define UID_MAGIC    FOURCC('U', 'I', 'D', 'T')
#define UID_NAME_MAX 32767 /* bytes */

struct uid_state {
    unsigned width;
    /* The counter: what was given out in order; on shared engines also what
     * some process has for its next names.  Written under the lock. */
    _Atomic uint64_t highest;
    /* 'highest' when the table was opened, or at the last uid_age_ids(). */
    _Atomic uint64_t aged;
    /* Ids for the next names, both included; on shared engines a block that
     * this process took from the counter.  Under the lock. */
    uint64_t next, end;
    uint64_t block;   /* how many the last time */
    int64_t block_us; /* and when */
    _Atomic uint64_t hits, misses, rejected;
};

struct uid_table {
    uint32_t magic;
    struct store *store;
    char *specials; /* UTF-8, or NULL */
    bool random_metrics;
    uid_allow_fn *allow; /* NULL: all names may have an id */
    void *allow_ctx;
    bool shared; /* other processes write to the engine, too */
    const struct uid_events *events; /* NULL: there are no others */
    struct uid_cache *cache;
    struct lock lock;
    struct rwlock deleted_lock;
    struct uid_ids deleted[UID_KINDS_ALL] GUARDED_BY(deleted_lock);
    _Atomic size_t deleted_len; /* of all kinds */
    _Atomic uint64_t changes;   /* written under the lock, after the store */
    _Atomic int64_t marks_until_us; /* uid_expect_marks() */
    struct uid_state kinds[UID_KINDS_ALL];
};

/* <'u'> <kind> 'n' <name> */
void uid_key_name(enum uid_kind kind, struct slice name, struct buf *out);

/* What is kept under a name: <id> <created_s:4>. */
#define UID_ENTRY_MAX 12
struct slice uid_entry(const struct uid_table *u, enum uid_kind kind,
                       uint64_t id, uint32_t created_s,
                       uint8_t out[UID_ENTRY_MAX]);
MUST_CHECK enum status uid_parse_entry(struct uid_table *u, enum uid_kind kind,
                                       struct slice value, uint64_t *id,
                                       uint32_t *created_s, struct error *e);
/* From the store.  ST_NOT_FOUND without a text. */
MUST_CHECK enum status uid_read_entry(struct uid_table *u, enum uid_kind kind,
                                      struct slice name, uint64_t *id,
                                      uint32_t *created_s, struct error *e);

/* The same for those that have no id yet, by one read of the engine. */
MUST_CHECK enum status uid_lookup_many(struct uid_table *u, enum uid_kind kind,
                                       struct uid_wanted *wanted, size_t len,
                                       struct error *e);
/* The counter as it stands in the engine. */
MUST_CHECK enum status uid_read_counter(struct uid_table *u, enum uid_kind kind,
                                        uint64_t *out, struct error *e);
/* Gives back what is left of blocks, at the end. */
void uid_drop_blocks(struct uid_table *u);

/* For uid_validate_name(). */
extern const char *const uid_what_names[UID_KINDS_ALL];

/* Reads the marks of deleted ids from the store. */
MUST_CHECK enum status uid_deleted_load(struct uid_table *u, enum uid_kind kind,
                                        struct error *e);
/* Remembers an id whose name was deleted. */
void uid_deleted_note(struct uid_table *u, enum uid_kind kind, uint64_t id);

/* The largest id that fits. */
uint64_t uid_max(const struct uid_table *u, enum uid_kind kind);

/* Looks in the cache, then in the store.  ST_NOT_FOUND without a text. */
MUST_CHECK enum status uid_lookup(struct uid_table *u, enum uid_kind kind,
                                  struct slice name, uint64_t *id,
                                  struct error *e);
