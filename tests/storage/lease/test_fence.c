/* An owner is stopped (SIGSTOP) for longer than its lease; an heir fences it,
 * takes its bucket over and goes on; then the owner wakes up, and flushes and
 * acknowledges as if nothing had been.  With all fences no acknowledged point
 * is lost and it writes nothing.  Each fence is also left out, to show what it
 * is for.
 *
 * Points are numbers by key.  A row of the engine is an omap key of "rows", a
 * record of the WAL is <key:4> <number:4>, with the owner's epoch. */
#include "storage/lease/lease_priv.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "base/cursor.h"
#include "base/process/log.h"
#include "storage/wal/rados/wal_rados.h"
#include "storage/wal/wal.h"
#include "storage/wal/wal_record.h"
#include "tests/storage/rados/rados_rig.h"

#define KEYS        40
#define BUCKET      5
#define DURATION_MS 1000
#define NO_STATUS   999

/* What owner and heir see of each other, beside the cluster. */
struct shared {
    atomic_bool begin, ready, taken;
    char at[512];
    unsigned without;
    char name[MEMBER_NAME_SIZE];
    /* The newest number that was acknowledged to clients. */
    atomic_uint acknowledged[KEYS];
    /* What the owner's writes came to when it woke up. */
    atomic_int flush, append;
};

struct process {
    struct shared *s;
    struct ceph *c;
    struct lease *l;
    struct wal *wal;
    uint64_t epoch, dead_epoch;
    uint32_t head[KEYS]; /* 0: nothing to flush */
};

/* Here nothing stops when the lease is lost: the fences must do. */
static void
ignore_loss(void *ctx, const char *why)
{
    (void)ctx;
    (void)why;
}

static enum status
process_open(struct process *p, const char *at, struct error *e)
{
    const struct lease_options o = { .self = { .address = "127.0.0.1:1",
                                               .mode = "rw" },
                                     .duration_ms = DURATION_MS,
                                     .lost = ignore_loss };
    struct wal_options w = { 0 };
    enum status st = ceph_open(at, &p->c, e);

    if (st == ST_OK)
        st = lease_open(p->c, &o, &p->l, e);
    if (st != ST_OK)
        return st;
    p->l->without = p->s->without;
    w.medium = wal_rados_new(p->c, lease_name(p->l));
    return wal_open(&w, &p->wal, e);
}

/* A number for each key: WAL, head, and, if the lease is good, told. */
static enum status
put_all(struct process *p, uint32_t number, struct error *e)
{
    uint64_t lsn = 0;
    enum status st = ST_OK;

    for (uint32_t key = 0; key < KEYS && st == ST_OK; key++) {
        struct buf payload = BUF_INIT;

        record_owned(&payload, p->epoch, RECORD_POINTS);
        buf_put_u32(&payload, key);
        buf_put_u32(&payload, number);
        st = wal_append(p->wal, 0, RECORD_OWNED, buf_slice(&payload), &lsn, e);
        p->head[key] = number;
        buf_fini(&payload);
    }
    if (st == ST_OK)
        st = wal_commit(p->wal, lsn, false, e);
    if (st == ST_OK && !lease_is_good(p->l))
        st = error_set(e, ST_BUSY, "the lease ended");
    for (uint32_t key = 0; key < KEYS && st == ST_OK; key++)
        atomic_store(&p->s->acknowledged[key], number);
    return st;
}

static enum status
flush_all(struct process *p, struct error *e)
{
    struct ceph_op *op;

    if (!lease_is_good(p->l))
        return error_set(e, ST_BUSY, "the lease ended");
    op = ceph_write_new(p->c);
    for (uint32_t key = 0; key < KEYS; key++) {
        uint8_t name[4], number[4];
        struct slice k = slice_of(name, 4), v = slice_of(number, 4);

        key_put_uint(name, key, 4);
        key_put_uint(number, p->head[key], 4);
        if (p->head[key] != 0)
            ceph_write_omap_set(op, &k, &v, 1);
    }
    return ceph_op_run(op, "rows", e);
}

