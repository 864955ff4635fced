#include "query/answer/group.h"

#include "base/hash.h"
#include "query/model/query.h"

struct name {
    uint64_t id; /* id x kinds + kind; ids start at 1, so 0 is free */
    struct slice text;
};

void
names_init(struct names *n, struct uid_table *uids, struct arena *a)
{
    *n = (struct names){ .uids = uids, .arena = a };
}

/* Ids are counted up by the server, so a client cannot choose them to collide.
 */
static size_t
slot_of(const struct names *n, uint64_t id)
{
    size_t at = (size_t)hash_u64(id);

    for (at &= n->cap - 1; n->slots[at].id != 0 && n->slots[at].id != id;)
        at = (at + 1) & (n->cap - 1);
    return at;
}

static bool
grow(struct names *n)
{
    struct name *old = n->slots;
    size_t len = n->cap, cap = len == 0 ? 32 : len * 4;
    struct name *slots = arena_array(n->arena, cap, sizeof *slots);

    if (slots == NULL)
        return false;
    n->slots = slots;
    n->cap = cap;
    for (size_t i = 0; i < len; i++)
        if (old[i].id != 0)
            n->slots[slot_of(n, old[i].id)] = old[i];
    return true;
}

enum status
names_get(struct names *n, enum uid_kind kind, uint64_t id, struct slice *out,
          struct error *e)
{
    uint64_t key = id * UID_KINDS + (uint64_t)kind;
    size_t at;
    enum status status;

    if (n->len * 2 >= n->cap && !grow(n))
        return error_no_memory(e);
    at = slot_of(n, key);
    if (n->slots[at].id == key) {
        *out = n->slots[at].text;
        return ST_OK;
    }
    status = uid_name_dup(n->uids, kind, id, n->arena, out, e);
    if (status != ST_OK)
        return status;
    n->slots[at] = (struct name){ key, *out };
    n->len++;
    return ST_OK;
}
