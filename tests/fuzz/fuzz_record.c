/* Records of the WAL, whole by their checksums and with arbitrary bytes
 * inside: a store replays or rejects them, and flushes what it took.
 *
 *     { <type> <size:2> <payload> }... */
#include "storage/store/store_priv.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/obj.h"
#include "storage/scan/store_scan.h"
#include "storage/wal/wal_files.h"
#include "storage/wal/wal_priv.h"
#include "tests/fuzz/target.h"
#include "tests/tempdir.h"

static void
write_file(const char *dir, struct slice bytes)
{
    char name[WAL_NAME_SIZE];
    char *path;
    int fd;

    wal_name(1, name);
    path = tempdir_path(dir, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    INSIST(fd >= 0);
    INSIST(write(fd, bytes.data, bytes.size) == (ssize_t)bytes.size);
    (void)close(fd);
    free(path);
}

static void
put_records(struct buf *file, struct cursor c)
{
    uint8_t header[WAL_SEGMENT_HEADER], head[WAL_RECORD_HEADER];
    uint32_t file_key = wal_segment_header(1, 0, header);
    struct buf bundle = BUF_INIT;

    while (cursor_left(&c) > 3) {
        uint8_t type = (uint8_t)(cursor_u8(&c) % 4 + 1);
        size_t left, want = cursor_u16(&c);
        struct slice payload;

        left = cursor_left(&c);
        payload = cursor_bytes(&c, want < left ? want : left);
        buf_put_u8(&bundle, type);
        buf_put_sized(&bundle, payload);
    }
    wal_record_header(WAL_BUNDLE, buf_slice(&bundle), head);
    wal_record_mask(head, file_key);
    buf_put(file, header, sizeof header);
    buf_put(file, head, sizeof head);
    buf_put_slice(file, buf_slice(&bundle));
    buf_fini(&bundle);
}

static void
check_series(struct store *s, size_t size)
{
    struct store_counts c = store_counts(s);
    struct error e = { 0 };
    struct point p;
    struct slice tsuid = slice_of("\0\0\1\0\0\1\0\0\1", 9);
    enum status st;

    INSIST(c.head_points <= size * 64);
    st = store_last(s, tsuid, INT64_MAX, &p, &e);
    INSIST(st == ST_OK || st == ST_NOT_FOUND);
    INSIST(st != ST_OK || p.ts_ms >= 0);
    INSIST(store_flush(s, &e) == ST_OK);
    INSIST(store_counts(s).head_points == 0);
}

FUZZ_TARGET(data, size)
{
    struct store_options o = { .layout = KEY_LAYOUT_DEFAULT };
    struct wal_options jo = { .sync = WAL_SYNC_OFF };
    char *dir;
    struct buf file = BUF_INIT;
    struct error e = { 0 };
    struct store *s;
    enum status st;

    if (access("/dev/shm", W_OK) == 0) /* syncs to a disk take their time */
        (void)setenv("TMPDIR", "/dev/shm", 0);
    dir = tempdir_new();
    put_records(&file, cursor_of(slice_of(data, size)));
    write_file(dir, buf_slice(&file));
    jo.medium = wal_files_new(dir);
    INSIST(store_open(&o, &s, &e) == ST_OK);
    /* A store in memory has no WAL; it gets one for the replay alone. */
    INSIST(wal_open(&jo, &s->wal, &e) == ST_OK);
    st = store_replay(s, &e);
    INSIST(st == ST_OK || (st == ST_CORRUPT && e.text[0] != '\0'));
    INSIST(wal_close(&s->wal, &e) == ST_OK);
    INSIST(s->wal == NULL);
    if (st == ST_OK)
        check_series(s, size);
    INSIST(store_close(&s, &e) == ST_OK);
    buf_fini(&file);
    tempdir_free(&dir);
    return 0;
}
