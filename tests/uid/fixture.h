/* A store with what uid/ keeps in it, in memory or in a folder of its own. */
#pragma once

#include "storage/store/store.h"
#include "tests/harness.h"
#include "tests/tempdir.h"
#include "uid/meta/annotation.h"
#include "uid/meta/meta.h"
#include "uid/series/series.h"
#include "uid/names/uid.h"

struct fixture {
    char *dir; /* NULL: in memory */
    struct store_options store_options;
    struct uid_options uid_options;
    struct store *store;
    struct uid_table *uids;
    struct series_directory *series;
    struct records *records;
};

/* Reports the text of a failure. */
#define OK(call)                                              \
    do {                                                      \
        struct error e = { 0 };                               \
        enum status st_ = (call);                             \
                                                              \
        ck_assert_msg(st_ == ST_OK, "%s: %s", #call, e.text); \
    } while (0)

/* Checks both the status and the text. */
#define FAILS(call, status_, text_)          \
    do {                                     \
        struct error e = { 0 };              \
                                             \
        ck_assert_int_eq((call), (status_)); \
        ck_assert_str_eq(e.text, (text_));   \
    } while (0)

static inline void
fixture_open(struct fixture *f)
{
    OK(store_open(&f->store_options, &f->store, &e));
    OK(uid_open(f->store, &f->uid_options, &f->uids, &e));
    OK(series_open(f->store, f->uids, &f->series, &e));
    OK(records_open(f->store, f->uids, f->series, &f->records, &e));
}

static inline void
fixture_close(struct fixture *f)
{
    records_close(&f->records);
    series_close(&f->series);
    uid_close(&f->uids);
    OK(store_close(&f->store, &e));
}

/* In memory, with the tag-key set given. */
static inline struct fixture
fixture_new(struct key_layout layout)
{
    struct fixture f = { .store_options.layout = layout };

    fixture_open(&f);
    return f;
}

/* In a folder, so that it can be closed and opened again. */
static inline struct fixture
fixture_new_on_disk(void)
{
    struct fixture f = { .dir = tempdir_new(),
                         .store_options.layout = KEY_LAYOUT_DEFAULT };

    f.store_options.dir = f.dir;
    f.store_options.sync = WAL_SYNC_OFF;
    fixture_open(&f);
    return f;
}

static inline void
fixture_free(struct fixture *f)
{
    fixture_close(f);
    if (f->dir != NULL)
        tempdir_free(&f->dir);
}

static const struct key_layout layout_default = KEY_LAYOUT_DEFAULT;
