/* From bytes to lines to commands.
 *
 * A chunk is always run in the loop's buffer: first what was left of the last
 * one (mostly the beginning of a line), then what the socket had.  The batch
 * borrows lines from there; if the store is busy, the buffer stays with the
 * batch, and the loop goes on with another. */
#include "tsd/net/telnet_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/process/clock.h"
#include "base/process/counters.h"
#include "base/process/log.h"
#include "base/address.h"
#include "base/mem.h"
#include "base/utf8.h"

void
telnet_mark_dirty(struct telnet_loop *l, struct telnet_conn *c)
{
    if (c->dirty)
        return;
    c->dirty = true;
    c->next_dirty = l->dirty;
    l->dirty = c;
}

/* The connection's points are in the store, and wait for a commit. */
static void
telnet_note_put(struct telnet_loop *l, struct telnet_conn *c)
{
    c->put_in = l->period;
    if (l->uncommitted_us == 0)
        l->uncommitted_us = clock_monotonic_us();
}

/* Appends an answer, or drops and counts it when too much waits already. */
static void
telnet_say(struct telnet_loop *l, struct telnet_conn *c, struct slice s)
{
    if (c->write_failed || s.size == 0)
        return;
    if (c->out.size >= l->telnet->o.output_bytes) {
        counter_add(CNT_ERR_BLOCKED, 1);
        return;
    }
    buf_put_slice(&c->out, s);
    /* A client that waits for a lost reply would wait for ever. */
    c->closing |= c->out.failed;
}

#define AUTH_FAIL "AUTH_FAIL\r\n"

/* Of a command that is none, so that its echo does not take the place of what
 * is said next. */
#define TELNET_ECHO_BYTES ((size_t)1024)

/* What goes into the batch of points; a point's id says which it was. */
static const char *const commands[] = { "put", "rollup" };
static const uint8_t command_sizes[] = { 3, 6 };

/* Its index, or -1. */
static int
batch_command(struct slice line)
{
    for (int i = 0; i < (int)(sizeof commands / sizeof commands[0]); i++) {
        size_t size = command_sizes[i];

        if (line.size >= size && memcmp(line.data, commands[i], size) == 0 &&
            (line.size == size || line.data[size] == ' '))
            return i;
    }
    return -1;
}

void
telnet_put_failed(void *ctx, size_t id, enum put_fault fault, struct slice why)
{
    static const char *const faults[] = {
        [PUT_BAD_VALUE] = "invalid value",
        [PUT_BAD_ARGUMENT] = "illegal argument",
        [PUT_UNKNOWN_NAME] = "unknown metric",
        [PUT_STORAGE] = "storage error",
        [PUT_NO_ROLLUP] = "No such rollup",
        [PUT_EXPIRED] = "illegal argument",
        [PUT_COUNTED] = "illegal argument",
        [PUT_FOUND_LATE] = "HBase error",
    };
    struct telnet_loop *l = ctx;
    struct buf line = BUF_INIT;

    if (l->telnet->o.silent)
        return;
    buf_printf(&line, "%s: %s: ", commands[id], faults[fault]);
    buf_put_slice(&line, why);
    buf_put_str(&line, "\n");
    telnet_say(l, l->batch_conn, buf_slice(&line));
    buf_fini(&line);
}

bool
telnet_flush(struct telnet_loop *l)
{
    if (l->lines > 0) {
        counter_add(CNT_RPC_TELNET, l->lines);
        l->lines = 0;
    }
    if (l->batch == NULL || l->batch_conn == NULL)
        return true;
    l->stalled = put_batch_flush(l->batch, NULL) == ST_BUSY;
    telnet_note_put(l, l->batch_conn); /* some of it may be taken */
    if (l->stalled)
        return false;
    l->batch_conn = NULL;
    return true;
}

/* -- commands -------------------------------------------------------------- */

static void
telnet_split(struct telnet_call *call, struct slice line)
{
    const uint8_t *end = line.data + line.size;
    bool more = true;

    for (call->words_len = 0; more && call->words_len < TELNET_MAX_WORDS;) {
        struct slice word = slice_cut(&line, ' ');

        call->words[call->words_len++] = word;
        more = word.data + word.size < end;
    }
}

