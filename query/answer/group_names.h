/*
 * The names of ids, as one query meets them again and again: each is looked up
 * once, without a lock or a copy from then on.
 *
 * Owns:    the names lie in the arena.
 * Threads: owner.
 */
#ifndef QUERY_ANSWER_GROUP_NAMES_H
#define QUERY_ANSWER_GROUP_NAMES_H

#include "base/buf.h"
#include "uid/names/uid.h"

struct names {
    struct uid_table *uids;
    struct arena *arena;
    struct name *slots; /* a hash table */
    size_t len, cap;    /* 'cap' is a power of two */
    struct buf text;    /* of the one that is looked up */
};

void names_init(struct names *n, struct uid_table *uids, struct arena *a);
void names_fini(struct names *n);

/* As uid_name(), in the arena. */
MUST_CHECK enum status names_get(struct names *n, enum uid_kind kind,
                                 uint64_t id, struct slice *out,
                                 struct error *e);

#endif
