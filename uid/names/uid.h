/* The UID table: names of metrics, tagks and tagvs to ids of fixed width, and
 * back (docs/FORMAT.md, "UID table").  Ids start at 1, ascend, and are never
 * used twice.
 *
 *     <'u'> <kind> 'n' <name>   -> id (fixed width), when it was given (4
 * bytes)
 *     <'u'> <kind> 'i' <id>     -> name
 *     <'u'> <kind> 'c'          -> the highest id given out (8 bytes)
 *     <'u'> <kind> 'd' <id>     -> "": its name was deleted
 *
 * Assignments are one logged batch (store_write), made under one lock, so
 * no crash and no race gives a name two ids or an id two names, and no id is
 * less durable than a point that uses it.  On shared engines (kv_traits) ids
 * are taken from the counter, then names claimed, by guarded batches.
 *
 * Names are UTF-8.  Valid are a-z A-Z 0-9 - _ . / any Unicode letter, and the
 * characters of 'allow_specialchars'.
 *
 * Bounds:  two caches, of 'cache_entries' each; a full one drops old entries.
 * Threads: any. */
#pragma once

#include "base/arena.h"
#include "storage/store/store.h"

/* The last one numbers the kinds of rollups, see series_kind(). */
enum uid_kind { UID_METRIC, UID_TAGK, UID_TAGV, UID_ROLLUP };
#define UID_KINDS      3 /* that clients name */
#define UID_KINDS_ALL  4
#define UID_KIND_BYTES "mkvp" /* in keys */

/* <'u'> <kind> <what> <id>; 'what' is 'i', or 'c' or 'n' for the first three
 * bytes of a key. */
#define UID_KEY_MAX (3 + 8)
struct slice uid_key(const struct key_layout *w, enum uid_kind kind, char what,
                     uint64_t id, uint8_t out[UID_KEY_MAX]);
unsigned uid_key_width(const struct key_layout *w, enum uid_kind kind);

struct uid_table; /* opaque */

/* May this name, which has no id yet, be given one? */
typedef bool uid_allow_fn(void *ctx, enum uid_kind kind, struct slice name);

struct uid_options {
    size_t cache_entries;           /* 0: 2 million a direction */
    const char *allow_specialchars; /* NULL: none */
    bool random_metrics;            /* tsd.core.uid.random_metrics */
    uid_allow_fn *allow;            /* NULL: all names may */
    void *allow_ctx;
};

MUST_CHECK enum status uid_open(struct store *s, const struct uid_options *o,
                                struct uid_table **out, struct error *e);
void uid_close(struct uid_table **u);

/* "metrics", "tagk", "tagv": how OpenTSDB names the kinds in texts. */
const char *uid_kind_name(enum uid_kind kind);
/* Takes "metric" and "metrics" too. */
bool uid_kind_parse(const char *name, enum uid_kind *out);
unsigned uid_width(const struct uid_table *u, enum uid_kind kind);
/* An id as OpenTSDB prints it: "[0, 0, -1]", signed bytes. */
#define UID_BYTES_TEXT 64
const char *uid_bytes_text(const struct uid_table *u, enum uid_kind kind,
                           uint64_t id, char out[UID_BYTES_TEXT]);

/* 'what' as in `Invalid metric name ("x y"): illegal character:  `. */
MUST_CHECK enum status uid_validate_name(const struct uid_table *u,
                                         const char *what, struct slice name,
                                         struct error *e);

/* Many names for the price of few reads and writes of the engine: each with its
 * id, or 0 where there is none.  Those with 'create' are given one, in their
 * order, unless they are not valid; none of them is there twice. */
struct uid_wanted {
    struct slice name;
    bool create;
    uint64_t id; /* out */
    bool is_new; /* out: it was given now */
};
MUST_CHECK enum status uid_resolve(struct uid_table *u, enum uid_kind kind,
                                   struct uid_wanted *wanted, size_t len,
                                   struct error *e);
/* Does the cache have it? */
bool uid_find_cached(struct uid_table *u, enum uid_kind kind, struct slice name,
                     uint64_t *id);
/* ST_NOT_FOUND with "No such name for 'metrics': 'x'". */
MUST_CHECK enum status uid_find(struct uid_table *u, enum uid_kind kind,
                                struct slice name, uint64_t *id,
                                struct error *e);
/* The same, assigning an id if there is none. The name is validated first. */
MUST_CHECK enum status uid_get_or_create(struct uid_table *u,
                                         enum uid_kind kind, struct slice name,
                                         uint64_t *id, struct error *e);
/* Assigns; ST_INVALID "Name already exists with UID: 000001" when it has one.
 */
MUST_CHECK enum status uid_assign(struct uid_table *u, enum uid_kind kind,
                                  struct slice name, uint64_t *id,
                                  struct error *e);
/* Appends the name.  ST_NOT_FOUND with "No such unique ID for 'metrics':
 * [0, 0, 1]", as OpenTSDB prints it. */
MUST_CHECK enum status uid_name(struct uid_table *u, enum uid_kind kind,
                                uint64_t id, struct buf *out, struct error *e);
/* The names of many ids, which may repeat, with a NUL behind each, in the
 * arena: with few locks, and by one read of the engine those that the cache
 * lacks.  Fails as uid_name() does for the first that has no name; the others
 * are in 'names' even then, and its data is NULL.  ST_LIMIT past the arena's
 * cap. */
MUST_CHECK enum status uid_name_many(struct uid_table *u, enum uid_kind kind,
                                     const uint64_t *ids, size_t len,
                                     struct arena *a, struct slice *names,
                                     struct error *e);
