/* Which names are valid: OpenTSDB's rule, with a table of letters in place of
 * Java's. */
#include "config.h"

#include "uid/names/uid.h"

#include <strings.h>

#include "base/utf8.h"
#include "uid/names/uid_priv.h"

static const uint16_t letters[][2] = {
#include "uid/names/letters.def"
};

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

static bool
is_letter(uint32_t c)
{
    size_t lo = 0, hi = sizeof letters / sizeof letters[0];

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (c > letters[mid][1])
            lo = mid + 1;
        else if (c < letters[mid][0])
            hi = mid;
        else
            return true;
    }
    return false;
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

static bool
is_plain(uint32_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= '-' && c <= '9') ||
           (c >= 'A' && c <= 'Z') || c == '_';
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

        if (is_plain(c) || (c >= 0x80 && is_letter(c)) || is_special(u, c))
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
