#include "tsd/auth/auth.h"

#include <crypt.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/process/clock.h"
#include "base/file/file.h"
#include "base/hash.h"
#include "base/process/lock.h"
#include "base/process/log.h"
#include "base/process/thread.h"
#include "base/mem.h"
#include "base/obj.h"

#define AUTH_MAGIC  FOURCC('A', 'U', 'T', 'H')
#define FILE_MAX    ((size_t)8 << 20)
#define GUESS_US    INT64_C(1000000) /* what a wrong password costs */
#define PEERS       1024
#define ALL_GUESSES 20 /* times AUTH_GUESSES, of all addresses */

struct auth_job {
    void (*run)(void *arg);
    void *arg;
};

struct auth {
    uint32_t magic;
    char *path;
    uint8_t key[AUTH_DIGEST_SIZE]; /* of verifiers; the process' own */
    uint64_t seed;
    atomic_uint_fast64_t generation; /* changes with the table */
    struct lock lock;
    struct auth_table *table GUARDED_BY(lock);
    /* When the guesses so far are paid for: by address, and of all. */
    int64_t charged_us[PEERS] GUARDED_BY(lock);
    int64_t all_charged_us GUARDED_BY(lock);
    /* The thread that computes hashes, and its queue: jobs[0] is next. */
    struct thread thread;
    struct cond wake;
    struct auth_job jobs[AUTH_QUEUE] GUARDED_BY(lock);
    size_t jobs_len GUARDED_BY(lock);
    bool stop GUARDED_BY(lock);
};

/* -- the file -------------------------------------------------------------- */

/* What tells an entry from one of the same name with another secret. */
static void
make_marks(struct auth_table *t)
{
    for (size_t i = 0; i < t->len; i++) {
        struct auth_entry *x = &t->entries[i];
        struct slice secret = x->hash == NULL
                                  ? slice_of(x->digest, sizeof x->digest)
                                  : slice_str(x->hash);
        gnutls_hash_hd_t h;

        INSIST(gnutls_hash_init(&h, GNUTLS_DIG_SHA256) == 0);
        INSIST(gnutls_hash(h, x->name, strlen(x->name) + 1) == 0);
        INSIST(gnutls_hash(h, secret.data, secret.size) == 0);
        gnutls_hash_deinit(h, x->fingerprint);
    }
}

/* A user whose entry did not change is remembered as before: after a reload the
 * clients need not be hashed again. */
static void
keep_proofs(struct auth_table *table, const struct auth_table *old)
{
    for (size_t i = 0; old != NULL && i < old->len; i++) {
        const struct auth_entry *from = &old->entries[i];

        for (size_t j = 0; from->verified && j < table->len; j++) {
            struct auth_entry *to = &table->entries[j];

            if (memcmp(to->fingerprint, from->fingerprint,
                       sizeof to->fingerprint) != 0)
                continue;
            memcpy(to->verifier, from->verifier, sizeof to->verifier);
            to->verified = true;
        }
    }
}

enum status
auth_reload(struct auth *a, struct error *e)
{
    struct auth_table *table = NULL, *old;
    struct buf text = BUF_INIT;
    struct error why;
    struct stat info;
    enum status st;

    OBJ_CHECK(a, AUTH_MAGIC);
    if (stat(a->path, &info) == 0 && (info.st_mode & 07) != 0)
        log_warn("auth", "%s: others than its owner may read it", a->path);
    st = file_read(a->path, FILE_MAX, &text, e);
    if (st == ST_OK) {
        st = auth_table_parse(buf_slice(&text), &table, &why);
        if (st != ST_OK)
            st = error_set(e, st, "%s: %s", a->path, why.text);
    }
    buf_fini(&text);
    if (st != ST_OK)
        return st;
    make_marks(table);
    lock_take(&a->lock);
    old = a->table;
    keep_proofs(table, old);
    a->table = table;
    (void)atomic_fetch_add(&a->generation, 1);
    lock_drop(&a->lock);
    auth_table_free(&old);
    return ST_OK;
}

