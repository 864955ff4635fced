/* See storage/kv/leveldb/level_manifest.h.  The file consists of blocks of
 * 32 KB with records in them, which one edit may span:
 *
 *     record    <masked crc32c:4> <length:2> <type:1> <bytes>
 *     type      1 a whole edit, or its 2 first, 3 middle, 4 last chunk
 *
 * Less than seven bytes at the end of a block are unused. */
#include "storage/kv/leveldb/level_manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/cursor.h"
#include "base/file/durable.h"
#include "base/file/file.h"
#include "base/mem.h"
#include "base/process/crash.h"
#include "base/process/log.h"
#include "base/text/number.h"
#include "storage/kv/leveldb/level_bytes.h"
#include "storage/kv/leveldb/level_files.h"

/* -- records --------------------------------------------------------------- */

#define BLOCK_SIZE  ((size_t)32768)
#define HEADER_SIZE ((size_t)7)

enum chunk { CHUNK_NONE, CHUNK_WHOLE, CHUNK_FIRST, CHUNK_MIDDLE, CHUNK_LAST };

/* The chunk at 'at', or CHUNK_NONE if there is none that checks. */
static enum chunk
chunk_at(struct slice file, size_t at, struct slice *bytes)
{
    size_t left = BLOCK_SIZE - at % BLOCK_SIZE, size;
    const uint8_t *p = file.data + at;

    if (left > file.size - at)
        left = file.size - at;
    if (left < HEADER_SIZE)
        return CHUNK_NONE;
    size = level_number(p + 4, 2);
    if (p[6] < CHUNK_WHOLE || p[6] > CHUNK_LAST || size > left - HEADER_SIZE ||
        level_mask(crc32c(slice_of(p + 6, size + 1))) != level_number(p, 4))
        return CHUNK_NONE;
    *bytes = slice_of(p + HEADER_SIZE, size);
    return (enum chunk)p[6];
}

/* Reads the record at 'at' and returns where it ends, or 0 if there is no whole
 * one. */
static size_t
read_record(struct slice file, size_t at, struct buf *record)
{
    bool inside = false;
    enum chunk chunk;

    buf_clear(record);
    do {
        size_t left = BLOCK_SIZE - at % BLOCK_SIZE;
        struct slice bytes;

        if (left < HEADER_SIZE)
            at += left;
        chunk = at > file.size ? CHUNK_NONE : chunk_at(file, at, &bytes);
        if (chunk == CHUNK_NONE ||
            inside != (chunk == CHUNK_MIDDLE || chunk == CHUNK_LAST))
            return 0;
        buf_put_slice(record, bytes);
        at += HEADER_SIZE + bytes.size;
        inside = true;
    } while (chunk == CHUNK_FIRST || chunk == CHUNK_MIDDLE);
    return at;
}

/* Does a record begin anywhere behind 'at'?  Then what is at 'at' was whole
 * once, and is damaged. */
static bool
record_follows(struct slice file, size_t at)
{
    struct slice bytes;

    while (++at < file.size) {
        enum chunk chunk = chunk_at(file, at, &bytes);

        if (chunk == CHUNK_WHOLE || chunk == CHUNK_FIRST)
            return true;
    }
    return false;
}

/* -- edits ----------------------------------------------------------------- */

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

static struct level_table *
find_table(const struct level_manifest *m, uint64_t number)
{
    for (size_t i = 0; i < m->len; i++)
        if (m->tables[i].number == number)
            return &m->tables[i];
    return NULL;
}

bool
level_manifest_names(const struct level_manifest *m, uint64_t number)
{
    return find_table(m, number) != NULL;
}

static void
drop_table(struct level_manifest *m, struct cursor *c)
{
    struct level_table *t;

    (void)cursor_varint(c); /* the level */
    t = find_table(m, cursor_varint(c));
    if (t != NULL)
        *t = m->tables[--m->len];
}

/* What the edits up to some place of the file say. */
struct history {
    struct level_manifest *m;
    size_t end;      /* of the last whole edit */
    size_t last;     /* where that begins */
    bool names_log;  /* LevelDB needs one that does */
    bool understood; /* each of them is an edit */
    bool no_memory;
};

static void
apply_field(struct history *h, uint64_t field, struct cursor *c)
{
    struct level_table t;

    switch (field) {
    case FIELD_LOG:
        h->names_log = true;
        (void)cursor_varint(c);
        break;
    case FIELD_NEXT_FILE:
    case FIELD_LAST_SEQUENCE:
    case FIELD_EARLIER_LOG:
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
        drop_table(h->m, c);
        break;
    case FIELD_NEW_TABLE:
        (void)cursor_varint(c); /* the level */
        t.number = cursor_varint(c);
        t.size = cursor_varint(c);
        (void)cursor_sized(c); /* the first key, and the last */
        (void)cursor_sized(c);
        h->m->tables = mem_grow(h->m->tables, h->m->len, &h->m->cap, sizeof t);
        h->m->tables[h->m->len++] = t;
        break;
    default:
        c->failed = true;
    }
}

/* An edit may move a table to another level: it is named twice then, as deleted
 * and as new, in this order. */
