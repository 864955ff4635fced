#include "uid/names/uid_marks.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/process/clock.h"
#include "uid/names/uid_priv.h"

#define IN_FLIGHT_US (INT64_C(60) * 1000 * 1000)

/* -- expecting marks ------------------------------------------------------- */

void
uid_expect_marks(struct uid_table *u, int64_t until_us)
{
    int64_t now = atomic_load(&u->marks_until_us);

    while (now < until_us &&
           !atomic_compare_exchange_weak(&u->marks_until_us, &now, until_us))
        ;
}

bool
uid_expects_marks(const struct uid_table *u)
{
    OBJ_CHECK(u, UID_MAGIC);
    return clock_monotonic_us() < atomic_load(&u->marks_until_us);
}

void
uid_expect_no_marks(struct uid_table *u)
{
    OBJ_CHECK(u, UID_MAGIC);
    atomic_store(&u->marks_until_us, clock_monotonic_us() + IN_FLIGHT_US);
}

/* -- entries --------------------------------------------------------------- */

/* The entry of a name as it was read. */
struct read_entry {
    struct buf key;
    struct slice value; /* in an arena; data NULL: there is none */
    uint64_t id;
    uint32_t created_s;
};

/* Entries whose key is empty are not read. */
static enum status
read_entries(struct uid_table *u, enum uid_kind kind, struct arena *a,
             struct read_entry *entries, size_t len, struct error *e)
{
    struct slice *keys = mem_new_array(len, sizeof *keys);
    struct slice *values = mem_new_array(len, sizeof *values);
    enum status st;

    for (size_t i = 0; i < len; i++)
        keys[i] = buf_slice(&entries[i].key);
    st = kv_read_many(store_kv(u->store), keys, len, a, values, e);
    for (size_t i = 0; i < len && st == ST_OK; i++) {
        struct read_entry *x = &entries[i];

        x->value = values[i];
        if (x->value.data != NULL)
            st = uid_parse_entry(u, kind, x->value, &x->id, &x->created_s, e);
    }
    free(values);
    free(keys);
    return st;
}

static void
free_entries(struct read_entry *entries, size_t len)
{
    for (size_t i = 0; i < len; i++)
        buf_fini(&entries[i].key);
    free(entries);
}

/* -- keeping names --------------------------------------------------------- */

enum status
uid_keep_names(struct uid_table *u, enum uid_kind kind, const uint64_t *ids,
               size_t len, bool *gone, struct error *e)
{
    struct read_entry *entries = mem_new_array(len, sizeof *entries);
    struct slice *names = mem_new_array(len, sizeof *names);
    struct arena *a = arena_new(0);
    uint8_t bytes[UID_ENTRY_MAX];
    bool again = true;
    enum status st = uid_name_many(u, kind, ids, len, a, names, e);

    OBJ_CHECK(u, UID_MAGIC);
    if (st == ST_NOT_FOUND)
        st = ST_OK;
    for (size_t i = 0; i < len; i++)
        uid_key_name(kind, names[i], &entries[i].key);
    while (st == ST_OK && again) {
        again = false;
        st = read_entries(u, kind, a, entries, len, e);
        for (size_t i = 0; i < len && st == ST_OK; i++) {
            struct read_entry *x = &entries[i];

            gone[i] = names[i].data == NULL || x->value.data == NULL ||
                      x->id != ids[i];
            if (gone[i] || !uid_is_mark(x->created_s))
                continue;
            st = kv_swap(
                store_kv(u->store), buf_slice(&x->key), &x->value,
                uid_entry(u, kind, x->id, clock_now_s(&clock_system), bytes),
                e);
            if (st == ST_CONFLICT) { /* it has changed since it was read */
                again = true;
                st = ST_OK;
            }
        }
    }
    arena_free(&a);
    free(names);
    free_entries(entries, len);
    return st;
}

/* -- marking and removing -------------------------------------------------- */

/* Each entry is a batch of its own: one that has changed keeps no other. */
static enum status
change_entries(struct uid_table *u, const struct uid_marking *m,
               const struct read_entry *entries, struct error *e)
{
    uint32_t now_s = clock_now_s(&clock_system);
    struct kv_expected *expected = mem_new_array(m->len, sizeof *expected);
    struct kv_guarded *parts = mem_new_array(m->len, sizeof *parts);
    struct kv_batch **batches =
        mem_new_array(m->len, sizeof(struct kv_batch *));
    size_t *of = mem_new_array(m->len, sizeof *of), n = 0;
    uint8_t bytes[UID_ENTRY_MAX];
    enum status st;

    for (size_t i = 0; i < m->len; i++) {
        const struct read_entry *x = &entries[i];
        struct slice key = buf_slice(&x->key);
        struct kv_batch *b;

        if (x->value.data == NULL || x->id != m->names[i].id ||
            (m->what != UID_MARK && x->created_s != m->mark))
            continue;
        batches[n] = b = kv_batch_new();
        if (m->what == UID_REMOVE)
            kv_batch_delete(b, key);
        else
            kv_batch_put(b, key,
                         uid_entry(u, m->kind, x->id,
                                   m->what == UID_MARK ? m->mark : now_s,
                                   bytes));
        expected[n] = (struct kv_expected){ key, &x->value };
        parts[n] = (struct kv_guarded){ b, &expected[n], 1, ST_OK };
        of[n++] = i;
    }
    st = kv_write_if_many(store_kv(u->store), parts, n, e);
    for (size_t i = 0; i < n; i++) {
        m->names[of[i]].done = st == ST_OK && parts[i].status == ST_OK;
        kv_batch_free(&batches[i]);
    }
    free(of);
    free(batches);
    free(parts);
    free(expected);
    return st;
}

enum status
uid_mark_names(struct uid_table *u, const struct uid_marking *m,
               struct error *e)
{
    struct read_entry *entries = mem_new_array(m->len, sizeof *entries);
    struct arena *a = arena_new(0);
    enum status st;

    OBJ_CHECK(u, UID_MAGIC);
    for (size_t i = 0; i < m->len; i++) {
        m->names[i].done = false;
        uid_key_name(m->kind, m->names[i].name, &entries[i].key);
    }
    st = read_entries(u, m->kind, a, entries, m->len, e);
    if (st == ST_OK)
        st = change_entries(u, m, entries, e);
    free_entries(entries, m->len);
    arena_free(&a);
    return st;
}
