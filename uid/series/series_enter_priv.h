/* What series_enter() works on, for series_enter.c and series_events.c. */
#pragma once

#include "uid/series/series_priv.h"
#include "uid/series/tagk_sets.h"

/* A series that is to be entered.
 *
 *     ASKED -> FOUND      it has an entry
 *     ASKED -> ENTERED    its entry was written by this call
 *     SAME                'same' is the same series, which comes first */
struct asked {
    struct series_entry *entry;
    struct asked *same;
    struct asked *next; /* of the same set */
    enum { ASKED, SAME, FOUND, ENTERED } state;
    bool is_absent; /* ASKED: the engine had no entry when it was read */
    bool is_marked; /* ASKED: by a purge, on a shared engine; it is counted */
    struct slice mark; /* the entry, if it is marked */
    struct asked_set *set;
    unsigned bucket;           /* salt bucket */
    struct slice key, set_key; /* its own, and that of the set */
};

/* A tag-key set and salt bucket of some of these series. */
struct asked_set {
    struct asked *first;
    uint64_t metric;
    uint64_t count;  /* as read last, and then with the series added */
    uint64_t added;  /* series: admitted, or in the batch that is written */
    uint64_t marked; /* series of which the mark is taken off */
    bool news;       /* it counted more than was known here */
    bool counted;    /* it has an entry in the engine, as read last */
    uint8_t old[8];  /* the bytes of 'count' that the engine must have */
    struct slice old_value;
    size_t part; /* index of its batch, of those that are written */
};

struct asking {
    struct series_directory *d;
    struct asked *all; /* in the caller's order */
    size_t len;
    struct arena *bytes;    /* of keys and values */
    struct asked_set *sets; /* by salt bucket */
    size_t sets_len;
    uint32_t created_s;       /* the creation time of those that are entered */
    uint64_t entered, purged; /* those of the directory before it was read */
};

/* Tells the other processes of the series that were entered, and of those that
 * were found and that others may not know yet.  Returns when they have heard.
 */
MUST_CHECK enum status series_announce(const struct asking *q, struct error *e);