static enum status
replay_record(void *ctx, uint64_t segment, uint8_t type, struct slice payload,
              struct error *e)
{
    struct process *p = ctx;
    struct slice record;
    struct cursor c;
    uint64_t epoch;
    uint8_t kind;
    uint32_t key;

    (void)segment;
    (void)e;
    ck_assert_int_eq(type, RECORD_OWNED);
    ck_assert(record_read_owned(payload, &epoch, &kind, &record));
    if (epoch != p->dead_epoch)
        return ST_OK;
    c = cursor_of(record);
    key = cursor_u32(&c);
    ck_assert_uint_lt(key, KEYS);
    p->head[key] = cursor_u32(&c);
    return ST_OK;
}

static enum status
change(struct process *p, const char *from, uint64_t epoch, bool done,
       struct error *e)
{
    struct bucket_owner map[BUCKETS_MAX], now = { .epoch = epoch };
    enum status st = buckets_read(p->c, map, e);

    (void)snprintf(now.member, sizeof now.member, "%s", lease_name(p->l));
    p->epoch = epoch;
    p->dead_epoch = epoch - 1;
    if (!done) {
        (void)snprintf(now.from, sizeof now.from, "%s", from);
        now.from_epoch = epoch - 1;
    }
    return st == ST_OK ? buckets_change(p->c, BUCKET, &map[BUCKET], &now, e)
                       : st;
}

/* -- the owner ------------------------------------------------------------- */

static void
owner_fails(const char *what, const struct error *e)
{
    (void)fprintf(stderr, "the owner: %s: %s\n", what, e->text);
    harness_die();
}

/* Its first number is flushed, its second only in WAL and head when it stops;
 * the third it would acknowledge when it wakes up. */
static _Noreturn void
owner_main(struct shared *s)
{
    struct process p = { .s = s };
    struct error e = { 0 };

    log_set_level(LOG_ERROR);
    while (!atomic_load(&s->begin))
        (void)usleep(1000);
    if (process_open(&p, s->at, &e) != ST_OK ||
        change(&p, "", 1, true, &e) != ST_OK)
        owner_fails("open", &e);
    if (put_all(&p, 1, &e) != ST_OK || flush_all(&p, &e) != ST_OK ||
        put_all(&p, 2, &e) != ST_OK)
        owner_fails("put", &e);
    (void)snprintf(s->name, sizeof s->name, "%s", lease_name(p.l));
    atomic_store(&s->ready, true);
    while (!atomic_load(&s->taken)) /* it is stopped here */
        (void)usleep(1000);
    atomic_store(&s->flush, (int)flush_all(&p, &e));
    atomic_store(&s->append, (int)put_all(&p, 4, &e));
    harness_die();
    abort();
}

/* -- the heir -------------------------------------------------------------- */

static void
take_over(struct process *p)
{
    struct wal_options w = { .read_only = true };
    struct wal *dead;
    struct error e = { 0 };
    enum status st;

    do
        st = lease_fence(p->l, p->s->name, &e);
    while (st == ST_BUSY);
    ck_assert_msg(st == ST_OK, "%s", e.text);
    ck_assert_int_eq(change(p, p->s->name, 2, false, &e), ST_OK);
    w.medium = wal_rados_dead(p->c, p->s->name);
    ck_assert_msg(wal_open(&w, &dead, &e) == ST_OK, "%s", e.text);
    ck_assert_msg(wal_replay(dead, replay_record, p, &e) == ST_OK, "%s",
                  e.text);
    ck_assert_int_eq(wal_close(&dead, &e), ST_OK);
    ck_assert_msg(flush_all(p, &e) == ST_OK, "%s", e.text);
    ck_assert_int_eq(change(p, "", 2, true, &e), ST_OK);
}

/* Keys whose row is older than what a client was told.  The heir has flushed
 * all that is its own. */
