/* Authentication: names with roles, from halite.auth.file (docs/SECURITY.md).
 *
 * Passwords are kept as crypt(3) hashes, which take milliseconds to check; so
 * the last good password of each user is remembered, as a keyed hash under a
 * key that dies with the process, and checked against that first.  A client
 * that guesses is slowed down: past GUESSES wrong passwords in a row from one
 * address (or twenty times that from all) one more a second is looked at.  No
 * more than one hash is computed at a time, in a thread of its own: HTTP and
 * telnet, whose threads serve many clients, hand the check over by
 * auth_later().  Tokens are long and random, and kept as SHA-256.  Comparisons
 * take the same time whatever differs, and an unknown name takes as long as a
 * wrong password.
 *
 * Threads: any.
 * Fails:   ST_IO when the file cannot be read, ST_INVALID with its line. */
#pragma once

#include "tsd/auth/auth_text.h"

#define AUTH_GUESSES 10
#define AUTH_QUEUE   8 /* passwords that may wait to be hashed */

struct auth; /* opaque */

enum auth_verdict {
    AUTH_OK,
    AUTH_WRONG,
    AUTH_TOO_MANY, /* guesses: it was not even looked at */
    AUTH_SLOW,     /* call again with 'may_hash', from auth_later() */
};

/* A client that was recognized, or an anonymous one. */
struct auth_identity {
    char name[AUTH_NAME_MAX + 1]; /* "": anonymous */
    unsigned rights;
    uint64_t generation;                   /* of the file, counted */
    uint8_t fingerprint[AUTH_DIGEST_SIZE]; /* of the name and the secret */
};

MUST_CHECK enum status auth_open(const char *path, struct auth **out,
                                 struct error *e);
void auth_close(struct auth **a);
/* Reads the file again; on failure what was read before holds. */
MUST_CHECK enum status auth_reload(struct auth *a, struct error *e);

/* The identity of a client without credentials, with what it may do. */
void auth_anonymous(struct auth *a, struct auth_identity *out);
/* The identity now of the client with this 'generation' and 'fingerprint':
 * anonymous, when the file does not have its name with its secret any more.
 * False: nothing has changed since. */
bool auth_renew(struct auth *a, uint64_t generation, const uint8_t *fingerprint,
                struct auth_identity *out);
/* 'peer' is address_key() of the client: guesses are counted by it, over both
 * protocols.  Without 'may_hash' it is quick, and AUTH_SLOW where crypt(3) must
 * decide; with it, it takes as long as the hash. */
enum auth_verdict auth_password(struct auth *a, struct slice name,
                                struct slice password, uint64_t peer,
                                bool may_hash, struct auth_identity *out);
enum auth_verdict auth_token(struct auth *a, struct slice token,
                             struct auth_identity *out);
/* The value of an Authorization header. */
enum auth_verdict auth_header(struct auth *a, struct slice value, uint64_t peer,
                              bool may_hash, struct auth_identity *out);

/* Calls 'run' from the one thread that may compute hashes.  False, and nothing
 * happens, when AUTH_QUEUE calls wait already.  'ctx' is the struct auth. */
bool auth_later(void *ctx, void (*run)(void *arg), void *arg);

/* "sha256:..", for the file. */
void auth_token_digest(struct slice token, char *out, size_t size);
