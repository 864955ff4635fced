/* See tsd/retention/retention.h.  A pass:
 *
 *     names -> metrics that have something expired -> cuts -> rows
 *
 * Cuts of all metrics are one batch, and on the disk before the first row
 * goes. */
#include "tsd/retention/retention.h"

#include <stdlib.h>

#include "base/process/counters.h"
#include "base/process/lock.h"
#include "base/process/log.h"
#include "base/process/thread.h"
#include "base/mem.h"
#include "base/obj.h"
#include "storage/kv/kv.h"
#include "tsd/retention/retention_clock.h"
#include "uid/names/uid.h"

#define RETENTION_MAGIC FOURCC('R', 'T', 'N', 'T')

/* What is in force: replaced as a whole. */
struct in_force {
    struct retention_policies policies;
    struct retention_freed *freed;
    bool is_set;
};

/* Which policy counts for a metric, for old points that are put. */
#define KNOWN_POLICIES 1024
struct known_policy {
    uint64_t metric; /* plus 1; 0: free */
    size_t policy;
};

struct retention {
    uint32_t magic;
    struct store *store;
    struct uid_table *uids;
    const struct clock *clock;
    const char *configured; /* halite.retention; NULL: nothing */
    unsigned interval_ms;
    struct thread thread;
    struct lock pass_lock; /* one pass, or change, at a time */
    struct lock lock;
    struct cond wake;
    bool stopping GUARDED_BY(lock);
    struct in_force now GUARDED_BY(lock);
    int64_t passed_ms GUARDED_BY(lock);
    struct error failure GUARDED_BY(lock);
    struct retention_clock belief GUARDED_BY(pass_lock);
    /* For puts, by the last pass that believed the clock. */
    int64_t put_now_ms GUARDED_BY(lock); /* 0: nothing is expired */
    struct known_policy known[KNOWN_POLICIES] GUARDED_BY(lock);
    uint64_t known_epoch GUARDED_BY(lock);     /* of names */
    int64_t doubted_since_ms GUARDED_BY(lock); /* the last pass before; 0 */
};

static void
in_force_fini(struct in_force *f)
{
    retention_policies_fini(&f->policies);
    free(f->freed);
    *f = (struct in_force){ .is_set = false };
}

static enum status
in_force_parse(struct slice text, bool is_set, struct in_force *out,
               struct error *e)
{
    enum status st = retention_policies_parse(text, &out->policies, e);

    out->is_set = is_set;
    out->freed = mem_new_array(out->policies.len + 1, sizeof *out->freed);
    if (st != ST_OK)
        in_force_fini(out);
    return st;
}

/* -- what is in force ------------------------------------------------------ */

/* The list that was set, or else that of the settings.  Another daemon of the
 * store may have set it. */
static enum status
read_list(const struct retention *r, struct buf *out, bool *is_set,
          struct error *e)
{
    enum status st =
        kv_get(store_kv(r->store), KEY_TABLE(TABLE_RETENTION), out, e);

    *is_set = st == ST_OK;
    if (st != ST_NOT_FOUND)
        return st;
    buf_put_str(out, r->configured == NULL ? "" : r->configured);
    return ST_OK;
}

static bool
is_in_force(const struct retention *r, struct slice text, bool is_set)
    REQUIRES(r->lock)
{
    return r->now.policies.text != NULL && r->now.is_set == is_set &&
           slice_eq_str(text, r->now.policies.text);
}

/* A list that does not parse drops nothing. */
static enum status
read_in_force(struct retention *r, struct error *e) REQUIRES(r->pass_lock)
{
    struct buf text = BUF_INIT;
    struct in_force f = { .is_set = false }, old;
    bool is_set, same;
    enum status st = read_list(r, &text, &is_set, e);

    lock_take(&r->lock);
    same = is_in_force(r, buf_slice(&text), is_set);
    lock_drop(&r->lock);
    if (st == ST_OK && !same)
        st = in_force_parse(buf_slice(&text), is_set, &f, e);
    if (st == ST_OK && !same) {
        lock_take(&r->lock);
        old = r->now;
        r->now = f;
        memset(r->known, 0, sizeof r->known);
        lock_drop(&r->lock);
        in_force_fini(&old);
    }
    buf_fini(&text);
    return st;
}

