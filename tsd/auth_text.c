/* See tsd/auth_text.h. */
#include "config.h"

#include "tsd/auth_text.h"

#include <stdlib.h>
#include <strings.h>

#include "base/digit.h"
#include "base/mem.h"
#include "web/http.h"

#define WORDS_MAX 5

/* -- words ----------------------------------------------------------------- */

static bool
is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Cuts 's' behind the first 'c'; what was before it is returned. */
static struct slice
cut(struct slice *s, uint8_t c)
{
    const uint8_t *end = s->size == 0 ? NULL : memchr(s->data, c, s->size);
    size_t size = end == NULL ? s->size : (size_t)(end - s->data);
    size_t skip = end == NULL ? size : size + 1;
    struct slice head = slice_of(s->data, size);

    *s = slice_of(s->data + skip, s->size - skip);
    return head;
}

static size_t
split(struct slice line, struct slice *words)
{
    size_t len = 0, at = 0;

    while (len < WORDS_MAX) {
        size_t from;

        while (at < line.size && is_blank(line.data[at]))
            at++;
        from = at;
        while (at < line.size && !is_blank(line.data[at]))
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
    for (size_t i = 0; i < name.size; i++) {
        uint8_t c = name.data[i];

        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
            !(c >= '0' && c <= '9') && c != '-' && c != '_' && c != '.' &&
            c != '@')
            return false;
    }
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
        struct slice word = cut(&text, ',');
        size_t i = 0;

        while (i < 3 && !slice_eq_str(word, roles[i].name))
            i++;
        if (i == 3)
            return false;
        *out |= roles[i].rights;
    }
    return *out != 0;
}

/* yescrypt, gost-yescrypt, scrypt, bcrypt, SHA-512, SHA-256: others can be
 * guessed too fast. */
bool
auth_hash_is_fine(struct slice hash)
{
    static const char *const methods[] = { "$y$",  "$gy$", "$7$", "$2b$",
                                           "$2y$", "$6$",  "$5$" };
    bool known = false;

    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        known |= slice_starts(hash, slice_str(methods[i]));
    for (size_t i = 0; i < hash.size; i++)
        if (hash.data[i] <= ' ' || hash.data[i] >= 0x7f ||
            strchr(":;*!\\", hash.data[i]) != NULL)
            return false;
    return known && hash.size >= 20 && hash.size <= 384;
}

/* -- the file -------------------------------------------------------------- */

static bool
read_digest(struct slice text, uint8_t *out)
{
    static const char method[] = "sha256:";
    size_t skip = sizeof method - 1;

    if (text.size != skip + 2 * (size_t)AUTH_DIGEST_SIZE ||
        !slice_starts(text, slice_str(method)))
        return false;
    for (size_t i = 0; i < AUTH_DIGEST_SIZE; i++) {
        int high = digit_hex(text.data[skip + 2 * i]);
        int low = digit_hex(text.data[skip + 2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* NULL, or what is wrong. */
static const char *
add_entry(struct auth_table *t, const struct slice *words, bool is_token)
{
    struct auth_entry *x;
    struct auth_entry new = { 0 };

    if (!auth_name_is_fine(words[1]))
        return "a name is of letters, digits and -_.@";
    if (!auth_roles_parse(words[2], &new.rights))
        return "roles are read, write and admin, parted by commas";
    if (is_token && !read_digest(words[3], new.digest))
        return "a token is written as sha256: and 64 hexadecimal digits";
    if (!is_token && !auth_hash_is_fine(words[3]))
        return "that is no hash of a password, or a weak one";
    memcpy(new.name, words[1].data, words[1].size);
    for (size_t i = 0; i < t->len; i++)
        if (strcmp(t->entries[i].name, new.name) == 0)
            return "that name is there already";
    if (t->len % 64 == 0)
        t->entries = mem_resize(t->entries, t->len + 64, sizeof *t->entries);
    x = &t->entries[t->len++];
    *x = new;
    if (!is_token)
        x->hash = mem_strndup(words[3].data, words[3].size);
    return NULL;
}

static const char *
add_line(struct auth_table *t, struct slice line)
{
    struct slice words[WORDS_MAX];
    size_t len = split(line, words);
    bool is_token;

    if (len == 0 || words[0].data[0] == '#')
        return NULL;
    if (slice_eq_str(words[0], "anyone")) {
        if (len != 2 || !auth_roles_parse(words[1], &t->anyone))
            return "write: anyone ROLES";
        return NULL;
    }
    is_token = slice_eq_str(words[0], "token");
    if (!is_token && !slice_eq_str(words[0], "user"))
        return "a line begins with user, token or anyone";
    if (len != 4)
        return is_token ? "write: token NAME ROLES sha256:HEX"
                        : "write: user NAME ROLES HASH";
    return add_entry(t, words, is_token);
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
        wrong = add_line(t, cut(&text, '\n'));
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

/* -- the header ------------------------------------------------------------ */

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

static struct slice
trimmed(struct slice s)
{
    while (s.size > 0 && is_blank(s.data[0]))
        s = slice_of(s.data + 1, s.size - 1);
    while (s.size > 0 && is_blank(s.data[s.size - 1]))
        s.size--;
    return s;
}

static bool
is_word(struct slice s, const char *word)
{
    return s.size == strlen(word) &&
           strncasecmp((const char *)s.data, word, s.size) == 0;
}

bool
auth_claim_parse(struct slice header, struct auth_claim *out)
{
    struct slice rest = trimmed(header);
    struct slice scheme = cut(&rest, ' ');
    size_t size;

    rest = trimmed(rest);
    out->is_token = is_word(scheme, "bearer");
    out->name = slice_of(NULL, 0);
    out->secret = rest;
    if (out->is_token)
        return rest.size > 0 && rest.size <= AUTH_SECRET_MAX;
    if (!is_word(scheme, "basic") ||
        !read_base64(rest, out->bytes, sizeof out->bytes, &size) ||
        memchr(out->bytes, ':', size) == NULL)
        return false;
    out->secret = slice_of(out->bytes, size);
    out->name = cut(&out->secret, ':');
    return out->name.size > 0 && out->name.size <= AUTH_NAME_MAX &&
           out->secret.size > 0 && out->secret.size <= AUTH_SECRET_MAX &&
           memchr(out->secret.data, '\0', out->secret.size) == NULL;
}
