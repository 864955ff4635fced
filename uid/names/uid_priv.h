/* The inside of the UID table, shared by uid.c (reads) and uid_assign.c
 * (writes).
 *
 * Threads: 'lock' is held by whoever changes the table, across one WAL
 *          append; readers take none. */
#pragma once

#include <stdatomic.h>

#include "base/lock.h"
#include "uid/names/uid.h"
#include "uid/names/uid_cache_priv.h"

#define UID_MAGIC    FOURCC('U', 'I', 'D', 'T')
#define UID_NAME_MAX 32767 /* bytes */

struct uid_state {
    unsigned width;
    _Atomic uint64_t highest; /* given out in order; written under the lock */
    uint64_t opened;          /* 'highest' when the table was opened */
    _Atomic uint64_t hits, misses;
};

struct uid_table {
    uint32_t magic;
    struct store *store;
    char *specials; /* UTF-8, or NULL */
    bool random_metrics;
    struct uid_cache *cache;
    struct lock lock;
    struct uid_state kinds[UID_KINDS_ALL];
};

/* <'u'> <kind> 'n' <name> */
void uid_key_name(enum uid_kind kind, struct slice name, struct buf *out);

/* What is kept under a name: <id> <created_s:4>. */
#define UID_ENTRY_MAX 12
struct slice uid_entry(const struct uid_table *u, enum uid_kind kind,
                       uint64_t id, uint32_t created_s,
                       uint8_t out[UID_ENTRY_MAX]);
MUST_CHECK enum status uid_parse_entry(const struct uid_table *u,
                                       enum uid_kind kind, struct slice value,
                                       uint64_t *id, uint32_t *created_s,
                                       struct error *e);
/* From the store.  ST_NOT_FOUND without a text. */
MUST_CHECK enum status uid_read_entry(struct uid_table *u, enum uid_kind kind,
                                      struct slice name, uint64_t *id,
                                      uint32_t *created_s, struct error *e);

/* The largest id that fits. */
uint64_t uid_max(const struct uid_table *u, enum uid_kind kind);

/* Looks in the cache, then in the store.  ST_NOT_FOUND without a text. */
MUST_CHECK enum status uid_lookup(struct uid_table *u, enum uid_kind kind,
                                  struct slice name, uint64_t *id,
                                  struct error *e);