/* -- the clock, and what is expired when it is put ------------------------- */

/* No policy drops what is younger. */
static int64_t
youngest_expired_ms(const struct retention_policies *p, int64_t now_ms)
{
    int64_t youngest = 0;

    for (size_t i = 0; i < p->len; i++) {
        int64_t ms = retention_expired_ms(p->list[i].hourly_ms, now_ms);

        if (ms > youngest)
            youngest = ms;
    }
    return youngest;
}

/* '*now_ms' is 0 if the clock is not believed. Without policies it does not
 * matter, and nothing is written. */
static enum status
check_clock(struct retention *r, int64_t *now_ms, struct error *e)
    REQUIRES(r->pass_lock)
{
    struct retention_clock *c = &r->belief;
    const struct retention_policies *p = &r->now.policies;
    int64_t most_ms = INT64_MAX, last_ms;
    enum status st = ST_OK;
    bool has_policies;

    /* How far the clock may be ahead of the last pass: the shortest RAW, but at
     * least a day. */
    lock_take(&r->lock);
    for (size_t i = 0; i < p->len; i++)
        if (p->list[i].raw_ms < most_ms)
            most_ms = p->list[i].raw_ms;
    has_policies = p->len > 0;
    lock_drop(&r->lock);
    most_ms = most_ms < DAY_MS ? DAY_MS : most_ms;
    *now_ms = clock_now_ms(r->clock);
    if (has_policies)
        st = retention_clock_check(c, most_ms, now_ms, e);
    last_ms = c->believed_ms;
    if (st != ST_OK || (has_policies && c->doubted))
        *now_ms = 0;
    lock_take(&r->lock);
    r->put_now_ms = *now_ms;
    r->doubted_since_ms = has_policies && c->doubted ? last_ms : 0;
    store_set_expired_ms(
        r->store,
        *now_ms == 0 ? 0 : youngest_expired_ms(&r->now.policies, *now_ms));
    lock_drop(&r->lock);
    return st;
}

/* 'policies.len': none. */
static size_t
policy_of(struct retention *r, uint64_t metric) REQUIRES(r->lock)
{
    struct known_policy *known = &r->known[metric % KNOWN_POLICIES];
    uint64_t epoch = uid_epoch(r->uids);
    struct buf name = BUF_INIT;
    enum status st;
    size_t i;

    if (r->known_epoch != epoch)
        memset(r->known, 0, sizeof r->known);
    r->known_epoch = epoch;
    if (known->metric == metric + 1)
        return known->policy;
    st = uid_name(r->uids, UID_METRIC, metric, &name, NULL);
    i = st == ST_OK
            ? retention_policies_find(&r->now.policies, buf_slice(&name))
            : r->now.policies.len;
    if (st == ST_OK)
        *known = (struct known_policy){ metric + 1, i };
    buf_fini(&name);
    return i;
}

/* A store_policy. */
static int64_t
expired_ms(void *ctx, uint64_t metric)
{
    struct retention *r = ctx;
    int64_t ms = 0;
    size_t i;

    lock_take(&r->lock);
    i = r->put_now_ms == 0 ? r->now.policies.len : policy_of(r, metric);
    if (i < r->now.policies.len)
        ms = retention_expired_ms(r->now.policies.list[i].hourly_ms,
                                  r->put_now_ms);
    lock_drop(&r->lock);
    return ms;
}

enum status
retention_set(struct retention *r, const struct slice *text, struct error *e)
{
    struct retention_policies parsed = { .len = 0 };
    struct kv_batch *b = kv_batch_new();
    uint64_t lsn = 0;
    int64_t now_ms;
    enum status st = ST_OK;

    OBJ_CHECK(r, RETENTION_MAGIC);
    if (text == NULL) {
        kv_batch_delete(b, KEY_TABLE(TABLE_RETENTION));
    } else {
        kv_batch_put(b, KEY_TABLE(TABLE_RETENTION), *text);
        st = retention_policies_parse(*text, &parsed, e);
        retention_policies_fini(&parsed);
    }
    lock_take(&r->pass_lock);
    if (st == ST_OK)
        st = store_write(r->store, b, &lsn, e);
    if (st == ST_OK)
        st = store_commit(r->store, lsn, true, e);
    if (st == ST_OK)
        st = read_in_force(r, e);
    if (st == ST_OK && text != NULL)
        st = retention_clock_confirm(&r->belief, e);
    if (st == ST_OK)
        st = check_clock(r, &now_ms, e);
    lock_drop(&r->pass_lock);
    kv_batch_free(&b);
    return st;
}