/* Logs that a line was rejected: 'why' and 'what' are the reason. */
static void
telnet_log_rejection(const struct telnet_conn *c, const char *why,
                     const char *what, const char *more)
{
    char peer[ADDRESS_NAME_SIZE];

    address_name((const struct sockaddr *)&c->peer, peer, sizeof peer);
    log_warn("telnet", "rejected a line from %s: %s %s%s", peer, why, what,
             more);
}

/* Only the word is logged: what follows it could be a password. */
static void
reject_command(struct telnet_loop *l, const struct telnet_conn *c,
               struct slice word, struct buf *out)
{
    char more[LOG_MORE_SIZE];

    counter_add(CNT_LINE_COMMAND, 1);
    if (log_throttle_pass(&l->telnet->unknown, more))
        telnet_log_rejection(c, "unknown command", log_quote(word), more);
    if (word.size > TELNET_ECHO_BYTES)
        word.size = TELNET_ECHO_BYTES;
    buf_put_str(out, "unknown command: ");
    buf_put_slice(out, word);
    buf_put_str(out, ".  Try `help'.\n");
}

/* False, and it is said, when the client may not do that. */
static bool
is_allowed(struct telnet_loop *l, struct telnet_conn *c, const char *name,
           unsigned required)
{
    char line[64], more[LOG_MORE_SIZE];

    if ((required & ~c->who.rights) == 0)
        return true;
    if (log_throttle_pass(&l->telnet->forbidden, more))
        telnet_log_rejection(c, "the client's rights do not allow", name, more);
    if (c->who.name[0] == '\0') { /* anonymous */
        counter_add(CNT_UNKNOWN_TELNET, 1);
        telnet_say(l, c, slice_str(AUTH_FAIL));
        return false;
    }
    counter_add(CNT_FORBIDDEN_TELNET, 1);
    (void)snprintf(line, sizeof line, "%s: Unauthorized command\n", name);
    if (!l->telnet->o.silent)
        telnet_say(l, c, slice_str(line));
    return false;
}

/* On the thread that may block. */
static void
decide_login(void *arg)
{
    struct telnet_check *k = arg;
    struct telnet_loop *l = k->loop;
    const struct telnet_options *o = &l->telnet->o;

    if (!atomic_load(&l->loop.stopping))
        k->verdict =
            o->login(o->login_ctx, (const void *)&k->conn->peer,
                     slice_of(k->text, k->name_size),
                     slice_of(k->text + k->name_size, k->size - k->name_size),
                     true, &k->who);
    explicit_bzero(k->text, k->size);
    lock_take(&l->lock);
    k->next = l->decided;
    l->decided = k;
    loop_wake(&l->loop); /* with the lock: telnet_stop() waits for it */
    lock_drop(&l->lock);
}

/* True: under way.  False: too many are, or there is no memory. */
static bool
check_login(struct telnet_loop *l, struct telnet_conn *c, struct slice name,
            struct slice secret)
{
    const struct telnet_options *o = &l->telnet->o;
    struct telnet_check *k =
        mem_try_array(1, sizeof *k + name.size + secret.size);

    if (k == NULL)
        return false;
    k->loop = l;
    k->conn = c;
    k->verdict = AUTH_WRONG;
    k->name_size = name.size;
    k->size = name.size + secret.size;
    memcpy(k->text, name.data, name.size);
    memcpy(k->text + name.size, secret.data, secret.size);
    c->check = k;
    if (o->later(o->login_ctx, decide_login, k))
        return true;
    c->check = NULL;
    explicit_bzero(k->text, k->size);
    free(k);
    return false;
}

static void
answer_login(struct telnet_loop *l, struct telnet_conn *c, enum auth_verdict v)
{
    if (v != AUTH_OK)
        counter_add(CNT_UNKNOWN_TELNET, 1);
    telnet_say(l, c, slice_str(v == AUTH_OK ? "AUTH_SUCCESS\r\n" : AUTH_FAIL));
}