/* -- the thread that computes hashes --------------------------------------- */

static void *
auth_run(void *arg)
{
    struct auth *a = arg;
    struct auth_job job;

    lock_take(&a->lock);
    for (;;) {
        while (a->jobs_len == 0 && !a->stop)
            cond_wait(&a->wake, &a->lock);
        if (a->jobs_len == 0)
            break;
        job = a->jobs[0];
        a->jobs_len--;
        memmove(a->jobs, a->jobs + 1, a->jobs_len * sizeof job);
        lock_drop(&a->lock);
        job.run(job.arg);
        lock_take(&a->lock);
    }
    lock_drop(&a->lock);
    return NULL;
}

bool
auth_later(void *ctx, void (*run)(void *arg), void *arg)
{
    struct auth *a = ctx;
    bool room;

    OBJ_CHECK(a, AUTH_MAGIC);
    lock_take(&a->lock);
    room = a->jobs_len < AUTH_QUEUE;
    if (room)
        a->jobs[a->jobs_len++] = (struct auth_job){ run, arg };
    cond_signal(&a->wake);
    lock_drop(&a->lock);
    return room;
}

enum status
auth_open(const char *path, struct auth **out, struct error *e)
{
    struct auth *a = mem_new(sizeof *a);
    enum status st;

    a->magic = AUTH_MAGIC;
    a->path = mem_strdup(path);
    a->seed = hash_random_seed();
    lock_init(&a->lock);
    cond_init(&a->wake);
    *out = a;
    if (gnutls_rnd(GNUTLS_RND_KEY, a->key, sizeof a->key) < 0)
        st = error_set(e, ST_IO, "no random numbers");
    else
        st = auth_reload(a, e);
    if (st == ST_OK)
        st = thread_start(&a->thread, auth_run, a, "authentication", e);
    if (st != ST_OK)
        auth_close(out);
    return st;
}

void
auth_close(struct auth **ap)
{
    struct auth *a = OBJ_TAKE(ap, AUTH_MAGIC);
    struct auth_table *table;

    if (a == NULL)
        return;
    lock_take(&a->lock);
    a->stop = true;
    cond_signal(&a->wake);
    lock_drop(&a->lock);
    thread_join(&a->thread);
    lock_take(&a->lock);
    table = a->table;
    a->table = NULL;
    lock_drop(&a->lock);
    auth_table_free(&table);
    cond_fini(&a->wake);
    lock_fini(&a->lock);
    free(a->path);
    gnutls_memset(a->key, 0, sizeof a->key);
    OBJ_FREE(a);
}

/* -- guesses --------------------------------------------------------------- */

static int64_t *
charged_until(struct auth *a, uint64_t peer) REQUIRES(a->lock)
{
    struct slice bytes = slice_of(&peer, sizeof peer);

    return &a->charged_us[hash_slice(bytes, a->seed) % PEERS];
}

static void
charge(int64_t *charged, int64_t price)
{
    int64_t now = clock_monotonic_us();

    *charged = (*charged < now ? now : *charged) + price;
}

/* -- passwords ------------------------------------------------------------- */

/* What stands for a password in memory: worth nothing without the key. */
static void
make_verifier(const struct auth *a, struct slice name, struct slice password,
              uint8_t *out)
{
    gnutls_hmac_hd_t h;

    memset(out, 0, AUTH_DIGEST_SIZE);
    INSIST(gnutls_hmac_init(&h, GNUTLS_MAC_SHA256, a->key, sizeof a->key) == 0);
    INSIST(gnutls_hmac(h, name.data, name.size) == 0);
    INSIST(gnutls_hmac(h, "", 1) == 0);
    INSIST(gnutls_hmac(h, password.data, password.size) == 0);
    gnutls_hmac_deinit(h, out);
}