enum status
retention_confirm(struct retention *r, struct error *e)
{
    int64_t now_ms;
    enum status st;

    OBJ_CHECK(r, RETENTION_MAGIC);
    lock_take(&r->pass_lock);
    st = retention_clock_confirm(&r->belief, e);
    if (st == ST_OK)
        st = check_clock(r, &now_ms, e);
    lock_drop(&r->pass_lock);
    return st;
}

/* -- a pass ---------------------------------------------------------------- */

/* A metric of which something may go. */
struct expiring {
    struct store_cut before;
    size_t policy;
};

struct pass {
    struct retention *r;
    const struct retention_policies *policies;
    struct retention_freed *freed; /* of this pass */
    int64_t now_ms;
    struct expiring *list;
    size_t len, cap;
    bool dry_run;
    struct cancel cancel;
};

static bool
is_over(void *ctx)
{
    const struct pass *p = ctx;
    bool stops;

    if (cancel_asked(p->cancel))
        return true;
    lock_take(&p->r->lock);
    stops = p->r->stopping;
    lock_drop(&p->r->lock);
    return stops;
}

static bool
find_metric(void *ctx, struct slice name, uint64_t id)
{
    struct pass *p = ctx;
    size_t i = retention_policies_find(p->policies, name);
    const struct retention_policy *policy = &p->policies->list[i];
    struct store_cut before = { .metric = id };

    if (i == p->policies->len)
        return true;
    p->freed[i].metrics++;
    before.raw_ms = retention_expired_ms(policy->raw_ms, p->now_ms);
    before.hourly_ms = retention_expired_ms(policy->hourly_ms, p->now_ms);
    if (before.raw_ms == 0)
        return true;
    p->list = mem_grow(p->list, p->len, &p->cap, sizeof *p->list);
    p->list[p->len++] = (struct expiring){ before, i };
    return true;
}

static struct store_drop
drop_of(struct pass *p, const struct expiring *x)
{
    return (struct store_drop){
        .before = x->before,
        .cancel = { is_over, p },
    };
}

/* Only those stay in the list that have an expired row: a metric whose points
 * are all younger gets no cut. */
static enum status
find_rows(struct pass *p, struct error *e)
{
    size_t len = 0;
    enum status st = ST_OK;

    for (size_t i = 0; i < p->len && st == ST_OK; i++) {
        struct store_drop d = drop_of(p, &p->list[i]);

        d.dry_run = true;
        d.max_rows = 1;
        st = store_drop_rows(p->r->store, &d, e);
        if (d.dropped.rows + d.dropped.weeks > 0)
            p->list[len++] = p->list[i];
        if (st == ST_OK && is_over(p))
            st = error_set(e, ST_BUSY, "the pass was cancelled");
    }
    p->len = len;
    return st;
}

static void
add_dropped(struct store_dropped *to, const struct store_dropped *more)
{
    to->rows += more->rows;
    to->points += more->points;
    to->bytes += more->bytes;
    to->weeks += more->weeks;
}

static enum status
drop_rows(struct pass *p, struct error *e)
{
    enum status st = ST_OK;

    for (size_t i = 0; i < p->len && st == ST_OK; i++) {
        struct store_drop d = drop_of(p, &p->list[i]);

        d.dry_run = d.foresees = p->dry_run;
        st = store_drop_rows(p->r->store, &d, e);
        add_dropped(&p->freed[p->list[i].policy].dropped, &d.dropped);
    }
    /* Or a crash brings rows back, which a longer policy would show again. */
    if (st == ST_OK && !p->dry_run && p->len > 0)
        st = kv_sync(store_kv(p->r->store), e);
    return st;
}