void
telnet_end_checks(struct telnet_loop *l)
{
    struct telnet_check *k, *next;

    lock_take(&l->lock);
    k = l->decided;
    l->decided = NULL;
    lock_drop(&l->lock);
    for (; k != NULL; k = next) {
        struct telnet_conn *c = k->conn;

        next = k->next;
        c->check = NULL;
        if (k->verdict == AUTH_OK)
            c->who = k->who;
        answer_login(l, c, k->verdict);
        free(k);
        telnet_conn_resume(l, c);
    }
}

/* "auth TOKEN", "auth NAME PASSWORD", as the bytes came: a password may hold
 * blanks. */
static void
log_in(struct telnet_loop *l, struct telnet_conn *c, struct slice line)
{
    const struct telnet_options *o = &l->telnet->o;
    struct slice name = slice_of(NULL, 0), secret = line;
    enum auth_verdict v = AUTH_WRONG;

    (void)slice_cut(&secret, ' '); /* "auth" */
    if (secret.size > 0 && memchr(secret.data, ' ', secret.size) != NULL)
        name = slice_cut(&secret, ' ');
    if (secret.size > 0)
        v = o->login(o->login_ctx, (const void *)&c->peer, name, secret, false,
                     &c->who);
    if (v != AUTH_SLOW || !check_login(l, c, name, secret))
        answer_login(l, c, v);
}

static void
run_command(struct telnet_loop *l, struct telnet_conn *c, struct slice line)
{
    struct telnet_call *call = l->call;
    const struct telnet_options *o = &l->telnet->o;
    const struct telnet_route *r = NULL;
    struct buf out = BUF_INIT;

    telnet_split(call, utf8_or_latin1(line, &l->text));
    call->peer = (const struct sockaddr *)&c->peer;
    call->out = &out;
    call->close = false;
    call->lsn = 0;
    for (size_t i = 0; i < o->routes_len && r == NULL; i++)
        if (slice_eq_str(call->words[0], o->routes[i].name))
            r = &o->routes[i];
    if (r == NULL) {
        reject_command(l, c, call->words[0], &out);
    } else if (!is_allowed(l, c, r->name, r->requires)) {
        call->close = false;
    } else if (r->serve != NULL) {
        r->serve(r->ctx, call);
    } else if (strcmp(r->name, "help") == 0) {
        buf_put_str(&out, "available commands: ");
        for (size_t i = 0; i < o->routes_len; i++)
            if (!o->routes[i].unlisted)
                buf_printf(&out, "%s ", o->routes[i].name);
        buf_put_str(&out, "\n");
    } else if (strcmp(r->name, "exit") == 0) {
        call->close = true;
    } else if (strcmp(r->name, "auth") == 0 && o->login != NULL) {
        log_in(l, c, line);
    }
    telnet_say(l, c, buf_slice(&out));
    c->closing |= out.failed;
    buf_fini(&out);
    if (call->lsn > 0 && l->batch != NULL) {
        put_batch_note(l->batch, call->lsn);
        telnet_note_put(l, c);
    }
    c->closing |= call->close;
}

/* -- lines ----------------------------------------------------------------- */

static void
say_too_long(struct telnet_loop *l, struct telnet_conn *c)
{
    char text[96], more[LOG_MORE_SIZE];
    int n = snprintf(text, sizeof text,
                     "line too long: skipped, the limit is %zu bytes\n",
                     l->telnet->o.line_bytes);

    counter_add(CNT_LINE_LENGTH, 1);
    if (log_throttle_pass(&l->telnet->too_long, more))
        telnet_log_rejection(c, "it is longer than",
                             "halite.telnet.line_bytes allows", more);
    telnet_say(l, c, slice_of(text, (size_t)n));
}

/* "put" or "rollup" and what follows: false when the store is too busy to take
 * it. */
static bool
run_put(struct telnet_loop *l, struct telnet_conn *c, struct slice line,
        int command)
{
    size_t skip = command_sizes[command] + 1u;

    if ((c->who.rights & HTTP_WRITES) == 0) {
        if (l->batch_conn == c && !telnet_flush(l))
            return false;
        (void)is_allowed(l, c, commands[command], HTTP_WRITES);
        return true;
    }

    if (l->stalled || (put_batch_is_full(l->batch) && !telnet_flush(l)))
        return false;
    if (l->batch_conn != c)
        put_batch_set_peer(l->batch, NULL, (const void *)&c->peer);
    l->batch_conn = c;
    put_batch_line(l->batch,
                   line.size < skip
                       ? slice_of(NULL, 0)
                       : slice_of(line.data + skip, line.size - skip),
                   (size_t)command, command != 0);
    return true;
}