static unsigned
count_lost(struct process *p)
{
    unsigned lost = 0;

    for (uint32_t key = 0; key < KEYS; key++) {
        struct buf value = BUF_INIT;
        struct error e = { 0 };
        uint8_t name[4];

        key_put_uint(name, key, 4);
        ck_assert_msg(
            ceph_get_omap(p->c, "rows", slice_of(name, 4), &value, &e) == ST_OK,
            "%s", e.text);
        ck_assert_uint_eq(value.size, 4);
        lost +=
            key_get_uint(value.data, 4) < atomic_load(&p->s->acknowledged[key]);
        buf_fini(&value);
    }
    return lost;
}

static void
stop(pid_t owner)
{
    int how;

    ck_assert_int_eq(kill(owner, SIGSTOP), 0);
    ck_assert_int_eq(waitpid(owner, &how, WUNTRACED), owner);
    ck_assert(WIFSTOPPED(how));
}

/* -- cases ----------------------------------------------------------------- */

#define CLOCK     LEASE_WITHOUT_CLOCK
#define EPOCH     LEASE_WITHOUT_EPOCH
#define BLOCKLIST LEASE_WITHOUT_BLOCKLIST

static const struct {
    unsigned without;
    enum status flush, append; /* of the owner that wakes up */
    bool loses;
} cases[] = {
    { 0, ST_BUSY, ST_CONFLICT, false },
    /* Each of the two alone, and both. */
    { CLOCK, ST_IO, ST_CONFLICT, false },
    { CLOCK | EPOCH, ST_IO, ST_CONFLICT, false },
    /* Its clock is all: it works unless it is stopped behind its look. */
    { EPOCH | BLOCKLIST, ST_BUSY, ST_BUSY, false },
    /* The epoch keeps the WAL whole and lets old rows over newer ones. */
    { CLOCK | BLOCKLIST, ST_OK, ST_CONFLICT, true },
    /* Nothing keeps it from acknowledging what its heir never reads. */
    { CLOCK | EPOCH | BLOCKLIST, ST_OK, ST_OK, true },
};

START_TEST(an_owner_that_was_stopped)
{
    struct shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct process heir = { .s = s };
    struct rados_rig rig;
    struct error e = { 0 };
    pid_t owner;
    unsigned lost;

    ck_assert_ptr_ne(s, MAP_FAILED);
    s->without = cases[_i].without;
    s->flush = s->append = NO_STATUS;
    owner = fork(); /* before there is a thread of librados */
    ck_assert_int_ge(owner, 0);
    if (owner == 0)
        owner_main(s);
    log_set_level(LOG_ERROR);
    rig = rados_rig_new("");
    (void)snprintf(s->at, sizeof s->at, "%s", rig.at);
    atomic_store(&s->begin, true);
    ck_assert_msg(process_open(&heir, rig.other, &e) == ST_OK, "%s", e.text);
    while (!atomic_load(&s->ready))
        ck_assert_int_eq(waitpid(owner, NULL, WNOHANG), 0);
    stop(owner);
    take_over(&heir);
    ck_assert_uint_eq(count_lost(&heir), 0);
    ck_assert_msg(put_all(&heir, 3, &e) == ST_OK, "%s", e.text);
    ck_assert_msg(flush_all(&heir, &e) == ST_OK, "%s", e.text);
    atomic_store(&s->taken, true);
    ck_assert_int_eq(kill(owner, SIGCONT), 0);
    harness_wait_dead(owner);
    ck_assert_int_eq(s->flush, cases[_i].flush);
    ck_assert_int_eq(s->append, cases[_i].append);
    lost = count_lost(&heir);
    (void)printf("without %u: %u of %d keys lost\n", s->without, lost, KEYS);
    ck_assert(cases[_i].loses ? lost > 0 : lost == 0);
    /* What is left goes when no bucket names it. */
    ck_assert_msg(lease_forget(heir.l, s->name, &e) == ST_OK, "%s", e.text);
    ck_assert_int_eq(wal_close(&heir.wal, &e), ST_OK);
    ck_assert_int_eq(lease_close(&heir.l, &e), ST_OK);
    ceph_close(&heir.c);
    rados_rig_free(&rig);
    (void)munmap(s, sizeof *s);
}
END_TEST

RADOS_TEST_MAIN("fence", LOOP(an_owner_that_was_stopped, cases))
