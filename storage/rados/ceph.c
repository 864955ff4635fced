/* Connections, one for equal texts, and what errors mean. */
#include "storage/rados/ceph.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process/lock.h"
#include "base/mem.h"
#include "base/obj.h"
#include "storage/rados/ceph_priv.h"

#define TIMEOUT_S     10
#define TIMEOUT_MAX_S 3600
#define OLDEST        15 /* Octopus: omap_rm_range, locks with durations */
#define NAME_MAX_LEN  128

/* A text in its parts. */
struct target {
    char pool[NAME_MAX_LEN];
    char name_space[NAME_MAX_LEN];
    char conf[1024], id[NAME_MAX_LEN];
    unsigned timeout_s;
};

struct librados librados;

static struct library library = {
    .purpose = "a store in a pool of Ceph",
    .package = "librados2",
    .file_names = { "librados.so.2" },
    LIBRARY_CALLS(LIBRADOS_CALLS, librados),
};

static struct lock open_lock = LOCK_INIT; /* of the list */
static struct ceph *open_list;

/* -- the text -------------------------------------------------------------- */

static enum status
copy_part(const char *from, const char *what, char *out, size_t size,
          struct error *e)
{
    if (strlen(from) >= size)
        return error_set(e, ST_INVALID, "the %s is longer than %zu characters",
                         what, size - 1);
    memcpy(out, from, strlen(from) + 1);
    return ST_OK;
}

static enum status
take_option(struct target *t, const char *name, const char *value,
            struct error *e)
{
    unsigned long n;
    char *end;

    if (strcmp(name, "conf") == 0)
        return copy_part(value, "conf= of a pool", t->conf, sizeof t->conf, e);
    if (strcmp(name, "id") == 0)
        return copy_part(value, "id= of a pool", t->id, sizeof t->id, e);
    if (strcmp(name, "connection") == 0)
        return ST_OK;
    if (strcmp(name, "timeout") != 0)
        return error_set(e, ST_INVALID,
                         "no option \"%s\" of a pool: conf, id or timeout",
                         name);
    n = strtoul(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end != '\0' || n == 0 ||
        n > TIMEOUT_MAX_S)
        return error_set(e, ST_INVALID, "timeout=%s of a pool: 1 to %d seconds",
                         value, TIMEOUT_MAX_S);
    t->timeout_s = (unsigned)n;
    return ST_OK;
}

static enum status
target_parse(const char *at, struct target *t, struct error *e)
{
    char *text = mem_strdup(at), *options = text, *space, *pool, *option;
    enum status st;

    *t = (struct target){ .timeout_s = TIMEOUT_S };
    space = strsep(&options, "?");
    pool = strsep(&space, "/");
    st = copy_part(pool, "name of a pool", t->pool, sizeof t->pool, e);
    if (st == ST_OK && space != NULL)
        st = copy_part(space, "namespace of a pool", t->name_space,
                       sizeof t->name_space, e);
    if (st == ST_OK && t->pool[0] == '\0')
        st = error_set(e, ST_INVALID,
                       "a pool has a name: POOL[/NAMESPACE][?conf=FILE&id=ID]");
    while (st == ST_OK && (option = strsep(&options, "&")) != NULL) {
        const char *name = strsep(&option, "=");

        st = take_option(t, name, option == NULL ? "" : option, e);
    }
    free(text);
    return st;
}

enum status
ceph_check(const char *at, struct error *e)
{
    struct target t;

    return target_parse(at, &t, e);
}

/* -- opening --------------------------------------------------------------- */

static enum status
cannot(struct error *e, int error, const char *what, const char *name,
       const char *remedy)
{
    return error_set(e, error == -ETIMEDOUT ? ST_TIMEOUT : ST_IO,
                     "%s %s: %s: %s", what, name, strerror(-error), remedy);
}

static enum status
configure(rados_t cluster, const struct target *t, struct error *e)
{
    const char *conf = t->conf[0] == '\0' ? NULL : t->conf;
    char timeout[16];
    int r = librados.conf_read_file(cluster, conf);

    if (r < 0)
        return cannot(e, r, "read the cluster's configuration",
                      conf == NULL ? "/etc/ceph/ceph.conf" : conf,
                      "name the file with conf= behind the pool");
    (void)librados.conf_parse_env(cluster, NULL);
    (void)snprintf(timeout, sizeof timeout, "%u", t->timeout_s);
    (void)librados.conf_set(cluster, "rados_osd_op_timeout", timeout);
    (void)librados.conf_set(cluster, "rados_mon_op_timeout", timeout);
    (void)librados.conf_set(cluster, "client_mount_timeout", timeout);
    /* So often a watch says that it is alive: timeouts of watches are as short
     * as leases, five seconds and less. */
    (void)librados.conf_set(cluster, "objecter_tick_interval", "1");
    return ST_OK;
}