/* False when the line must wait, together with all behind it. */
static bool
telnet_run_line(struct telnet_loop *l, struct telnet_conn *c, struct slice line)
{
    int command = -1;

    if (!c->begun) {
        line = utf8_skip_mark(line);
        c->begun = true;
    }
    /* Telnet programs negotiate: IAC, a command and perhaps an option. */
    while (line.size >= 2 && line.data[0] == 0xff && line.data[1] >= 240 &&
           line.data[1] != 0xff) {
        size_t n = line.data[1] >= 251 && line.size >= 3 ? 3 : 2;

        line = slice_of(line.data + n, line.size - n);
    }
    if (line.size > 0 && line.data[line.size - 1] == '\r')
        line.size--;
    if (l->telnet->has_put)
        command = batch_command(line);
    if (line.size > l->telnet->o.line_bytes) {
        if (l->batch_conn == c && !telnet_flush(l))
            return false;
        say_too_long(l, c);
        return true;
    }
    if (command >= 0)
        return run_put(l, c, line, command);
    /* Answers come in the order of the lines. */
    if (l->batch_conn == c && !telnet_flush(l))
        return false;
    run_command(l, c, line);
    return true;
}

/* Runs lines; returns how many bytes of them are done with. */
static size_t
run_lines(struct telnet_loop *l, struct telnet_conn *c, const uint8_t *data,
          size_t size)
{
    size_t at = 0;

    while (!c->closing && c->check == NULL) {
        const uint8_t *end = memchr(data + at, '\n', size - at);
        size_t line;

        if (end == NULL)
            break;
        line = (size_t)(end - data) - at;
        if (c->skipping)
            c->skipping = false;
        else if (!telnet_run_line(l, c, slice_of(data + at, line)))
            break;
        else
            l->lines++;
        at += line + 1;
    }
    return c->closing ? size : at;
}

/* -- chunks ---------------------------------------------------------------- */

static void
drop_rest(struct telnet_loop *l, struct telnet_conn *c)
{
    free(c->in);
    budget_return(c->budget, c->in_charged);
    if (c->in_charged > 0)
        (void)atomic_fetch_add(&l->telnet->freed, c->in_charged);
    c->in = NULL;
    c->in_size = c->in_charged = 0;
}

void
telnet_conn_forget(struct telnet_loop *l, struct telnet_conn *c)
{
    drop_rest(l, c);
    (void)atomic_fetch_add(&l->telnet->freed, buf_counted(&c->out));
    buf_fini(&c->out);
}

/* Keeps what cannot be run yet.  'whole': there are lines in it, which must not
 * be lost, so it is kept beyond the budget.  False: there is no room for it. */
static bool
keep_rest(struct telnet_loop *l, struct telnet_conn *c, struct slice rest,
          bool whole)
{
    struct budget *budget = c->budget;
    size_t charge = rest.size > TELNET_FREE_BYTES ? rest.size : 0;
    uint8_t *in;

    drop_rest(l, c);
    if (rest.size == 0)
        return true;
    if (whole)
        budget_force(budget, charge);
    else if (!budget_take(budget, charge))
        return false;
    in = mem_try(rest.size);
    if (in == NULL) {
        budget_return(budget, charge);
        return false;
    }
    memcpy(in, rest.data, rest.size);
    c->in = in;
    c->in_size = rest.size;
    c->in_charged = charge;
    return true;
}

void
telnet_conn_wait(struct telnet_loop *l, struct telnet_conn *c)
{
    c->waiting = true;
    c->next_waiting = NULL;
    *l->waiting_end = c;
    l->waiting_end = &c->next_waiting;
}

/* There was no room for the rest of a chunk.  The beginning of a line is
 * treated as a line that is too long; a client whose complete lines are lost is
 * told so, and cut off. */