static struct auth_entry *
find_user(struct auth *a, struct slice name) REQUIRES(a->lock)
{
    for (size_t i = 0; i < a->table->len; i++)
        if (a->table->entries[i].hash != NULL &&
            slice_eq_str(name, a->table->entries[i].name))
            return &a->table->entries[i];
    return NULL;
}

#define PASSWORD_MAX 512 /* crypt(3) takes no longer ones */

static bool
auth_matches(const char *hash, struct slice password)
{
    struct crypt_data *data;
    char *text;
    const char *got;
    size_t size = strlen(hash);
    bool same;

    if (password.size > PASSWORD_MAX)
        return false;
    data = mem_new(sizeof *data);
    text = mem_strndup(password.data, password.size);
    got = crypt_r(text, hash, data);
    same = got != NULL && strlen(got) == size &&
           gnutls_memcmp(got, hash, size) == 0;

    gnutls_memset(text, 0, password.size);
    gnutls_memset(data, 0, sizeof *data);
    free(text);
    free(data);
    return same;
}

static void
auth_identify(const struct auth *a, const struct auth_entry *x,
              struct auth_identity *out) REQUIRES(a->lock)
{
    (void)snprintf(out->name, sizeof out->name, "%s", x->name);
    out->rights = x->rights | a->table->anonymous;
    out->generation = atomic_load(&a->generation);
    memcpy(out->fingerprint, x->fingerprint, sizeof out->fingerprint);
}

/* What is known without crypt(3).  An unknown name takes as long as a wrong
 * password of the user whose hash costs most.  AUTH_SLOW: nothing, and '*hash'
 * must be tried: it is set (to be freed) and charged when 'may_hash'. */
static enum auth_verdict
auth_look_up(struct auth *a, struct slice name, uint64_t peer,
             const uint8_t *verifier, bool may_hash, char **hash,
             struct auth_identity *out)
{
    enum auth_verdict v = AUTH_WRONG;
    int64_t most_us = clock_monotonic_us() + AUTH_GUESSES * GUESS_US;
    const struct auth_entry *x;
    const char *found;

    lock_take(&a->lock);
    x = find_user(a, name);
    if (x != NULL && x->verified &&
        gnutls_memcmp(x->verifier, verifier, AUTH_DIGEST_SIZE) == 0) {
        auth_identify(a, x, out);
        v = AUTH_OK;
    } else if (*charged_until(a, peer) >= most_us ||
               a->all_charged_us >= most_us) {
        v = AUTH_TOO_MANY;
    } else if ((found = x == NULL ? a->table->costliest : x->hash) == NULL) {
        v = AUTH_WRONG; /* there are no users */
    } else if (!may_hash) {
        v = AUTH_SLOW;
    } else {
        v = AUTH_SLOW;
        *hash = mem_strdup(found);
        /* Until it is known to be right it counts as wrong, so that many at
         * once are no way around. */
        charge(charged_until(a, peer), GUESS_US);
        charge(&a->all_charged_us, GUESS_US / ALL_GUESSES);
    }
    lock_drop(&a->lock);
    return v;
}

/* The password fits 'hash': whose it was, if the file still says so. */
static enum auth_verdict
accept_user(struct auth *a, struct slice name, uint64_t peer,
            const uint8_t *verifier, const char *hash,
            struct auth_identity *out)
{
    enum auth_verdict v = AUTH_WRONG;
    struct auth_entry *x;

    lock_take(&a->lock);
    x = find_user(a, name);
    if (x != NULL && strcmp(x->hash, hash) == 0) {
        memcpy(x->verifier, verifier, AUTH_DIGEST_SIZE);
        x->verified = true;
        auth_identify(a, x, out);
        *charged_until(a, peer) -= GUESS_US;
        a->all_charged_us -= GUESS_US / ALL_GUESSES;
        v = AUTH_OK;
    }
    lock_drop(&a->lock);
    return v;
}

