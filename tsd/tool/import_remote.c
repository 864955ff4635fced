#include "tsd/tool/import_remote.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/text/number.h"

struct remote_taker {
    struct tool_remote *remote;
    bool json, create;
    uint64_t lsn; /* the highest of what was taken */
    struct buf answer;
};

static enum status
no_import(struct error *e)
{
    return error_set(e, ST_IO, "that is no answer to an import");
}

/* Takes "word " off the line's front. */
static bool
take_word(struct slice *line, const char *word)
{
    struct slice rest = *line;

    if (!slice_eq_str(slice_cut(&rest, ' '), word))
        return false;
    *line = rest;
    return true;
}

static bool
take_number(struct slice *line, uint64_t *out)
{
    return number_parse_u64(slice_cut(line, ' '), out);
}

static enum status
read_answer(struct remote_taker *x, size_t size, import_bad *bad, void *ctx,
            struct import_counts *counts, struct error *e)
{
    struct slice left = buf_slice(&x->answer);
    uint64_t points = 0, records = 0, lsn = 0, offset;

    while (left.size > 0) {
        struct slice line = slice_cut(&left, '\n');

        if (take_word(&line, "taken")) {
            if (!take_number(&line, &points) || !take_number(&line, &records) ||
                !take_number(&line, &lsn))
                return no_import(e);
        } else if (take_word(&line, "bad")) {
            if (!take_number(&line, &offset) || offset >= size)
                return no_import(e);
            bad(ctx, (size_t)offset, line);
        }
    }
    counts->points += points;
    counts->records += records;
    x->lsn = lsn > x->lsn ? lsn : x->lsn;
    return ST_OK;
}

static enum status
take_remote(void *ctx, struct slice lines, import_bad *bad, void *bad_ctx,
            struct import_counts *counts, struct error *e)
{
    struct remote_taker *x = ctx;
    char path[80];
    enum status st;

    (void)snprintf(path, sizeof path, "/api/tool/import?json=%s&create=%s",
                   x->json ? "true" : "false", x->create ? "true" : "false");
    st = tool_remote_post(x->remote, path, "text/plain", lines, &x->answer, e);
    return st == ST_OK ? read_answer(x, lines.size, bad, bad_ctx, counts, e)
                       : st;
}

static enum status
sync_remote(void *ctx, struct error *e)
{
    struct remote_taker *x = ctx;
    char path[80];

    (void)snprintf(path, sizeof path, "/api/tool/import?sync=%" PRIu64, x->lsn);
    return tool_remote_post(x->remote, path, "text/plain", slice_str(""),
                            &x->answer, e);
}

enum status
import_remote_store(struct tool_remote *r, char out[IMPORT_STORE_MAX],
                    struct error *e)
{
    struct buf answer = BUF_INIT;
    struct slice left, line;
    enum status st = tool_remote_post(r, "/api/tool/import", "text/plain",
                                      slice_str(""), &answer, e);

    if (st == ST_OK) {
        left = buf_slice(&answer);
        line = slice_cut(&left, '\n');
        if (take_word(&line, "store") && line.size < IMPORT_STORE_MAX)
            (void)snprintf(out, IMPORT_STORE_MAX, "%.*s", SLICE_ARG(line));
        else
            st = no_import(e);
    }
    buf_fini(&answer);
    return st;
}

void
import_remote_open(const struct tool_remote *r, bool json, bool create,
                   struct import_taker *out)
{
    struct remote_taker *x = mem_new(sizeof *x);

    *x = (struct remote_taker){ .remote = tool_remote_dup(r),
                                .json = json,
                                .create = create };
    *out = (struct import_taker){ take_remote, sync_remote, x };
}

void
import_remote_close(struct import_taker *taker)
{
    struct remote_taker *x = taker->ctx;

    tool_remote_close(&x->remote);
    buf_fini(&x->answer);
    free(x);
    taker->ctx = NULL;
}
