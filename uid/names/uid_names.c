#include "uid/names/uid_names.h"

#include "base/mem.h"
#include "base/obj.h"
#include "uid/names/uid_priv.h"

#define NAMES_MAGIC FOURCC('U', 'I', 'D', 'N')

struct uid_names {
    uint32_t magic;
    struct uid_table *u;
    enum uid_kind kind;
    struct buf start; /* what their keys start with */
    struct kv_iter *it;
    bool begun;
    enum status st;
    struct error why;
};

struct uid_names *
uid_names_open(struct uid_table *u, enum uid_kind kind, struct slice prefix)
{
    struct uid_names *n = mem_new(sizeof *n);

    OBJ_CHECK(u, UID_MAGIC);
    n->magic = NAMES_MAGIC;
    n->u = u;
    n->kind = kind;
    if (prefix.size > UID_NAME_MAX)
        return n;
    uid_key_name(kind, prefix, &n->start);
    n->it = kv_iter_open(store_kv(u->store), KEY_TABLE(TABLE_UID));
    return n;
}

bool
uid_names_next(struct uid_names *n, struct slice *name, uint64_t *id)
{
    uint32_t created_s;
    struct slice key;
    bool on;

    OBJ_CHECK(n, NAMES_MAGIC);
    if (n->it == NULL || n->st != ST_OK)
        return false;
    on = n->begun ? kv_iter_next(n->it)
                  : kv_iter_seek(n->it, buf_slice(&n->start));
    n->begun = true;
    if (!on || !slice_starts(kv_iter_key(n->it), buf_slice(&n->start)))
        return false;
    n->st = uid_parse_entry(n->u, n->kind, kv_iter_value(n->it), id, &created_s,
                            &n->why);
    key = kv_iter_key(n->it);
    *name = slice_of(key.data + 3, key.size - 3);
    return n->st == ST_OK;
}

enum status
uid_names_close(struct uid_names **np, struct error *e)
{
    struct uid_names *n = OBJ_TAKE(np, NAMES_MAGIC);
    enum status st;

    if (n == NULL)
        return ST_OK;
    st = n->st;
    if (st != ST_OK)
        (void)error_set(e, st, "%s", n->why.text);
    if (n->it != NULL)
        st = kv_iter_end(&n->it, st, e);
    buf_fini(&n->start);
    OBJ_FREE(n);
    return st;
}

enum status
uid_suggest(struct uid_table *u, enum uid_kind kind, struct slice prefix,
            size_t max, bool (*f)(void *ctx, struct slice name, uint64_t id),
            void *ctx, struct error *e)
{
    struct uid_names *names = uid_names_open(u, kind, prefix);
    struct slice name;
    uint64_t id;

    for (size_t n = 0; max == 0 || n < max; n++)
        if (!uid_names_next(names, &name, &id) || !f(ctx, name, id))
            break;
    return uid_names_close(&names, e);
}
