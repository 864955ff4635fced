#include "tsd/auth/auth_text.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/text/digit.h"
#include "base/obj.h"
#include "base/mem.h"
#include "base/text/number.h"
#include "web/http.h"

#define WORDS_MAX 5

static bool
auth_is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static size_t
auth_split(struct slice line, struct slice *words)
{
    size_t len = 0, at = 0;

    while (len < WORDS_MAX) {
        size_t from;

        while (at < line.size && auth_is_blank(line.data[at]))
            at++;
        from = at;
        while (at < line.size && !auth_is_blank(line.data[at]))
            at++;
        if (at == from)
            break;
        words[len++] = slice_of(line.data + from, at - from);
    }
    return len;
}

bool
auth_name_is_fine(struct slice name)
{
    for (size_t i = 0; i < name.size; i++)
        if (!isalnum(name.data[i]) && memchr("-_.@", name.data[i], 4) == NULL)
            return false;
    return name.size > 0 && name.size <= AUTH_NAME_MAX;
}

bool
auth_roles_parse(struct slice text, unsigned *out)
{
    static const struct {
        const char *name;
        unsigned rights;
    } roles[] = { { "read", HTTP_READS },
                  { "write", HTTP_WRITES },
                  { "admin", HTTP_ALL_RIGHTS } };

    *out = 0;
    while (text.size > 0) {
        struct slice word = slice_cut(&text, ',');
        size_t i = 0;

        while (i < 3 && !slice_eq_str(word, roles[i].name))
            i++;
        if (i == 3)
            return false;
        *out |= roles[i].rights;
    }
    return *out != 0;
}

/* The crypt(3) methods whose hashes cannot be guessed too fast.  'cost' bounds
 * what one check costs: one thread checks all passwords.  Where it begins with
 * a digit it is the most that the number behind the method may be; else it is
 * character by character the most that the parameters may be.  'step_ns' is
 * what a round takes, or a block of 128 bytes, on a machine of 2026. */
static const struct {
    const char *method, *cost;
    unsigned step_ns;
} hash_methods[] = {
    { "$y$", "jDT$", 150 }, /* 65536 x 4 KB */
    { "$gy$", "jDT$", 150 },
    { "$7$", "DU..../....", 240 }, /* 32768 x 4 KB */
    { "$2b$", "14", 50000 },
    { "$2y$", "14", 50000 },
    { "$6$rounds=", "1000000", 250 },
    { "$5$rounds=", "1000000", 250 },
    { "$6$", "", 250 },
    { "$5$", "", 250 },
};

#define METHODS     (sizeof hash_methods / sizeof hash_methods[0])
#define SHA2_ROUNDS 5000 /* where the hash does not say how many */

/* Of a hash; 'rest' is what is behind it.  METHODS: it is none of them. */
static size_t
find_method(struct slice hash, struct slice *rest)
{
    size_t i = 0, size;

    while (i < METHODS &&
           !slice_starts(hash, slice_str(hash_methods[i].method)))
        i++;
    size = i < METHODS ? strlen(hash_methods[i].method) : 0;
    *rest = slice_of(hash.data + size, hash.size - size);
    return i;
}

static bool
hash_cost_is_fine(struct slice rest, const char *cost)
{
    size_t i = 0;

    if (cost[0] >= '0' && cost[0] <= '9') {
        struct slice number = slice_cut(&rest, '$');
        uint64_t n;

        return number.size < 10 && number_parse_u64(number, &n) &&
               n <= strtoull(cost, NULL, 10);
    }
    for (; cost[i] != '\0'; i++)
        if (i >= rest.size || rest.data[i] > (uint8_t)cost[i] ||
            (cost[i] == '$' && rest.data[i] != '$'))
            return false;
    return true;
}

/* A digit of crypt(3)'s numbers. */
static unsigned
digit_of(uint8_t c)
{
    static const char digits[] =
        "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const char *at = memchr(digits, c, sizeof digits - 1);

    return at == NULL ? 0 : (unsigned)(at - digits);
}

bool
auth_hash_is_fine(struct slice hash)
{
    struct slice rest;
    size_t i = find_method(hash, &rest);

    for (size_t at = 0; at < hash.size; at++)
        if (hash.data[at] <= ' ' || hash.data[at] >= 0x7f ||
            strchr(":;*!\\", hash.data[at]) != NULL)
            return false;
    return i < METHODS && hash.size >= 20 && hash.size <= 384 &&
           hash_cost_is_fine(rest, hash_methods[i].cost);
}

/* About how long crypt(3) works for a hash that is fine. */
static uint64_t
hash_cost_ns(struct slice hash)
{
    struct slice rest;
    size_t i = find_method(hash, &rest);
    const char *cost;
    uint64_t steps = SHA2_ROUNDS;

    INSIST(i < METHODS);
    cost = hash_methods[i].cost;
    if (cost[0] == 'j') /* "jNR$": 2^(N + 1) times R + 1 */
        steps = (UINT64_C(2) << digit_of(rest.data[1])) *
                (digit_of(rest.data[2]) + 1);
    else if (cost[0] == 'D') /* "NR": 2^N times R */
        steps =
            (UINT64_C(1) << digit_of(rest.data[0])) * digit_of(rest.data[1]);
    else if (cost[0] != '\0')
        (void)number_parse_u64(slice_cut(&rest, '$'), &steps);
    if (hash.data[1] == '2')
        steps = UINT64_C(1) << steps;
    return steps * hash_methods[i].step_ns;
}