static enum status
connect_to(struct ceph *c, const struct target *t, struct error *e)
{
    int r = librados.create(&c->cluster, t->id[0] == '\0' ? NULL : t->id);
    enum status st;

    if (r < 0)
        return cannot(e, r, "a client of Ceph, id", t->id, "it cannot be made");
    st = configure(c->cluster, t, e);
    if (st == ST_OK && (r = librados.connect(c->cluster)) < 0)
        st = cannot(e, r, "connect to the Ceph cluster of pool", t->pool,
                    r == -ETIMEDOUT
                        ? "no monitor answers; see 'ceph -s'"
                        : "see conf=, id= and the keyring of that id");
    if (st == ST_OK &&
        (r = librados.ioctx_create(c->cluster, t->pool, &c->pool)) < 0)
        st = cannot(e, r, "open pool", t->pool,
                    "an operator makes it: 'ceph osd pool create'");
    if (st != ST_OK) {
        librados.shutdown(c->cluster);
        return st;
    }
    librados.ioctx_set_namespace(c->pool, t->name_space);
    /* Else every write to a full pool waits, renewals of leases, too. */
    librados.set_pool_full_try(c->pool);
    return ST_OK;
}

static struct ceph *
find_open(const char *at) REQUIRES(open_lock)
{
    struct ceph *c = open_list;

    while (c != NULL && strcmp(c->at, at) != 0)
        c = c->next;
    return c;
}

enum status
ceph_open(const char *at, struct ceph **out, struct error *e)
{
    struct target t;
    struct ceph *c;
    enum status st = target_parse(at, &t, e);

    *out = NULL;
    if (st == ST_OK)
        st = library_load(&library, e);
    if (st != ST_OK)
        return st;
    lock_take(&open_lock);
    c = find_open(at);
    if (c == NULL) {
        c = mem_new(sizeof *c);
        st = connect_to(c, &t, e);
        if (st != ST_OK) {
            free(c);
            lock_drop(&open_lock);
            return st;
        }
        c->magic = CEPH_MAGIC;
        c->at = mem_strdup(at);
        c->next = open_list;
        open_list = c;
    }
    c->users++;
    lock_drop(&open_lock);
    *out = c;
    return ST_OK;
}

void
ceph_close(struct ceph **owner)
{
    struct ceph *c = OBJ_TAKE(owner, CEPH_MAGIC);
    struct ceph **link = &open_list;

    if (c == NULL)
        return;
    lock_take(&open_lock);
    if (--c->users > 0) {
        lock_drop(&open_lock);
        return;
    }
    while (*link != c)
        link = &(*link)->next;
    *link = c->next;
    lock_drop(&open_lock);
    librados.ioctx_destroy(c->pool);
    librados.shutdown(c->cluster);
    free(c->at);
    OBJ_FREE(c);
}

/* -- errors ---------------------------------------------------------------- */

enum status
ceph_status(struct ceph *c, int error, const char *what, const char *object,
            struct error *e)
{
    OBJ_CHECK(c, CEPH_MAGIC);
    switch (-error) {
    case ENOENT:
        return error_set(e, ST_NOT_FOUND, "%s %s: there is none", what, object);
    case EEXIST:
        return error_set(e, ST_CONFLICT, "%s %s: another one was faster", what,
                         object);
    case ECANCELED:
        return error_set(e, ST_CONFLICT,
                         "%s %s: it was changed meanwhile by another one", what,
                         object);
    case EBUSY:
        return error_set(e, ST_BUSY, "%s %s: another one has it", what, object);
    case ETIMEDOUT:
        return error_set(e, ST_TIMEOUT,
                         "%s %s: no answer from its OSDs in time; "
                         "see 'ceph health detail'",
                         what, object);
    case ESHUTDOWN:
        atomic_store(&c->blocklisted, true);
        return error_set(e, ST_IO,
                         "%s %s: this process is blocklisted: another one took "
                         "its work over, and it must be started anew",
                         what, object);
    case EPERM:
    case EACCES:
        return error_set(e, ST_IO,
                         "%s %s: the id has no right to that: it needs mon "
                         "'profile rbd', osd 'allow rwx pool=POOL'; see 'ceph "
                         "auth caps'",
                         what, object);
    default:
        return error < 0 ? error_set(e, ST_IO, "%s %s: %s", what, object,
                                     strerror(-error))
                         : ST_OK;
    }
}

enum status
ceph_write_status(struct ceph *c, int error, const char *what,
                  const char *object, struct error *e)
{
    if (error != -ENOSPC && error != -EDQUOT)
        return ceph_status(c, error, what, object, e);
    atomic_store(&c->full, true);
    return error_set(e, ST_IO,
                     "%s %s: the pool is full: writes are rejected until there "
                     "are more OSDs, or its quota is higher; reading goes on",
                     what, object);
}

