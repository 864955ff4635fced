/* Which names are valid: OpenTSDB's rule, with PCRE2's letters in place of
 * Java's. */
#include "uid/names/uid.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <pthread.h>
#include <strings.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "uid/names/uid_priv.h"

/* A bit for each character of 16 bits: is it a letter? */
static uint64_t letters[65536 / 64];
static pthread_once_t letters_once = PTHREAD_ONCE_INIT;

static const char *const kind_names[UID_KINDS_ALL] = { "metrics", "tagk",
                                                       "tagv", "rollups" };

const char *
uid_kind_name(enum uid_kind kind)
{
    return kind_names[kind];
}

bool
uid_kind_parse(const char *name, enum uid_kind *out)
{
    if (strcasecmp(name, "metric") == 0) {
        *out = UID_METRIC;
        return true;
    }
    for (int kind = 0; kind < UID_KINDS; kind++)
        if (strcasecmp(name, kind_names[kind]) == 0) {
            *out = (enum uid_kind)kind;
            return true;
        }
    return false;
}

/* Takes some milliseconds, once, when the first name beyond ASCII comes. */
static void
find_letters(void)
{
    pcre2_match_data *match = pcre2_match_data_create(1, NULL);
    PCRE2_SIZE at;
    int why;
    pcre2_code *letter =
        pcre2_compile((PCRE2_SPTR) "\\p{L}", PCRE2_ZERO_TERMINATED, PCRE2_UTF,
                      &why, &at, NULL);

    INSIST(letter != NULL && match != NULL);
    for (uint32_t c = 0x80; c < 0x10000; c++) {
        const uint8_t three[3] = { (uint8_t)(0xe0 | c >> 12),
                                   (uint8_t)(0x80 | (c >> 6 & 0x3f)),
                                   (uint8_t)(0x80 | (c & 0x3f)) };
        const uint8_t two[2] = { (uint8_t)(0xc0 | c >> 6), three[2] };

        if (pcre2_match(letter, c < 0x800 ? two : three, c < 0x800 ? 2 : 3, 0,
                        0, match, NULL) > 0)
            letters[c / 64] |= UINT64_C(1) << c % 64;
    }
    pcre2_code_free(letter);
    pcre2_match_data_free(match);
}

/* Java looks at halves of what lies beyond 16 bits, which are no letters. */
static bool
is_letter(uint32_t c)
{
    if (c < 0x80 || c > UINT16_MAX)
        return false;
    (void)pthread_once(&letters_once, find_letters);
    return (letters[c / 64] >> c % 64 & 1) != 0;
}

static bool
is_special(const struct uid_table *u, uint32_t c)
{
    struct slice s;

    if (u->specials == NULL || c == UTF8_BAD)
        return false;
    s = slice_str(u->specials);
    while (s.size > 0)
        if (utf8_take(&s) == c)
            return true;
    return false;
}

enum status
uid_validate_name(const struct uid_table *u, const char *what,
                  struct slice name, struct error *e)
{
    struct slice rest = name;

    OBJ_CHECK(u, UID_MAGIC);
    if (name.data == NULL)
        return error_set(e, ST_INVALID, "Invalid %s: null", what);
    if (name.size == 0)
        return error_set(e, ST_INVALID, "Invalid %s: empty string", what);
    if (name.size > UID_NAME_MAX)
        return error_set(e, ST_INVALID,
                         "Invalid %s: %zu bytes, more than the %d allowed",
                         what, name.size, UID_NAME_MAX);
    while (rest.size > 0) {
        struct slice at = rest;
        uint32_t c = utf8_take(&rest);

        if ((c >= 'a' && c <= 'z') || (c >= '-' && c <= '9') ||
            (c >= 'A' && c <= 'Z') || c == '_' || is_letter(c) ||
            is_special(u, c))
            continue;
        at.size -= rest.size;
        if (c == UTF8_BAD)
            at = slice_str("\xef\xbf\xbd");
        return error_set(e, ST_INVALID,
                         "Invalid %s (\"%.*s\"): illegal character: %.*s", what,
                         SLICE_ARG(name), SLICE_ARG(at));
    }
    return ST_OK;
}
