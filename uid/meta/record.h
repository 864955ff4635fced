/* Records of annotations, metadata and trees: a struct whose members a table
 * lists, as bytes, in the store, and as JSON (tsd/transfer/json).
 *
 *     <version:1> <member>...
 *
 * All kinds of them share one handle and one lock: what they change is rare.
 *
 * Owns:    what is handed out is in the caller's arena.
 * Threads: any; the lock is held from the reading of a record to its rewriting,
 *          across one WAL append. */
#pragma once

#include <stdatomic.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/process/lock.h"
#include "storage/store/store.h"
#include "uid/series/series.h"

/* A text may be JSON's null, which is not the empty one: it has no bytes, not
 * even none of them. */
static inline bool
annotation_is_null(struct slice text)
{
    return text.data == NULL;
}

struct text_pairs {
    struct tag *pairs; /* keys unique, values may be null */
    size_t len;
    bool has; /* false: null; an empty map is something else */
};

enum record_member {
    RECORD_BOOL,
    RECORD_BYTE,         /* an enum */
    RECORD_INT,          /* int64_t, as a zigzag varint */
    RECORD_UINT,         /* int64_t from 0 on, as a varint */
    RECORD_DOUBLE,       /* its bits */
    RECORD_TEXT,         /* struct slice: varint size + 1, bytes */
    RECORD_TEXT_OR_NULL, /* the same; 0: null */
    RECORD_PAIRS, /* struct text_pairs: varint number + 1, 0: null; texts */
};

struct record_field {
    const char *name; /* in JSON: "displayName" */
    size_t offset;
    enum record_member type;
    unsigned bit; /* by which a caller names it; 0: it does not */
};

#define RECORD(type, record, member, name, bit)                      \
    {                                                                \
        name, offsetof(struct record, member), RECORD_##type, (bit), \
    }

/* How a record is changed: members outside 'fields' keep their stored values
 * (POST), or are emptied with 'overwrite' (PUT). */
struct record_change {
    unsigned fields;
    bool overwrite;
    struct arena *arena; /* of what is read */
};

struct record_format {
    const char *what; /* "tree rule" */
    const char *type; /* of a line of JSON: "rule" */
    const struct record_field *fields;
    size_t len;
};

/* Of all the texts of one together. */
#define RECORD_BYTES ((size_t)1 << 20)

void record_encode(const struct record_format *f, const void *record,
                   struct buf *out);
/* Texts are lent from 'bytes', pairs are in the arena; other members stay.
 * ST_CORRUPT, ST_LIMIT. */
MUST_CHECK enum status record_decode(const struct record_format *f,
                                     struct slice bytes, struct arena *arena,
                                     void *out, struct error *e);

/* The bits of those that have a value: not 0, not empty. */
unsigned record_given(const struct record_format *f, const void *record);
/* Copies members with a bit in 'bits'. */
void record_merge(const struct record_format *f, void *to, const void *from,
                  unsigned bits);

struct records {
    uint32_t magic;
    struct store *store;
    struct uid_table *uids;
    struct series_directory *series;
    struct lock lock;
    /* Of the change at hand: the exclusive part, since when, and whether it
     * began. */
    uint64_t ticket GUARDED_BY(lock);
    int64_t begun_us GUARDED_BY(lock);
    struct error begun GUARDED_BY(lock);
    atomic_bool annotated; /* a note was there at the start, or came since */
    atomic_bool announced; /* of the first one all others know */
};

MUST_CHECK enum status records_open(struct store *s, struct uid_table *u,
                                    struct series_directory *d,
                                    struct records **out, struct error *e);
void records_close(struct records **r);

/* There are annotations from now on: the others hear of the first one before it
 * is written. */
MUST_CHECK enum status records_annotate(struct records *r, struct error *e);

/* From the store, with a copy of the bytes in the arena.  ST_NOT_FOUND without
 * a text. */
MUST_CHECK enum status record_read(struct records *r, struct slice key,
                                   const struct record_format *f,
                                   struct arena *arena, void *out,
                                   struct error *e);
/* Into a batch; ST_LIMIT past RECORD_BYTES. */
MUST_CHECK enum status record_put(struct kv_batch *b, struct slice key,
                                  const struct record_format *f,
                                  const void *record, struct error *e);

/* The batch of a change, which is made under the lock; where others share the
 * engine, one process at a time makes one. */
struct kv_batch *change_begin(struct records *r) ACQUIRE(r->lock);
/* Writes the batch, if 'st' is ST_OK and there is something in it, and waits
 * for it behind the lock.  ST_BUSY, and nothing is written, when the change did
 * not have the engine alone from its beginning to here. */
MUST_CHECK enum status change_end(struct records *r, struct kv_batch *b,
                                  enum status st, struct error *e)
    RELEASE(r->lock);

/* Writes records of a batch as they stand, whatever was there: imports.
 * Visible when it returns, durable as far as store_commit('*lsn') says. */
MUST_CHECK enum status records_restore(struct records *r, struct kv_batch *b,
                                       uint64_t *lsn, struct error *e);

/* What a daemon does with the events of the others over its engine
 * (uid/names/uid_events.h): all that it has in memory of names, series and
 * annotations hears of them here.  Nothing here waits for the engine, nor for a
 * lock that is held across one of its calls.
 *
 * Writes what the sender asks for to 'answer'; only UID_EVENT_PURGE does.
 * ST_CORRUPT for a payload that no daemon sends: then uid_events_missed() is
 * due, as for an event that is not known. */
MUST_CHECK enum status uid_events_hear(struct records *r, unsigned kind,
                                       struct slice payload, struct buf *answer,
                                       struct error *e);
/* Events may have been missed: memory is dropped, and read anew from the engine
 * when it is asked for. */
void uid_events_missed(struct records *r);