bool
ceph_is_blocklisted(const struct ceph *c)
{
    OBJ_CHECK(c, CEPH_MAGIC);
    return atomic_load(&c->blocklisted);
}

bool
ceph_is_full(const struct ceph *c)
{
    OBJ_CHECK(c, CEPH_MAGIC);
    return atomic_load(&c->full);
}

uint64_t
ceph_calls(const struct ceph *c, enum ceph_call call)
{
    OBJ_CHECK(c, CEPH_MAGIC);
    return atomic_load(&c->calls[call]);
}

void
ceph_set_fault(struct ceph *c, ceph_fault_fn *f, void *ctx)
{
    OBJ_CHECK(c, CEPH_MAGIC);
    c->fault_ctx = ctx;
    c->fault = f;
}

int
ceph_enter(struct ceph *c, enum ceph_call call, const char *object)
{
    OBJ_CHECK(c, CEPH_MAGIC);
    atomic_fetch_add_explicit(&c->calls[call], 1, memory_order_relaxed);
    return c->fault == NULL ? 0 : c->fault(c->fault_ctx, call, object);
}

int
ceph_leave(int fault, int result)
{
    return fault < 0 ? fault : fault > 0 && result >= 0 ? -fault : result;
}

/* -- the cluster ----------------------------------------------------------- */

enum status
ceph_address(struct ceph *c, struct buf *out, struct error *e)
{
    char *address = NULL;
    int r;

    OBJ_CHECK(c, CEPH_MAGIC);
    r = librados.getaddrs(c->cluster, &address);
    if (r < 0)
        return ceph_status(c, r, "ask for", "this client's address", e);
    buf_clear(out);
    buf_put_str(out, address);
    free(address);
    return out->failed ? error_no_memory(e) : ST_OK;
}

/* "v2:10.0.0.1:0/123" is "10.0.0.1:0/123" to the monitors. */
static enum status
plain_address(const char *address, char *out, size_t size, struct error *e)
{
    const char *slash = strrchr(address, '/');

    if (strncmp(address, "v1:", 3) == 0 || strncmp(address, "v2:", 3) == 0)
        address += 3;
    if (slash == NULL || slash[1] == '\0' || strlen(address) >= size ||
        strpbrk(address, "[], ") != NULL)
        return error_set(e, ST_INVALID,
                         "\"%s\" is no address of a client of Ceph", address);
    memcpy(out, address, strlen(address) + 1);
    return ST_OK;
}

enum status
ceph_blocklist(struct ceph *c, const char *address, unsigned seconds,
               struct error *e)
{
    char plain[128];
    enum status st = plain_address(address, plain, sizeof plain, e);
    int fault, r;

    OBJ_CHECK(c, CEPH_MAGIC);
    if (st != ST_OK)
        return st;
    fault = ceph_enter(c, CEPH_CALL_CLUSTER, plain);
    r = fault < 0 ? 0 : librados.blocklist_add(c->cluster, plain, seconds);
    r = ceph_leave(fault, r);
    if (r >= 0)
        r = librados.wait_for_latest_osdmap(c->cluster);
    return ceph_status(c, r, "blocklist", plain, e);
}

enum status
ceph_check_version(struct ceph *c, struct error *e)
{
    int8_t oldest = 0;
    int r;

    OBJ_CHECK(c, CEPH_MAGIC);
    r = librados.get_min_compatible_osd(c->cluster, &oldest);
    if (r < 0)
        return ceph_status(c, r, "ask for the version of", "the OSDs", e);
    if (oldest < OLDEST)
        return error_set(e, ST_INVALID,
                         "the cluster allows OSDs of version %d, and %d is "
                         "needed: update them, then 'ceph osd "
                         "require-osd-release'",
                         oldest, OLDEST);
    return ST_OK;
}

enum status
ceph_each_object(struct ceph *c,
                 enum status (*f)(void *ctx, const char *object,
                                  struct error *e),
                 void *ctx, struct error *e)
{
    rados_list_ctx_t list;
    const char *name;
    enum status st = ST_OK;
    int r, fault;

    OBJ_CHECK(c, CEPH_MAGIC);
    fault = ceph_enter(c, CEPH_CALL_READ, "");
    r = fault < 0 ? fault : librados.nobjects_list_open(c->pool, &list);
    if (r < 0)
        return ceph_status(c, r, "list", "the pool", e);
    while (st == ST_OK &&
           (r = librados.nobjects_list_next(list, &name, NULL, NULL)) == 0)
        st = f(ctx, name, e);
    librados.nobjects_list_close(list);
    return st != ST_OK || r == -ENOENT
               ? st
               : ceph_status(c, ceph_leave(fault, r), "list", "the pool", e);
}