static enum status
run_pass(struct pass *p, struct error *e)
{
    struct store_cut *cuts;
    enum status st;

    p->freed = mem_new_array(p->policies->len + 1, sizeof *p->freed);
    st = p->policies->len == 0
             ? ST_OK
             : uid_suggest(p->r->uids, UID_METRIC, slice_str(""), 0,
                           find_metric, p, e);
    if (st == ST_OK && !p->dry_run)
        st = find_rows(p, e);
    if (st == ST_OK && !p->dry_run) {
        cuts = mem_new_array(p->len + 1, sizeof *cuts);
        for (size_t i = 0; i < p->len; i++)
            cuts[i] = p->list[i].before;
        st = store_cuts_set(p->r->store, cuts, p->len, e);
        free(cuts);
    }
    if (st == ST_OK)
        st = drop_rows(p, e);
    free(p->list);
    return st;
}

/* Tells what went: to the log, to the counters, to the list in force, which is
 * still the same, as changes wait for the pass. */
static void
count_pass(struct pass *p)
{
    struct retention *r = p->r;

    for (size_t i = 0; i < p->policies->len; i++) {
        const struct store_dropped *d = &p->freed[i].dropped;

        lock_take(&r->lock);
        r->now.freed[i].metrics = p->freed[i].metrics;
        add_dropped(&r->now.freed[i].dropped, d);
        lock_drop(&r->lock);
        counter_add(CNT_RETENTION_ROWS, d->rows);
        counter_add(CNT_RETENTION_POINTS, d->points);
        counter_add(CNT_RETENTION_BYTES, d->bytes);
        if (d->weeks > 0)
            log_info("retention",
                     "%s: dropped the hourly values of %llu weeks of series",
                     log_quote(p->policies->list[i].pattern),
                     (unsigned long long)d->weeks);
        if (d->rows > 0)
            log_info("retention",
                     "%s is kept for %.*s: dropped %llu points in %llu rows, "
                     "%llu bytes",
                     log_quote(p->policies->list[i].pattern),
                     SLICE_ARG(p->policies->list[i].raw),
                     (unsigned long long)d->points, (unsigned long long)d->rows,
                     (unsigned long long)d->bytes);
    }
}

static enum status
apply_locked(struct retention *r, struct error *e) REQUIRES(r->pass_lock)
{
    struct pass p = { .r = r };
    enum status st = read_in_force(r, e);

    if (st != ST_OK)
        return st;
    /* It is changed with the pass lock alone. */
    lock_take(&r->lock);
    p.policies = &r->now.policies;
    lock_drop(&r->lock);
    st = check_clock(r, &p.now_ms, e);
    if (st == ST_OK && p.now_ms != 0)
        st = store_cuts_lower(r->store, p.now_ms, e);
    if (st != ST_OK || p.now_ms == 0)
        return st;
    st = run_pass(&p, e);
    count_pass(&p);
    free(p.freed);
    return st;
}

static void
run_and_log(struct retention *r)
{
    struct error why = { .status = ST_OK };
    enum status st;

    lock_take(&r->pass_lock);
    st = apply_locked(r, &why);
    lock_drop(&r->pass_lock);
    lock_take(&r->lock);
    if (st != ST_OK && r->failure.status == ST_OK && !r->stopping)
        log_error("retention", "cannot drop what expired: %s", why.text);
    r->failure = why;
    r->failure.status = st;
    r->passed_ms = clock_now_ms(r->clock);
    lock_drop(&r->lock);
}

enum status
retention_dry_run(struct retention *r, const struct slice *text,
                  struct cancel cancel, struct retention_view *out,
                  struct error *e)
{
    struct pass p = { .r = r, .dry_run = true, .cancel = cancel };
    enum status st = ST_OK;

    OBJ_CHECK(r, RETENTION_MAGIC);
    retention_view(r, out);
    if (text != NULL) {
        retention_policies_fini(&out->policies);
        st = retention_policies_parse(*text, &out->policies, e);
    }
    p.policies = &out->policies;
    p.now_ms = clock_now_ms(r->clock);
    if (st == ST_OK) {
        st = run_pass(&p, e);
        free(out->freed);
        out->freed = p.freed;
    }
    if (st != ST_OK)
        retention_view_fini(out);
    return st;
}

/* -- for readers ----------------------------------------------------------- */

/* A list that another daemon has set is told at once; the next pass goes by it,
 * and nothing was freed by it yet. */