static void
apply_edits(struct slice file, struct history *h)
{
    struct buf edit = BUF_INIT;
    size_t next;

    h->end = h->last = h->m->len = 0;
    h->names_log = h->no_memory = false;
    h->understood = true;
    while (h->end < file.size &&
           (next = read_record(file, h->end, &edit)) != 0) {
        struct cursor c = cursor_of(buf_slice(&edit));

        h->no_memory |= edit.failed;
        while (!c.failed && cursor_left(&c) > 0)
            apply_field(h, cursor_varint(&c), &c);
        h->understood &= !c.failed;
        h->last = h->end;
        h->end = next;
    }
    buf_fini(&edit);
}

/* -- states ---------------------------------------------------------------- */

static bool
has_tables(const struct level_manifest *m, const char *dir)
{
    bool all = true;

    for (size_t i = 0; i < m->len && all; i++) {
        char *path = level_table_path(dir, m->tables[i].number);

        /* What cannot be looked at is not known to be gone. */
        all = access(path, F_OK) == 0 || errno != ENOENT;
        free(path);
    }
    return all;
}

/* The last edit may be cut off if what is left is a version that can be opened.
 */
static bool
can_cut(struct slice file, const char *dir, struct history *h)
{
    apply_edits(file, h);
    return h->understood && h->names_log && has_tables(h->m, dir);
}

static void
judge(struct slice file, const char *dir, struct history *h)
{
    struct level_manifest *m = h->m;
    size_t last;
    bool whole;

    apply_edits(file, h);
    whole = h->end == file.size;
    last = whole ? h->last : h->end;
    m->at = last;
    if (!h->understood || (whole && !h->names_log) ||
        (!whole && record_follows(file, last)))
        m->state = MANIFEST_DAMAGED;
    else if (whole && has_tables(m, dir))
        m->state = MANIFEST_GOOD;
    else if (can_cut(slice_of(file.data, last), dir, h))
        m->state = MANIFEST_TORN;
    else if (whole) /* tables are missing, but not for want of a sync */
        apply_edits(file, h);
    else
        m->state = MANIFEST_DAMAGED;
    if (m->state != MANIFEST_GOOD)
        m->text = "an edit is damaged, incomplete or ahead of its tables";
}

static enum status
find_manifest(const char *dir, struct level_manifest *m, struct error *e)
{
    static const char start[] = "MANIFEST-";
    char *path = files_path(dir, "CURRENT");
    struct buf text = BUF_INIT;
    enum status st = file_read(path, 32, &text, e);
    struct slice s = buf_slice(&text);
    size_t n = sizeof start - 1;
    uint64_t number;

    m->path = path;
    if (text.failed)
        st = error_set(e, ST_IO, "no memory to read '%s'", path);
    else if (st == ST_OK && slice_starts(s, slice_str(start)) &&
             s.data[s.size - 1] == '\n' &&
             number_parse_u64(slice_of(s.data + n, s.size - n - 1), &number)) {
        text.data[s.size - 1] = '\0';
        m->path = files_path(dir, (const char *)text.data);
        free(path);
    } else if (st == ST_OK || st == ST_LIMIT || st == ST_NOT_FOUND) {
        m->state = MANIFEST_UNNAMED;
        m->text = "it names no MANIFEST";
        st = ST_OK;
    }
    buf_fini(&text);
    return st;
}

enum status
level_manifest_read(const char *dir, struct level_manifest *out,
                    struct error *e)
{
    struct history h = { .m = out };
    struct buf file = BUF_INIT;
    enum status st;

    *out = (struct level_manifest){ .state = MANIFEST_GOOD };
    st = find_manifest(dir, out, e);
    if (st != ST_OK || out->state == MANIFEST_UNNAMED)
        return st;
    st = file_read(out->path, SIZE_MAX, &file, e);
    out->size = file.size;
    if (st == ST_NOT_FOUND) {
        out->state = MANIFEST_DAMAGED;
        out->text = "it is missing";
        st = ST_OK;
    } else if (st == ST_OK)
        judge(buf_slice(&file), dir, &h);
    if (st == ST_OK && h.no_memory)
        st = error_set(e, ST_LIMIT, "no memory to read '%s'", out->path);
    buf_fini(&file);
    return st;
}

void
level_manifest_fini(struct level_manifest *m)
{
    free(m->path);
    free(m->tables);
    *m = (struct level_manifest){ .state = MANIFEST_GOOD };
}

/* -- before a start -------------------------------------------------------- */

enum status
level_manifest_prepare(const char *dir, struct error *e)
{
    struct level_manifest m;
    enum status st = level_manifest_read(dir, &m, e);

    if (st == ST_OK && m.state == MANIFEST_TORN) {
        int fd = open(m.path, O_RDWR | O_CLOEXEC);

        log_warn("storage",
                 "%s: cut off %" PRIu64 " bytes at offset %" PRIu64
                 ", an edit that was being written when power failed",
                 m.path, m.size - m.at, m.at);
        if (fd < 0 || ftruncate(fd, (off_t)m.at) != 0) {
            st = error_set(e, ST_IO, "cannot cut '%s': %m", m.path);
        } else {
            crash_point("open-engine-cut");
            st = files_sync_fd(fd, m.path, e);
        }
        if (fd >= 0)
            (void)close(fd);
    } else if (st == ST_OK && m.state != MANIFEST_GOOD)
        st = error_set(e, ST_CORRUPT,
                       "'%s' is damaged at offset %" PRIu64
                       ": %s (see: halite fsck)",
                       m.path, m.at, m.text);
    level_manifest_fini(&m);
    return st;
}
