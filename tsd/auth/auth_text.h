/* The texts of access control: the file of those who may come in
 * (docs/SECURITY.md), and the header in which they say who they are.
 *
 *     user   NAME ROLES HASH              HASH as crypt(3) makes it
 *     token  NAME ROLES sha256:HEX        of a long random text
 *     anonymous ROLES                     a client without credentials
 *
 * Owns:    a table owns its texts; auth_table_free().
 * Threads: owner, then frozen, but for 'verified', 'verifier', 'fingerprint'.
 * Fails:   ST_INVALID with the number of the line; ST_LIMIT for a file of more
 *          than AUTH_ENTRIES_MAX entries. */
#pragma once

#include "base/error.h"
#include "base/slice.h"

#define AUTH_ENTRIES_MAX 2000
#define AUTH_NAME_MAX    64
#define AUTH_SECRET_MAX  512
#define AUTH_DIGEST_SIZE 32

struct auth_entry {
    char name[AUTH_NAME_MAX + 1];
    unsigned rights; /* of enum http_right */
    char *hash;      /* of a user's password; NULL: this is a token */
    uint8_t digest[AUTH_DIGEST_SIZE]; /* of the token */
    bool verified;                    /* 'verifier' is set: tsd/auth/auth.c */
    uint8_t verifier[AUTH_DIGEST_SIZE];
    uint8_t fingerprint[AUTH_DIGEST_SIZE]; /* of name and secret */
};

struct auth_table {
    struct auth_entry *entries;
    size_t len;
    unsigned anonymous;    /* roles without credentials */
    const char *costliest; /* of the users' hashes; NULL: there are none */
    uint64_t cost_ns;      /* of that */
};

MUST_CHECK enum status
auth_table_parse(struct slice text, struct auth_table **out, struct error *e);
void auth_table_free(struct auth_table **t);

/* "read,write": the rights; false for anything else.  admin is all of them. */
bool auth_roles_parse(struct slice text, unsigned *out);
/* A name is of letters, digits and -_.@ */
bool auth_name_is_fine(struct slice name);
/* A method of crypt(3) that is worth having, and nothing odd in the hash. */
bool auth_hash_is_fine(struct slice hash);

/* What an Authorization header holds. */
struct auth_credentials {
    bool is_token;
    struct slice name, secret; /* lie in 'bytes', or in the header */
    uint8_t bytes[AUTH_NAME_MAX + 1 + AUTH_SECRET_MAX];
};

/* "Basic BASE64" or "Bearer TOKEN"; false for anything else. */
bool auth_credentials_parse(struct slice header, struct auth_credentials *out);
