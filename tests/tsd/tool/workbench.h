/* A database of one's own, and tools run on it whose output is kept. */
#pragma once

#include "tests/harness.h"
#include "tests/tempdir.h"
#include "tsd/database.h"
#include "tsd/tool/run/tool_commands.h"

struct workbench {
    struct settings *settings;
    struct database db;
    struct buf out, err;        /* of the last tool */
    cancelled_fn *is_cancelled; /* of the workbench; or NULL */
};

static inline void
workbench_open(struct workbench *w, const char *dir)
{
    struct error e;

    *w = (struct workbench){ .settings = settings_new() };
    settings_set(w->settings, "halite.store", dir == NULL ? "memory" : dir);
    ck_assert_int_eq(settings_check(w->settings, &e), ST_OK);
    ck_assert_msg(database_open(&w->db, w->settings, &e) == ST_OK, "%s",
                  e.text);
}

static inline void
workbench_close(struct workbench *w)
{
    struct error e;

    ck_assert_int_eq(database_close(&w->db, &e), ST_OK);
    settings_free(&w->settings);
    buf_fini(&w->out);
    buf_fini(&w->err);
}

static inline bool
workbench_keep(void *ctx, struct slice bytes)
{
    buf_put_slice(ctx, bytes);
    return true;
}

/* The exit status; the words are a command and what is behind it. */
static inline int
workbench_run(struct workbench *w, const char *const *words)
{
    struct tool_args args;
    struct tool t = {
        .command = tool_command_find(words[0]),
        .args = &args,
        .settings = w->settings,
        .api = &w->db.api,
        .zone = w->db.api.zone,
        .as_tsdb = true,
        .out = { .write = workbench_keep, .ctx = &w->out },
        .err = { .write = workbench_keep, .ctx = &w->err },
        .cancel = { w->is_cancelled, w },
    };
    struct error e;
    size_t len = 0;
    int rc;

    while (words[len] != NULL)
        len++;
    buf_clear(&w->out);
    buf_clear(&w->err);
    ck_assert_int_eq(tool_args_parse(&args, t.command->options,
                                     tool_common_options, len - 1, words + 1,
                                     &e),
                     ST_OK);
    rc = tool_check(&t);
    if (rc == 0)
        rc = tool_run(&t);
    tool_args_fini(&args);
    return rc;
}

#define RUN(w, ...) workbench_run(w, (const char *const[]){ __VA_ARGS__, NULL })
