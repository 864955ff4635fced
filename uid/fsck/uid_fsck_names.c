/* The UID table, both ways: each id is looked up by its name, each name by its
 * id. */
#include "uid/fsck/uid_fsck_priv.h"

/* All entries of the kind that is looked at. */
static enum status
each(struct tables *t, char what, check_entry_fn *f, struct error *e)
{
    uint8_t key[UID_KEY_MAX];

    (void)uid_key(t->layout, t->names.kind, what, 0, key);
    return check_each(t, slice_of(key, 3), f, e);
}

static struct slice
name_of(struct slice key)
{
    return slice_of(key.data + 3, key.size - 3);
}

static bool
is_id_entry(const struct tables *t, struct slice key, uint64_t *id)
{
    if (key.size != 3 + t->names.width)
        return false;
    *id = key_get_uint(key.data + 3, t->names.width);
    return *id != 0;
}

static bool
is_name_entry(const struct tables *t, struct slice key, struct slice value,
              uint64_t *id)
{
    if (key.size == 3 || value.size != t->names.width + 4)
        return false;
    *id = key_get_uint(value.data, t->names.width);
    return *id != 0;
}

static void
add_id(struct tables *t, uint64_t id)
{
    uint64_t *highest = &t->highest[t->names.kind];

    numbers_add(&t->ids[t->names.kind], id);
    if (id > *highest)
        *highest = id;
}

static enum status
take_counter(struct tables *t, struct slice key, struct slice value,
             struct error *e)
{
    (void)e;
    if (key.size == 3 && value.size == 8)
        t->names.counter = key_get_uint(value.data, 8);
    else
        check_drops_bad(t, "uid-entry", key, value, "a counter of %zu bytes",
                        value.size);
    return ST_OK;
}

/* Does its name lead back to it? */
static enum status
take_id(struct tables *t, struct slice key, struct slice name, struct error *e)
{
    const char *kind = uid_kind_name(t->names.kind);
    struct log_quoted quoted = log_quote_bytes(name);
    struct buf forward = BUF_INIT, value = BUF_INIT;
    uint8_t entry[12] = { 0 };
    uint64_t id, other;
    enum status st;

    t->n.names++;
    if (!is_id_entry(t, key, &id))
        return check_drops_bad(t, "uid-entry", key, name,
                               "the key of an id of %s has %zu bytes", kind,
                               key.size);
    add_id(t, id);
    if (name.size == 0) {
        numbers_add(&t->deleted[t->names.kind], id);
        return ST_OK;
    }
    buf_make_room(&forward, 3 + name.size); /* a lack of it is no damage */
    buf_put_slice(&forward, slice_of(key.data, 2));
    buf_put_u8(&forward, 'n');
    buf_put_slice(&forward, name);
    st = kv_get(t->kv, buf_slice(&forward), &value, e);
    if (st == ST_NOT_FOUND ||
        (st == ST_OK &&
         !is_name_entry(t, buf_slice(&forward), buf_slice(&value), &other))) {
        /* When it was given is not known. */
        key_put_uint(entry, id, t->names.width);
        check_puts(t, buf_slice(&forward), slice_of(entry, t->names.width + 4));
        check_found(t->c, "uid-no-id", key, "it leads there again",
                    "the name %s of %s does not lead back to its id",
                    quoted.text, kind);
        st = ST_OK;
    } else if (st == ST_OK && other != id) {
        check_drops(t, key, name);
        check_puts(t, key, slice_of("", 0));
        check_found(t->c, "uid-two-ids", key, "the id counts as deleted",
                    "the name %s of %s leads to another id", quoted.text, kind);
    }
    buf_fini(&forward);
    buf_fini(&value);
    return st;
}

/* Has its id this name?  Ids that only names know of are in use as well. */
static enum status
take_name(struct tables *t, struct slice key, struct slice value,
          struct error *e)
{
    const char *kind = uid_kind_name(t->names.kind);
    struct log_quoted quoted = log_quote_bytes(name_of(key));
    struct buf name = BUF_INIT;
    uint8_t bytes[UID_KEY_MAX];
    struct slice back;
    uint64_t id;
    enum status st;

    if (!is_name_entry(t, key, value, &id))
        return check_drops_bad(t, "uid-entry", key, value,
                               "the entry of a name of %s has %zu bytes", kind,
                               value.size);
    add_id(t, id);
    back = uid_key(t->layout, t->names.kind, 'i', id, bytes);
    st = kv_get(t->kv, back, &name, e);
    if (st == ST_NOT_FOUND) {
        check_puts(t, back, name_of(key));
        check_found(t->c, "uid-no-name", key, "it has it again",
                    "the id of the name %s of %s has no name", quoted.text,
                    kind);
        st = ST_OK;
    } else if (st == ST_OK && !slice_eq(buf_slice(&name), name_of(key)))
        check_drops_bad(t, "uid-two-names", key, value,
                        "the id of the name %s of %s has another one",
                        quoted.text, kind);
    buf_fini(&name);
    return st;
}

/* The mark of an id whose name was deleted. */
static enum status
take_deleted(struct tables *t, struct slice key, struct slice value,
             struct error *e)
{
    uint64_t id;

    (void)e;
    if (!is_id_entry(t, key, &id) || value.size > 0)
        check_drops_bad(t, "uid-entry", key, value,
                        "the mark of a deleted name of %s has %zu bytes",
                        uid_kind_name(t->names.kind), key.size);
    else if (!numbers_have(&t->deleted[t->names.kind], id))
        check_drops_bad(t, "uid-entry", key, value,
                        "an id of %s is marked as deleted and has a name",
                        uid_kind_name(t->names.kind));
    return ST_OK;
}

/* What lies between. */
static enum status
take_other(struct tables *t, struct slice key, struct slice value,
           struct error *e)
{
    (void)e;
    if (key.size < 3 ||
        memchr(UID_KIND_BYTES, key.data[1], UID_KINDS_ALL) == NULL ||
        memchr("cdin", key.data[2], 4) == NULL)
        check_drops_bad(t, "uid-entry", key, value,
                        "neither a name nor an id nor a counter");
    return ST_OK;
}

enum status
check_names(struct tables *t, struct error *e)
{
    uint8_t key[UID_KEY_MAX];
    enum status st = ST_OK;

    for (int kind = 0; kind < UID_KINDS_ALL && st == ST_OK; kind++) {
        t->names = (struct names){ .kind = (enum uid_kind)kind };
        t->names.width = uid_key_width(t->layout, t->names.kind);
        st = each(t, 'c', take_counter, e);
        if (st == ST_OK)
            st = each(t, 'i', take_id, e);
        if (st == ST_OK)
            st = each(t, 'n', take_name, e);
        if (st == ST_OK)
            st = each(t, 'd', take_deleted, e);
        /* Metrics may have ids at random, far above; whoever counts looks
         * whether they are taken. */
        if (st != ST_OK || kind == UID_METRIC ||
            t->names.counter >= t->highest[kind])
            continue;
        (void)uid_key(t->layout, t->names.kind, 'c', 0, key);
        check_puts_counter(t, t->names.kind, t->highest[kind]);
        check_found(
            t->c, "uid-counter", slice_of(key, 3), "set to the highest id",
            "the counter of %s says %llu, and there is an id %llu",
            uid_kind_name(t->names.kind), (unsigned long long)t->names.counter,
            (unsigned long long)t->highest[kind]);
    }
    return st == ST_OK ? check_each(t, KEY_TABLE(TABLE_UID), take_other, e)
                       : st;
}