static void
say_no_room(struct telnet_loop *l, struct telnet_conn *c, bool whole)
{
    char more[LOG_MORE_SIZE];

    if (log_throttle_pass(&l->telnet->no_room, more))
        telnet_log_rejection(c, "the memory for telnet connections is used up",
                             "(halite.telnet.total_bytes)", more);
    if (!whole) {
        counter_add(CNT_LINE_LENGTH, 1);
        telnet_say(l, c,
                   slice_str("line too long: skipped, the memory for lines of "
                             "all telnet connections is used up "
                             "(halite.telnet.total_bytes)\n"));
        c->skipping = true;
        return;
    }
    counter_add(CNT_ERR_STORAGE, 1);
    telnet_say(l, c,
               slice_str("put: storage error: the server is short of memory, "
                         "lines were lost\n"));
    c->closing = true;
}

/* Where the client has ended its side, what it sent last is a line, newline or
 * not.  Not so from the TLS threads: their sockets end without a word as well
 * when the client was cut off, and half a line must not be stored. */
static bool
ends_by_tcp(const struct telnet_conn *c)
{
    int domain = AF_UNIX;
    socklen_t size = sizeof domain;

    return getsockopt(c->socket.fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) ==
               0 &&
           domain != AF_UNIX;
}

/* 'size' bytes lie in the loop's buffer; 'eof': there will be no more. */
static void
run_chunk(struct telnet_loop *l, struct telnet_conn *c, size_t size, bool eof)
{
    const struct telnet_options *o = &l->telnet->o;
    bool was_stalled = l->stalled, blocked;
    size_t done;

    if (o->renew != NULL)
        o->renew(o->login_ctx, &c->who);
    if (eof && size > 0 && l->buf[size - 1] != '\n' && ends_by_tcp(c))
        l->buf[size++] = '\n';
    done = run_lines(l, c, l->buf, size);
    /* Lines are left: the store is busy and did not accept them. */
    blocked = memchr(l->buf + done, '\n', size - done) != NULL;
    if (!l->stalled)
        (void)telnet_flush(l);
    if (!blocked &&
        (c->skipping || size - done > l->telnet->o.line_bytes + 1)) {
        if (!c->skipping)
            say_too_long(l, c);
        c->skipping = true;
        done = size;
    }
    if (!keep_rest(l, c, slice_of(l->buf + done, size - done), blocked)) {
        say_no_room(l, c, blocked);
        blocked = false;
    }
    if (l->stalled && !was_stalled) {
        l->held = l->buf;
        l->buf = mem_resize(NULL, l->telnet->buf_bytes, 1);
    }
    c->eof |= eof;
    if (c->check != NULL)
        c->waiting = true;
    else if (blocked || (l->stalled && l->batch_conn == c))
        telnet_conn_wait(l, c);
    else
        c->closing |= c->eof;
    telnet_mark_dirty(l, c);
}

size_t
telnet_conn_read(struct telnet_loop *l, struct telnet_conn *c, size_t max)
{
    size_t size = c->in_size;
    ssize_t n;

    if (max > TELNET_READ_BYTES)
        max = TELNET_READ_BYTES;
    if (max > TELNET_KEPT_BYTES &&
        (l->stalled || (c->who.rights & HTTP_WRITES) == 0))
        max = TELNET_KEPT_BYTES;
    if (size > 0)
        memcpy(l->buf, c->in, size);
    n = recv(c->socket.fd, l->buf + size, max, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n < 0)
        counter_add(errno == ECONNRESET ? CNT_CONN_RESET : CNT_CONN_UNKNOWN, 1);
    c->active_us = clock_monotonic_us();
    c->eof |= n < 0;
    run_chunk(l, c, size + (n > 0 ? (size_t)n : 0), n == 0);
    return n > 0 ? (size_t)n : 0;
}

void
telnet_conn_resume(struct telnet_loop *l, struct telnet_conn *c)
{
    size_t size = c->in_size;

    c->waiting = false;
    if (size > 0)
        memcpy(l->buf, c->in, size);
    run_chunk(l, c, size, c->eof);
}
