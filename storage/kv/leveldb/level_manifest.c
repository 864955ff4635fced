#include "storage/kv/leveldb/level_manifest.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/mem.h"
#include "storage/kv/leveldb/level_bytes.h"
#include "storage/kv/leveldb/level_files.h"

enum field {
    FIELD_COMPARATOR = 1,
    FIELD_LOG = 2,
    FIELD_NEXT_FILE = 3,
    FIELD_LAST_SEQUENCE = 4,
    FIELD_COMPACT_POINTER = 5,
    FIELD_DELETED_TABLE = 6,
    FIELD_NEW_TABLE = 7,
    FIELD_EARLIER_LOG = 9,
};

static void
add_table(struct level_version *v, struct cursor *c)
{
    struct level_table t;

    (void)cursor_varint(c); /* the level */
    t.number = cursor_varint(c);
    t.size = cursor_varint(c);
    (void)cursor_sized(c);
    (void)cursor_sized(c);
    v->tables = mem_grow(v->tables, v->len, &v->cap, sizeof t);
    v->tables[v->len++] = t;
}

static void
drop_table(struct level_version *v, struct cursor *c)
{
    uint64_t number;

    (void)cursor_varint(c);
    number = cursor_varint(c);
    for (size_t i = 0; i < v->len; i++)
        if (v->tables[i].number == number) {
            v->tables[i] = v->tables[--v->len];
            return;
        }
}

static void
apply_field(struct level_version *v, uint64_t field, struct cursor *c)
{
    switch (field) {
    case FIELD_LOG:
        v->log = cursor_varint(c);
        break;
    case FIELD_EARLIER_LOG:
        v->earlier = cursor_varint(c);
        break;
    case FIELD_NEXT_FILE:
    case FIELD_LAST_SEQUENCE:
        (void)cursor_varint(c);
        break;
    case FIELD_COMPARATOR:
        (void)cursor_sized(c);
        break;
    case FIELD_COMPACT_POINTER:
        (void)cursor_varint(c);
        (void)cursor_sized(c);
        break;
    case FIELD_DELETED_TABLE:
        drop_table(v, c);
        break;
    case FIELD_NEW_TABLE:
        add_table(v, c);
        break;
    default:
        c->failed = true;
    }
}

/* An edit may move a table to another level: it is named twice then, as gone
 * and as new, in this order. */
static bool
apply(struct level_version *v, struct slice edit)
{
    struct cursor c = cursor_of(edit);

    while (!c.failed && cursor_left(&c) > 0)
        apply_field(v, cursor_varint(&c), &c);
    return !c.failed;
}

bool
level_history_add(struct level_history *h, struct slice edit)
{
    (void)apply(&h->before, buf_slice(&h->last));
    buf_clear(&h->last);
    buf_make_room(&h->last, edit.size); /* a lack of it is no damage */
    buf_put_slice(&h->last, edit);
    return apply(&h->now, edit);
}

void
level_history_fini(struct level_history *h)
{
    free(h->now.tables);
    free(h->before.tables);
    buf_fini(&h->last);
    *h = (struct level_history){ .last = BUF_INIT };
}

bool
level_version_needs(const struct level_version *v, uint64_t log)
{
    return log >= v->log || (log != 0 && log == v->earlier);
}

static bool
is_there(const char *dir, enum level_file file, uint64_t number)
{
    char *path = level_file_path(dir, file, number);
    /* What cannot be looked at is not known to be gone. */
    bool there = access(path, F_OK) == 0 || errno != ENOENT;

    free(path);
    return there;
}

static bool
has_tables(const struct level_version *v, const char *dir)
{
    for (size_t i = 0; i < v->len; i++)
        if (!is_there(dir, LEVEL_FILE_TABLE, v->tables[i].number))
            return false;
    return true;
}

bool
level_history_is_ahead(const struct level_history *h, const char *dir)
{
    const struct level_version *v = &h->before;

    return !has_tables(&h->now, dir) && v->log != 0 &&
           is_there(dir, LEVEL_FILE_LOG, v->log) &&
           (v->earlier == 0 || is_there(dir, LEVEL_FILE_LOG, v->earlier)) &&
           has_tables(v, dir);
}

void
level_history_back(struct level_history *h)
{
    free(h->now.tables);
    h->now = h->before;
    h->before = (struct level_version){ 0 };
    buf_clear(&h->last);
}

void
level_edit_start(struct buf *edit, uint64_t next_file, uint64_t newest)
{
    buf_put_varint(edit, FIELD_COMPARATOR);
    buf_put_sized(edit, slice_str("leveldb.BytewiseComparator"));
    buf_put_varint(edit, FIELD_LOG);
    buf_put_varint(edit, 0);
    buf_put_varint(edit, FIELD_NEXT_FILE);
    buf_put_varint(edit, next_file);
    buf_put_varint(edit, FIELD_LAST_SEQUENCE);
    buf_put_varint(edit, newest);
}

void
level_edit_table(struct buf *edit, const struct level_table *t,
                 struct slice first, struct slice last)
{
    buf_put_varint(edit, FIELD_NEW_TABLE);
    buf_put_varint(edit, 0); /* the level */
    buf_put_varint(edit, t->number);
    buf_put_varint(edit, t->size);
    buf_put_sized(edit, first);
    buf_put_sized(edit, last);
}
