#include "tsd/tool/import/import_remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text/number.h"
#include "tsd/tool/import/api_import.h"

#define BOOL_TEXT(b) ((b) ? "true" : "false")

#define RETRY_MS 200 /* after a server was too busy */

struct remote_taker {
    struct client *remote;
    struct import_rules rules;
    uint64_t server; /* which process took; 0: none yet */
    struct cancel cancel;
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

/* What the lines of an answer say; all but 'bad' come once. */
struct import_answer {
    uint64_t server, points, records;
    uint64_t next; /* 0: all lines were taken */
    bool has_server, has_taken;
};

/* What was sent: 'size' bytes of a block, from 'at' on; and who is told of its
 * bad lines. */
struct sent {
    size_t at, size;
    import_bad *bad;
    void *ctx;
};

static bool
read_line(struct import_answer *a, struct slice line, const struct sent *sent)
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
    if (take_word(&line, "next"))
        return a->next == 0 && take_number(&line, &a->next) && a->next > 0 &&
               a->next < sent->size;
    if (take_word(&line, "bad")) {
        if (!take_number(&line, &offset) || offset >= sent->size)
            return false;
        sent->bad(sent->ctx, sent->at + (size_t)offset, line);
    }
    return true;
}

/* '*next' becomes where the rest begins of what was sent. */
static enum status
read_answer(struct remote_taker *x, const struct sent *sent,
            struct import_counts *counts, size_t *next, struct error *e)
{
    struct slice left = buf_slice(&x->answer);
    struct import_answer a = { 0 };

    while (left.size > 0)
        if (!read_line(&a, slice_cut(&left, '\n'), sent))
            return no_import(e);
    if (!a.has_server || !a.has_taken)
        return no_import(e);
    counts->points += a.points;
    counts->records += a.records;
    *next = sent->at + (a.next == 0 ? sent->size : (size_t)a.next);
    /* What another process has taken may not be on the disk, and a sync of this
     * one would not tell. */
    if (x->server != 0 && x->server != a.server)
        return error_set(e, ST_IO,
                         "the server was restarted during the import: run the "
                         "import again");
    x->server = a.server;
    return ST_OK;
}

static enum status
wait_for_server(struct remote_taker *x, struct error *e)
{
    if (cancel_asked(x->cancel))
        return error_set(e, ST_BUSY, "stopped while the server was busy");
    (void)usleep(RETRY_MS * 1000);
    return ST_OK;
}

static enum status
take_remote(void *ctx, struct slice lines, import_bad *bad, void *bad_ctx,
            struct import_counts *counts, struct error *e)
{
    struct remote_taker *x = ctx;
    struct sent sent = { .bad = bad, .ctx = bad_ctx };
    size_t next = 0;
    char path[100];
    enum status st = ST_OK;

    (void)snprintf(path, sizeof path,
                   "/api/tool/import?json=%s&create=%s&stop=%s",
                   BOOL_TEXT(x->rules.json), BOOL_TEXT(x->rules.create),
                   BOOL_TEXT(x->rules.stop_at_bad));
    while (next < lines.size && st == ST_OK) {
        sent.at = next;
        sent.size = lines.size - next;
        st = client_post(x->remote, path, "text/plain",
                         slice_of(lines.data + next, sent.size), &x->answer, e);
        if (st == ST_OK)
            st = read_answer(x, &sent, counts, &next, e);
        else if (st == ST_BUSY &&
                 slice_starts(slice_str(e->text), slice_str(IMPORT_THROTTLED)))
            st = wait_for_server(x, e);
    }
    return st;
}

static enum status
sync_remote(void *ctx, struct error *e)
{
    struct remote_taker *x = ctx;
    struct import_counts none = { 0 };
    struct sent nothing = { 0 };
    size_t next;
    enum status st = client_post(x->remote, "/api/tool/import?sync=true",
                                 "text/plain", slice_str(""), &x->answer, e);

    return st == ST_OK ? read_answer(x, &nothing, &none, &next, e) : st;
}

void
import_remote_open(const struct client *r, const struct import_rules *rules,
                   struct cancel cancel, struct import_taker *out)
{
    struct remote_taker *x = mem_new(sizeof *x);

    *x = (struct remote_taker){ .remote = client_dup(r),
                                .rules = *rules,
                                .cancel = cancel };
    *out = (struct import_taker){ take_remote, sync_remote, x };
}

void
import_remote_close(struct import_taker *taker)
{
    struct remote_taker *x = taker->ctx;

    client_close(&x->remote);
    buf_fini(&x->answer);
    free(x);
    taker->ctx = NULL;
}
