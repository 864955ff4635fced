#include "tsd/admin/fsck.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "storage/place/datadir.h"
#include "storage/place/format.h"

#define SCRATCH "/fsck.tmp"
#define ROUNDS \
    4 /* of repairing: one may bring to light what the next repairs */

static char *
scratch_of(const char *dir)
{
    size_t size = strlen(dir) + sizeof SCRATCH;
    char *path = mem_new(size);

    (void)snprintf(path, size, "%s" SCRATCH, dir);
    return path;
}

static enum status
lock(const struct fsck *f, struct format_lock *lock, struct error *e)
{
    struct format format;
    struct error why;

    *lock = (struct format_lock)FORMAT_NOT_LOCKED;
    /* Nothing is written into a folder that is no store. */
    if (format_read(f->dir, &format, &why) == ST_NOT_FOUND)
        return error_set(e, ST_INVALID, "%s", why.text);
    return f->is_held ? ST_OK : format_lock(f->dir, lock, e);
}

/* Everything is in the engine when this has opened it. */
static enum status
open_store(const char *dir, struct store **out, struct error *e)
{
    const struct store_options o = {
        .no_summaries = true, /* nothing changes while it is checked */
        .dir = dir,
        .layout = KEY_LAYOUT_DEFAULT,
        .sync = WAL_SYNC_OFF,
        .min_free_bytes = 1,
    };
    enum status st = store_open(&o, out, e);

    return st == ST_OK ? store_flush(*out, e) : st;
}

static enum status
look_at_tables(const char *dir, struct check *c, struct check_counts *counts,
               struct error *e)
{
    struct store *s = NULL;
    enum status st = open_store(dir, &s, e), closed;

    if (st == ST_OK)
        st = check_tables(s, c, counts, e);
    closed = store_close(&s, st == ST_OK ? e : NULL);
    return st == ST_OK ? closed : st;
}

/* The tables as they would be after a start. */
static enum status
look_in_scratch(struct fsck *f, struct check *c, struct error *e)
{
    bool is_read_only = folder_is_read_only(f->dir);
    char *scratch = is_read_only ? NULL : scratch_of(f->dir);
    const struct slice no_key = { NULL, 0 };
    struct error why;
    enum status st;

    if (is_read_only) {
        st = folder_shadow(f->dir, &scratch, e);
    } else {
        st = folder_delete(scratch, e);
        if (st == ST_OK)
            st = folder_copy(f->dir, scratch, true, e);
    }
    if (st == ST_OK) {
        st = look_at_tables(scratch, c, &f->counts, &why);
        f->looked_at_all = st == ST_OK;
        if (st == ST_CORRUPT) {
            check_found(c, "store-rejected", no_key, NULL, "%s", why.text);
            st = ST_OK;
        } else if (st != ST_OK)
            (void)error_set(e, st, "%s", why.text);
    }
    if (scratch != NULL &&
        folder_delete(scratch, st == ST_OK ? e : NULL) != ST_OK && st == ST_OK)
        st = ST_IO;
    free(scratch);
    return st;
}

static void
take_results(struct fsck *f, const struct check *c)
{
    f->found = c->found;
    f->repaired = c->repaired;
    f->files = c->files;
    f->bytes = c->bytes;
}

static enum status
look(struct fsck *f, struct error *e)
{
    struct check c = { .say = f->say, .ctx = f->ctx };
    enum status st;

    f->looked_at_all = false;
    st = check_files(f->dir, &c, e);
    if (st == ST_OK && !c.rejected)
        st = look_in_scratch(f, &c, e);
    take_results(f, &c);
    return st;
}

enum status
fsck_look(struct fsck *f, struct error *e)
{
    struct format_lock held;
    enum status st = lock(f, &held, e);

    if (st == ST_OK)
        st = look(f, e);
    format_unlock(&held);
    return st;
}

static void
say_nothing(void *ctx, const struct finding *f)
{
}

enum status
fsck_repair(struct fsck *f, const char *copy, const char *aside,
            struct error *e)
{
    struct check c = { .say = f->say, .ctx = f->ctx, .aside = aside };
    struct fsck silent = { .dir = f->dir, .say = say_nothing };
    struct format_lock held;
    enum status st = lock(f, &held, e);

    if (st == ST_OK)
        st = look(&silent, e);
    if (st == ST_OK && silent.found > 0) {
        st = folder_copy(f->dir, copy, true, e);
        if (st == ST_OK) {
            /* The store takes the lock by itself. */
            st = check_files(f->dir, &c, e);
            format_unlock(&held);
            for (int round = 0; round < ROUNDS && st == ST_OK; round++) {
                uint64_t before = c.repaired;

                c.again = round > 0;
                st = look_at_tables(f->dir, &c, &f->counts, e);
                if (c.repaired == before)
                    break;
            }
            f->looked_at_all = st == ST_OK;
        }
        take_results(f, &c);
    } else {
        silent.say = f->say;
        silent.ctx = f->ctx;
        *f = silent;
    }
    format_unlock(&held);
    return st;
}

enum status
fsck_store(struct fsck *f, struct store *s, const char *aside, struct error *e)
{
    struct check c = { .say = f->say, .ctx = f->ctx, .aside = aside };
    enum status st = ST_OK;
    uint64_t before;

    for (int round = 0; round < ROUNDS && st == ST_OK; round++) {
        before = c.repaired;
        c.again = round > 0;
        st = check_tables(s, &c, &f->counts, e);
        if (c.repaired == before)
            break;
    }
    f->looked_at_all = st == ST_OK;
    take_results(f, &c);
    return st;
}
