#include "tsd/tool/import_remote.h"

#include "base/mem.h"
#include "base/text/number.h"

struct remote_taker {
    struct tool_remote *remote;
    bool json, create;
    uint64_t server; /* which process took; 0: none yet */
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

/* What the lines of an answer say; 'server' and 'taken' come once. */
struct import_answer {
    uint64_t server, points, records;
    bool has_server, has_taken;
};

static bool
read_line(struct import_answer *a, struct slice line, size_t size,
          import_bad *bad, void *ctx)
{
    uint64_t offset;

    if (take_word(&line, "server")) {
        if (a->has_server)
            return false;
        a->has_server = true;
        return take_number(&line, &a->server);
    }
    if (take_word(&line, "taken")) {
        if (a->has_taken)
            return false;
        a->has_taken = true;
        return take_number(&line, &a->points) &&
               take_number(&line, &a->records);
    }
    if (take_word(&line, "bad")) {
        if (!take_number(&line, &offset) || offset >= size)
            return false;
        bad(ctx, (size_t)offset, line);
    }
    return true;
}

/* What another process has taken may not be on the disk, and a sync of this
 * one would not tell. */
static enum status
check_server(struct remote_taker *x, uint64_t server, struct error *e)
{
    if (x->server != 0 && x->server != server)
        return error_set(e, ST_IO,
                         "the server was restarted during the import: run the "
                         "import again");
    x->server = server;
    return ST_OK;
}

static enum status
read_answer(struct remote_taker *x, size_t size, import_bad *bad, void *ctx,
            struct import_counts *counts, struct error *e)
{
    struct slice left = buf_slice(&x->answer);
    struct import_answer a = { 0 };

    while (left.size > 0)
        if (!read_line(&a, slice_cut(&left, '\n'), size, bad, ctx))
            return no_import(e);
    if (!a.has_server || !a.has_taken)
        return no_import(e);
    counts->points += a.points;
    counts->records += a.records;
    return check_server(x, a.server, e);
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
    struct import_counts none = { 0 };
    enum status st =
        tool_remote_post(x->remote, "/api/tool/import?sync=true", "text/plain",
                         slice_str(""), &x->answer, e);

    return st == ST_OK ? read_answer(x, 0, NULL, NULL, &none, e) : st;
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
