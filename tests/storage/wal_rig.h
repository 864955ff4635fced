/* What the tests of the WAL share: a folder, its files as bytes, and short
 * forms of calls that must go well. */
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/process/log.h"
#include "storage/wal/wal_files.h"
#include "storage/wal/wal_priv.h"
#include "tests/harness.h"
#include "tests/tempdir.h"

/* -- a folder of its own -------------------------------------------------- */

static char *dir; /* of the case that runs */

static inline void
setup(void)
{
    log_set_level(LOG_ERROR);
    dir = tempdir_new();
}

static inline void
teardown(void)
{
    tempdir_free(&dir);
}

static inline struct buf
path_of(uint64_t segment)
{
    char name[WAL_NAME_SIZE];
    struct buf b = BUF_INIT;

    wal_name(segment, name);
    buf_printf(&b, "%s/%s", dir, name);
    return b;
}

static inline struct buf
file_read(uint64_t segment)
{
    struct buf path = path_of(segment), b = BUF_INIT;
    FILE *f = fopen(buf_cstr(&path), "rb");
    uint8_t chunk[4096];
    size_t n;

    ck_assert_msg(f != NULL, "no %s", buf_cstr(&path));
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0)
        buf_put(&b, chunk, n);
    (void)fclose(f);
    buf_fini(&path);
    return b;
}

static inline void
file_write(uint64_t segment, struct slice bytes)
{
    struct buf path = path_of(segment);
    FILE *f = fopen(buf_cstr(&path), "wb");

    ck_assert_ptr_nonnull(f);
    if (bytes.size > 0)
        ck_assert_uint_eq(fwrite(bytes.data, 1, bytes.size, f), bytes.size);
    ck_assert_int_eq(fclose(f), 0);
    buf_fini(&path);
}

/* Leaves nothing but one segment. */
static inline void
folder_fill(uint64_t segment, struct slice bytes)
{
    for (uint64_t i = 1; i <= segment + 2; i++) {
        struct buf path = path_of(i);

        (void)unlink(buf_cstr(&path));
        buf_fini(&path);
    }
    file_write(segment, bytes);
}

/* -- short forms ---------------------------------------------------------- */

static inline struct wal *
open_with(struct wal_options o)
{
    struct wal *wal = NULL;
    struct error e = { 0 };

    ck_assert_msg(wal_open(&o, &wal, &e) == ST_OK, "%s", e.text);
    return wal;
}

static inline struct wal *
open_off(void)
{
    return open_with((struct wal_options){ .medium = wal_files_new(dir),
                                           .sync = WAL_SYNC_OFF });
}

static inline void
close_ok(struct wal **wal)
{
    struct error e = { 0 };

    ck_assert_msg(wal_close(wal, &e) == ST_OK, "%s", e.text);
    ck_assert_ptr_null(*wal);
}

static inline uint64_t
append(struct wal *wal, uint8_t type, const char *text)
{
    uint64_t lsn = 0;
    struct error e = { 0 };

    ck_assert_msg(wal_wait_for_room(wal, &e) == ST_OK, "%s", e.text);
    ck_assert_msg(wal_append(wal, 0, type, slice_str(text), &lsn, &e) == ST_OK,
                  "%s", e.text);
    return lsn;
}

static inline void
commit(struct wal *wal, uint64_t lsn, bool sync)
{
    struct error e = { 0 };

    ck_assert_msg(wal_commit(wal, lsn, sync, &e) == ST_OK, "%s", e.text);
}

/* "segment:type:payload " of each record. */
static inline enum status
note(void *ctx, uint64_t segment, uint8_t type, struct slice payload,
     struct error *e)
{
    buf_printf(ctx, "%d:%d:%.*s ", (int)segment, type, SLICE_ARG(payload));
    return ST_OK;
}

static inline void
expect_replay(struct wal *wal, const char *expected)
{
    struct buf b = BUF_INIT;
    struct error e = { 0 };

    ck_assert_msg(wal_replay(wal, note, &b, &e) == ST_OK, "%s", e.text);
    ck_assert_str_eq(buf_cstr(&b), expected);
    buf_fini(&b);
}

/* Opens and replays: the status, and the records that came before it. */
static inline enum status
reopen(struct buf *records, struct error *e)
{
    const struct wal_options o = { .medium = wal_files_new(dir),
                                   .sync = WAL_SYNC_OFF };
    struct wal *wal;
    enum status st = wal_open(&o, &wal, e);

    buf_clear(records);
    if (st != ST_OK)
        return st;
    st = wal_replay(wal, note, records, e);
    close_ok(&wal);
    return st;
}