/* A copy in the arena; NULL text and ST_LIMIT past its cap. */
MUST_CHECK enum status uid_name_dup(struct uid_table *u, enum uid_kind kind,
                                    uint64_t id, struct arena *a,
                                    struct slice *out, struct error *e);
/* When the id was given out, seconds since 1970; a new name keeps it.
 * ST_NOT_FOUND as uid_name(). */
MUST_CHECK enum status uid_created(struct uid_table *u, enum uid_kind kind,
                                   uint64_t id, uint32_t *created_s,
                                   struct error *e);
MUST_CHECK enum status uid_rename(struct uid_table *u, enum uid_kind kind,
                                  struct slice old_name, struct slice new_name,
                                  struct error *e);
/* The id is never given out again; points that have it stay where they are, and
 * whoever meets them finds no name.  ST_NOT_FOUND as uid_find(). */
MUST_CHECK enum status uid_delete(struct uid_table *u, enum uid_kind kind,
                                  struct slice name, struct error *e);

/* Was a name of any kind deleted?  This is one load, so that each query can
 * ask.
 */
bool uid_has_deleted(const struct uid_table *u);

/* Ids, ascending. */
struct uid_ids {
    uint64_t *ids;
    size_t len, cap;
};

/* A series is nameless if the name of its metric, or of one of its tag keys or
 * values, was deleted ('uid delete').  Its points are still stored, but answers
 * leave it out, because it cannot be shown by name.  Several threads may call
 * nameless_has() at a time. */
struct nameless {
    bool any; /* was any name deleted? */
    const struct key_layout *layout;
    struct uid_ids ids[UID_KINDS]; /* in an arena */
};
/* Copies the ids whose names are deleted now.  ST_LIMIT past the arena's cap.
 * A name that was deleted without a mark is known only after a read of this
 * name has failed. */
MUST_CHECK enum status nameless_find(struct uid_table *u, struct arena *a,
                                     struct nameless *out, struct error *e);
/* Was the metric's name deleted, or that of a tag key or value? */
bool nameless_has(const struct nameless *n, struct slice tsuid);
/* Returns whether the name of this id was deleted. It makes no copy, and is for
 * callers that failed to read the name. */
bool uid_is_deleted(struct uid_table *u, enum uid_kind kind, uint64_t id);
/* Forgets that the id's name was deleted, because no series has the id any
 * more: answers need not look for it.  The entry in the store goes with 'b'. */
void uid_deleted_forget(struct uid_table *u, enum uid_kind kind, uint64_t id,
                        struct kv_batch *b);

/* Calls f with the names that start with 'prefix', in byte order, at most 'max'
 * of them (0: all), until f returns false. */
MUST_CHECK enum status
uid_suggest(struct uid_table *u, enum uid_kind kind, struct slice prefix,
            size_t max, bool (*f)(void *ctx, struct slice name, uint64_t id),
            void *ctx, struct error *e);

/* The names of one kind in byte order, one at a time, with a cursor of the
 * engine, which must be closed before the table.  ST_IO and ST_CORRUPT come at
 * uid_names_close(); until then the list just ends. */
struct uid_names; /* opaque */

/* Those that start with 'prefix'. */
struct uid_names *uid_names_open(struct uid_table *u, enum uid_kind kind,
                                 struct slice prefix);
/* False at the end.  The name is lent until the next step. */
bool uid_names_next(struct uid_names *n, struct slice *name, uint64_t *id);
MUST_CHECK enum status uid_names_close(struct uid_names **n, struct error *e);

/* Was the id given out since uid_open(), or uid_age_ids(), so that nothing from
 * before has it?  False where ids are random, and on shared engines. */
bool uid_is_fresh(const struct uid_table *u, enum uid_kind kind, uint64_t id);
/* From now on no id that was given out so far is fresh. */
void uid_age_ids(struct uid_table *u);

/* Forgets the names in memory, which are read again when they are needed.
 * Nothing has changed: uid_epoch() stays. */
void uid_shrink_caches(struct uid_table *u);

void uid_drop_caches(struct uid_table *u);

/* Changes with every name that is renamed or deleted, here or (where the engine
 * is shared) elsewhere, and with every drop of the cache: what was concluded
 * from names since the epoch was read holds for as long as it stays. */
uint64_t uid_epoch(const struct uid_table *u);

struct uid_counts {
    uint64_t cache_hits, cache_misses, cache_size;
    uint64_t ids_used, ids_available;
    uint64_t rejected; /* names that 'allow' kept from getting an id */
};
struct uid_counts uid_counts(struct uid_table *u, enum uid_kind kind);

/* -- marks of purges on shared engines (uid/names/uid_marks.h) ------------ */

/* Numbers from 1 to UID_MARKS_END - 1 in the place of a creation time. */
#define UID_MARKS_END (UINT32_C(1) << 28)
static inline bool
uid_is_mark(uint32_t created_s)
{
    return created_s > 0 && created_s < UID_MARKS_END;
}

/* Until this time (monotonic), which only grows, names may be marked: who
 * enters a series calls uid_keep_names().  A process that reads a marked name
 * expects marks for UID_MARKS_US by itself. */
#define UID_MARKS_US INT64_C(21600000000)
void uid_expect_marks(struct uid_table *u, int64_t until_us);
bool uid_expects_marks(const struct uid_table *u);
/* From now on marks are expected only for as long as a thread may take from the
 * look-up of a name to its use. */
void uid_expect_no_marks(struct uid_table *u);