enum auth_verdict
auth_password(struct auth *a, struct slice name, struct slice password,
              uint64_t peer, bool may_hash, struct auth_identity *out)
{
    uint8_t verifier[AUTH_DIGEST_SIZE];
    enum auth_verdict v;
    char *hash = NULL;

    OBJ_CHECK(a, AUTH_MAGIC);
    if (name.size == 0 || name.size > AUTH_NAME_MAX || password.size == 0 ||
        password.size > AUTH_SECRET_MAX ||
        memchr(password.data, '\0', password.size) != NULL)
        return AUTH_WRONG;
    make_verifier(a, name, password, verifier);
    v = auth_look_up(a, name, peer, verifier, may_hash, &hash, out);
    if (hash != NULL)
        v = auth_matches(hash, password)
                ? accept_user(a, name, peer, verifier, hash, out)
                : AUTH_WRONG;
    free(hash);
    return v;
}

/* -- tokens ---------------------------------------------------------------- */

static void
digest(struct slice token, uint8_t *out)
{
    INSIST(gnutls_hash_fast(GNUTLS_DIG_SHA256, token.data, token.size, out) ==
           0);
}

enum auth_verdict
auth_token(struct auth *a, struct slice token, struct auth_identity *out)
{
    uint8_t got[AUTH_DIGEST_SIZE];
    const struct auth_entry *found = NULL;

    OBJ_CHECK(a, AUTH_MAGIC);
    if (token.size == 0 || token.size > AUTH_SECRET_MAX)
        return AUTH_WRONG;
    digest(token, got);
    lock_take(&a->lock);
    for (size_t i = 0; i < a->table->len; i++) {
        const struct auth_entry *x = &a->table->entries[i];

        if (x->hash == NULL && gnutls_memcmp(x->digest, got, sizeof got) == 0)
            found = x;
    }
    if (found != NULL)
        auth_identify(a, found, out);
    lock_drop(&a->lock);
    return found == NULL ? AUTH_WRONG : AUTH_OK;
}

void
auth_token_digest(struct slice token, char *out, size_t size)
{
    uint8_t bytes[AUTH_DIGEST_SIZE];
    struct buf b = BUF_INIT;

    digest(token, bytes);
    buf_put_str(&b, "sha256:");
    for (size_t i = 0; i < sizeof bytes; i++)
        buf_printf(&b, "%02x", bytes[i]);
    (void)snprintf(out, size, "%s", buf_cstr(&b));
    buf_fini(&b);
}

/* -- both ------------------------------------------------------------------ */

static void
identify_anonymous(struct auth *a, struct auth_identity *out) REQUIRES(a->lock)
{
    *out = (struct auth_identity){ .rights = a->table->anonymous,
                                   .generation = atomic_load(&a->generation) };
}

void
auth_anonymous(struct auth *a, struct auth_identity *out)
{
    OBJ_CHECK(a, AUTH_MAGIC);
    lock_take(&a->lock);
    identify_anonymous(a, out);
    lock_drop(&a->lock);
}

bool
auth_renew(struct auth *a, uint64_t generation, const uint8_t *fingerprint,
           struct auth_identity *out)
{
    OBJ_CHECK(a, AUTH_MAGIC);
    if (generation == atomic_load(&a->generation))
        return false;
    lock_take(&a->lock);
    identify_anonymous(a, out);
    for (size_t i = 0; i < a->table->len; i++)
        if (memcmp(a->table->entries[i].fingerprint, fingerprint,
                   sizeof out->fingerprint) == 0)
            auth_identify(a, &a->table->entries[i], out);
    lock_drop(&a->lock);
    return true;
}

enum auth_verdict
auth_header(struct auth *a, struct slice value, uint64_t peer, bool may_hash,
            struct auth_identity *out)
{
    struct auth_credentials credentials;
    enum auth_verdict v = AUTH_WRONG;

    if (auth_credentials_parse(value, &credentials))
        v = credentials.is_token
                ? auth_token(a, credentials.secret, out)
                : auth_password(a, credentials.name, credentials.secret, peer,
                                may_hash, out);
    gnutls_memset(&credentials, 0, sizeof credentials);
    return v;
}
