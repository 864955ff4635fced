#include "base/table.h"

#include "base/mem.h"
#include "base/obj.h"

#define FIRST_SLOTS 16

void
table_fini(struct hash_table *t)
{
    free(t->slots);
    *t = (struct hash_table){ 0 };
}

static void
insert(struct hash_table *t, struct table_slot s)
{
    size_t at = s.hash & t->mask;

    while (t->slots[at].value != 0)
        at = (at + 1) & t->mask;
    t->slots[at] = s;
}

static bool
is_full(const struct hash_table *t)
{
    return t->slots == NULL || (t->len + 1) * 4 > (t->mask + 1) * 3;
}

static size_t
grown_len(const struct hash_table *t)
{
    return t->slots == NULL ? FIRST_SLOTS : 2 * (t->mask + 1);
}

/* 'slots' are 'len' empty ones, a power of two. */
static void
move_into(struct hash_table *t, struct table_slot *slots, size_t len)
{
    struct hash_table old = *t;

    t->slots = slots;
    t->mask = len - 1;
    for (size_t i = 0; old.slots != NULL && i <= old.mask; i++)
        if (old.slots[i].value != 0)
            insert(t, old.slots[i]);
    free(old.slots);
}

static void
put(struct hash_table *t, uint64_t hash, uint32_t i)
{
    INSIST(i < TABLE_NONE);
    insert(t, (struct table_slot){ (uint32_t)hash, i + 1 });
    t->len++;
}

bool
table_try_add(struct hash_table *t, uint64_t hash, uint32_t i)
{
    if (is_full(t)) {
        size_t len = grown_len(t);
        struct table_slot *slots = mem_try_array(len, sizeof *slots);

        if (slots == NULL)
            return false;
        move_into(t, slots, len);
    }
    put(t, hash, i);
    return true;
}

void
table_add(struct hash_table *t, uint64_t hash, uint32_t i)
{
    if (is_full(t)) {
        size_t len = grown_len(t);

        move_into(t, mem_new_array(len, sizeof(struct table_slot)), len);
    }
    put(t, hash, i);
}

void
table_remove(struct hash_table *t, uint64_t hash, uint32_t i)
{
    size_t hole = (uint32_t)hash & t->mask;

    INSIST(t->slots != NULL);
    while (t->slots[hole].value != i + 1) {
        INSIST(t->slots[hole].value != 0);
        hole = (hole + 1) & t->mask;
    }
    /* Those behind it that stand there only because it was taken move up. */
    for (size_t at = (hole + 1) & t->mask; t->slots[at].value != 0;
         at = (at + 1) & t->mask)
        if (((at - t->slots[at].hash) & t->mask) >= ((at - hole) & t->mask)) {
            t->slots[hole] = t->slots[at];
            hole = at;
        }
    t->slots[hole] = (struct table_slot){ 0 };
    t->len--;
}