/* NULL, or what is wrong. */
static const char *
auth_add_entry(struct auth_table *t, const struct slice *words, bool is_token)
{
    static const char method[] = "sha256:";
    const size_t skip = sizeof method - 1;
    struct slice secret = words[3];
    struct auth_entry *x;
    struct auth_entry new = { 0 };
    uint64_t cost_ns;
    size_t size = 0;

    if (!auth_name_is_fine(words[1]))
        return "a name is of letters, digits and -_.@";
    if (!auth_roles_parse(words[2], &new.rights))
        return "roles are read, write and admin, parted by commas";
    if (is_token &&
        (!slice_starts(secret, slice_str(method)) ||
         !digits_parse_hex(slice_of(secret.data + skip, secret.size - skip),
                           new.digest, AUTH_DIGEST_SIZE, &size) ||
         size != AUTH_DIGEST_SIZE))
        return "a token is written as sha256: and 64 hexadecimal digits";
    if (!is_token && !auth_hash_is_fine(words[3]))
        return "not a password hash of crypt(3), or one that is too weak or "
               "takes too long to check";
    memcpy(new.name, words[1].data, words[1].size);
    for (size_t i = 0; i < t->len; i++)
        if (strcmp(t->entries[i].name, new.name) == 0)
            return "that name is there already";
    if (t->len % 64 == 0)
        t->entries = mem_resize(t->entries, t->len + 64, sizeof *t->entries);
    x = &t->entries[t->len++];
    *x = new;
    if (is_token)
        return NULL;
    x->hash = mem_strndup(words[3].data, words[3].size);
    cost_ns = hash_cost_ns(words[3]);
    if (cost_ns >= t->cost_ns) {
        t->cost_ns = cost_ns;
        t->costliest = x->hash;
    }
    return NULL;
}

static const char *
add_line(struct auth_table *t, struct slice line)
{
    struct slice words[WORDS_MAX];
    size_t len = auth_split(line, words);
    bool is_token;

    if (len == 0 || words[0].data[0] == '#')
        return NULL;
    if (slice_eq_str(words[0], "anonymous")) {
        if (len != 2 || !auth_roles_parse(words[1], &t->anonymous))
            return "write: anonymous ROLES";
        return NULL;
    }
    is_token = slice_eq_str(words[0], "token");
    if (!is_token && !slice_eq_str(words[0], "user"))
        return "a line begins with user, token or anonymous";
    if (len != 4)
        return is_token ? "write: token NAME ROLES sha256:HEX"
                        : "write: user NAME ROLES HASH";
    return auth_add_entry(t, words, is_token);
}

enum status
auth_table_parse(struct slice text, struct auth_table **out, struct error *e)
{
    struct auth_table *t = mem_new(sizeof *t);
    const char *wrong = NULL;
    size_t line = 0;

    *out = NULL;
    while (text.size > 0 && wrong == NULL && t->len <= AUTH_ENTRIES_MAX) {
        line++;
        wrong = add_line(t, slice_cut(&text, '\n'));
    }
    if (wrong == NULL && t->len <= AUTH_ENTRIES_MAX) {
        *out = t;
        return ST_OK;
    }
    auth_table_free(&t);
    return wrong == NULL
               ? error_set(e, ST_LIMIT, "more than %d names", AUTH_ENTRIES_MAX)
               : error_set(e, ST_INVALID, "line %zu: %s", line, wrong);
}

void
auth_table_free(struct auth_table **tp)
{
    struct auth_table *t = *tp;

    *tp = NULL;
    if (t == NULL)
        return;
    for (size_t i = 0; i < t->len; i++)
        free(t->entries[i].hash);
    free(t->entries);
    free(t);
}

/* False when it is not base64, or more than 'max' bytes. */
static bool
read_base64(struct slice text, uint8_t *out, size_t max, size_t *size)
{
    uint32_t bits = 0;
    unsigned len = 0;

    while (text.size > 0 && text.data[text.size - 1] == '=')
        text.size--;
    *size = 0;
    for (size_t i = 0; i < text.size; i++) {
        int v = digit_base64(text.data[i]);

        if (v < 0)
            return false;
        bits = bits << 6 | (uint32_t)v;
        len += 6;
        if (len < 8)
            continue;
        if (*size == max)
            return false;
        len -= 8;
        out[(*size)++] = (uint8_t)(bits >> len);
    }
    return true;
}

bool
auth_credentials_parse(struct slice header, struct auth_credentials *out)
{
    struct slice rest = slice_trim(header);
    struct slice scheme = slice_cut(&rest, ' ');
    size_t size;

    rest = slice_trim(rest);
    out->is_token = slice_eq_nocase(scheme, slice_str("bearer"));
    out->name = slice_of(NULL, 0);
    out->secret = rest;
    if (out->is_token)
        return rest.size > 0 && rest.size <= AUTH_SECRET_MAX;
    if (!slice_eq_nocase(scheme, slice_str("basic")) ||
        !read_base64(rest, out->bytes, sizeof out->bytes, &size) ||
        memchr(out->bytes, ':', size) == NULL)
        return false;
    out->secret = slice_of(out->bytes, size);
    out->name = slice_cut(&out->secret, ':');
    return out->name.size > 0 && out->name.size <= AUTH_NAME_MAX &&
           out->secret.size > 0 && out->secret.size <= AUTH_SECRET_MAX &&
           memchr(out->secret.data, '\0', out->secret.size) == NULL;
}
