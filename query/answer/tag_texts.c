#include "query/answer/tag_texts.h"

#include "base/buf.h"
#include "base/cursor.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/obj.h"
#include "base/process/lock.h"
#include "base/table.h"

#define TEXTS_MAGIC FOURCC('T', 'A', 'G', 'T')

#define TEXT_MAX ((size_t)4096) /* bytes, pairs included; longer: not kept */

/* <size of pairs:varint> <pairs> <size of text:varint> <text> */
struct generation {
    struct hash_table table; /* of records, by where they start */
    struct buf records;
};

struct tag_texts {
    uint32_t magic;
    uint64_t seed;
    size_t max; /* bytes of a generation */
    struct rwlock lock;
    uint64_t epoch GUARDED_BY(lock); /* of all texts */
    struct generation young GUARDED_BY(lock);
    struct generation old GUARDED_BY(lock);
};

/* The young generation becomes the old one. */
static void
age(struct tag_texts *t) REQUIRES(t->lock)
{
    table_fini(&t->old.table);
    buf_fini(&t->old.records);
    t->old = t->young;
    t->young = (struct generation){ 0 };
}

struct tag_texts *
tag_texts_new(size_t max_bytes)
{
    struct tag_texts *t = mem_new(sizeof *t);

    t->magic = TEXTS_MAGIC;
    t->seed = hash_random_seed();
    t->max = max_bytes / 2;
    rwlock_init(&t->lock);
    return t;
}

void
tag_texts_free(struct tag_texts **tp)
{
    struct tag_texts *t = OBJ_TAKE(tp, TEXTS_MAGIC);

    if (t == NULL)
        return;
    rwlock_take_write(&t->lock);
    age(t);
    age(t);
    rwlock_drop_write(&t->lock);
    rwlock_fini(&t->lock);
    OBJ_FREE(t);
}

static struct slice
pairs_at(const struct generation *g, uint32_t at, struct cursor *c)
{
    *c = cursor_of(slice_of(g->records.data + at, g->records.size - at));
    return cursor_sized(c);
}

static bool
pairs_are(const void *generation, uint32_t at, const void *pairs)
{
    struct cursor c;

    return slice_eq(pairs_at(generation, at, &c), *(const struct slice *)pairs);
}

/* The text, where it is kept; empty: unknown. */
static struct slice
find(const struct tag_texts *t, const struct tag_text *one)
    REQUIRES_SHARED(t->lock)
{
    const struct generation *both[] = { &t->young, &t->old };

    for (int i = 0; i < 2; i++) {
        uint32_t at = table_find(&both[i]->table, one->hash, pairs_are, both[i],
                                 &one->pairs);
        struct cursor c;

        if (at == TABLE_NONE)
            continue;
        (void)pairs_at(both[i], at, &c);
        return cursor_sized(&c);
    }
    return (struct slice){ NULL, 0 };
}

/* Epochs only rise: false for one that has passed. */
static bool
enter_epoch(struct tag_texts *t, uint64_t epoch) REQUIRES(t->lock)
{
    if (epoch > t->epoch) {
        age(t);
        age(t);
        t->epoch = epoch;
    }
    return epoch == t->epoch;
}

void
tag_texts_find(struct tag_texts *t, uint64_t epoch, struct tag_text *list,
               size_t len, struct arena *a)
{
    OBJ_CHECK(t, TEXTS_MAGIC);
    for (size_t i = 0; i < len; i++) {
        list[i].text = (struct slice){ NULL, 0 };
        list[i].hash = hash_slice(list[i].pairs, t->seed);
    }
    rwlock_take_read(&t->lock);
    for (size_t i = 0; i < len && t->epoch == epoch; i++)
        if (list[i].pairs.size > 0) {
            list[i].text = find(t, &list[i]);
            if (list[i].text.size > 0 && !arena_keep(a, &list[i].text))
                list[i].text = (struct slice){ NULL, 0 };
        }
    rwlock_drop_read(&t->lock);
}

static bool
is_new(const struct tag_text *one, size_t size_max)
{
    return one->pairs.size > 0 && one->text.size > 0 &&
           one->pairs.size + one->text.size <= size_max;
}

void
tag_texts_add(struct tag_texts *t, uint64_t epoch, const struct tag_text *list,
              size_t len, size_t groups)
{
    size_t size_max = 2 * t->max / groups;

    OBJ_CHECK(t, TEXTS_MAGIC);
    if (size_max > TEXT_MAX)
        size_max = TEXT_MAX;
    while (len > 0 && !is_new(&list[len - 1], size_max))
        len--;
    if (len == 0)
        return;
    rwlock_take_write(&t->lock);
    for (size_t i = 0; i < len && enter_epoch(t, epoch); i++)
        /* Another thread may have been faster. */
        if (is_new(&list[i], size_max) && find(t, &list[i]).size == 0) {
            size_t need =
                list[i].pairs.size + list[i].text.size + 2 * VARINT_MAX;
            uint32_t at;

            if (t->young.records.failed ||
                t->young.records.size + need > t->max)
                age(t);
            at = (uint32_t)t->young.records.size;
            buf_put_sized(&t->young.records, list[i].pairs);
            buf_put_sized(&t->young.records, list[i].text);
            if (t->young.records.failed ||
                !table_try_add(&t->young.table, list[i].hash, at))
                age(t);
        }
    rwlock_drop_write(&t->lock);
}