void
retention_view(struct retention *r, struct retention_view *out)
{
    struct buf text = BUF_INIT;
    bool is_set, is_new;

    OBJ_CHECK(r, RETENTION_MAGIC);
    *out = (struct retention_view){ .passed_ms = 0 };
    is_new = read_list(r, &text, &is_set, NULL) == ST_OK;
    lock_take(&r->lock);
    is_new = is_new && !is_in_force(r, buf_slice(&text), is_set) &&
             retention_policies_parse(buf_slice(&text), &out->policies, NULL) ==
                 ST_OK;
    if (!is_new)
        INSIST(retention_policies_parse(slice_str(r->now.policies.text),
                                        &out->policies, NULL) == ST_OK);
    out->freed = mem_new_array(out->policies.len + 1, sizeof *out->freed);
    if (!is_new)
        memcpy(out->freed, r->now.freed,
               out->policies.len * sizeof *out->freed);
    out->is_set = is_new ? is_set : r->now.is_set;
    out->passed_ms = r->passed_ms;
    out->failure = r->failure;
    out->doubted_since_ms = r->doubted_since_ms;
    lock_drop(&r->lock);
    buf_fini(&text);
}

void
retention_view_fini(struct retention_view *v)
{
    retention_policies_fini(&v->policies);
    free(v->freed);
    v->freed = NULL;
}

/* -- life ------------------------------------------------------------------ */

enum status
retention_open(const struct settings *settings, struct store *s,
               struct uid_table *u, const struct clock *clock,
               struct retention **out, struct error *e)
{
    struct retention *r = mem_new(sizeof *r);
    enum status st;

    r->magic = RETENTION_MAGIC;
    r->store = s;
    r->uids = u;
    r->clock = clock;
    r->configured = settings->retention;
    r->interval_ms = settings->retention_interval_ms;
    r->belief = (struct retention_clock){
        .store = s,
        .clock = clock,
        .confirm_ms = settings->retention_confirm_ms,
    };
    lock_init(&r->pass_lock);
    lock_init(&r->lock);
    cond_init(&r->wake);
    lock_take(&r->pass_lock);
    st = read_in_force(r, e);
    if (st == ST_INVALID) {
        log_error("retention",
                  "nothing is dropped until the policies that "
                  "the store has are set again: %s",
                  e->text);
        st = in_force_parse(slice_str(""), true, &r->now, e);
    }
    lock_drop(&r->pass_lock);
    *out = r;
    if (st != ST_OK)
        retention_close(out);
    return st;
}

static void *
retention_thread(void *arg)
{
    struct retention *r = arg;

    for (;;) {
        bool stop;

        lock_take(&r->lock);
        if (!r->stopping)
            cond_wait_ms(&r->wake, &r->lock, r->interval_ms);
        stop = r->stopping;
        lock_drop(&r->lock);
        if (stop)
            return NULL;
        run_and_log(r);
    }
}

void
retention_check_puts(struct retention *r)
{
    const struct store_policy policy = { r, expired_ms };
    struct error e;
    int64_t now_ms;
    enum status st;

    OBJ_CHECK(r, RETENTION_MAGIC);
    store_set_policy(r->store, &policy);
    lock_take(&r->pass_lock);
    st = check_clock(r, &now_ms, &e);
    lock_drop(&r->pass_lock);
    if (st != ST_OK) /* the first pass tries again */
        log_warn("retention", "no point is rejected for its age yet: %s",
                 e.text);
}

enum status
retention_start(struct retention *r, struct error *e)
{
    OBJ_CHECK(r, RETENTION_MAGIC);
    retention_check_puts(r);
    return thread_start(&r->thread, retention_thread, r, "retention", e);
}

void
retention_close(struct retention **rp) NO_TS_CHECK
{
    struct retention *r = OBJ_TAKE(rp, RETENTION_MAGIC);

    if (r == NULL)
        return;
    lock_take(&r->lock);
    r->stopping = true;
    cond_signal(&r->wake);
    lock_drop(&r->lock);
    thread_join(&r->thread);
    in_force_fini(&r->now);
    cond_fini(&r->wake);
    lock_fini(&r->lock);
    lock_fini(&r->pass_lock);
    OBJ_FREE(r);
}
