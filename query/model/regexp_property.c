/* Names of sets of characters, from java.util.regex's to PCRE2's: \p{Lower},
 * \p{IsAlphabetic}, \p{InCyrillic}, and what (?U) makes of \w and its like. */
#include "query/model/regexp_priv.h"

#include <string.h>

/* Java's names of what POSIX calls by others, and of properties. */
static const struct {
    const char *java, *posix, *property;
} properties[] = {
    { "Lower", "lower", NULL },      { "Upper", "upper", NULL },
    { "ASCII", "ascii", NULL },      { "Alpha", "alpha", NULL },
    { "Digit", "digit", NULL },      { "Alnum", "alnum", NULL },
    { "Punct", "punct", NULL },      { "Graph", "graph", NULL },
    { "Print", "print", NULL },      { "Blank", "blank", NULL },
    { "Cntrl", "cntrl", NULL },      { "XDigit", "xdigit", NULL },
    { "Space", "space", NULL },      { "javaLowerCase", NULL, "Ll" },
    { "javaUpperCase", NULL, "Lu" }, { "IsAlphabetic", NULL, "L" },
    { "IsLetter", NULL, "L" },       { "IsDigit", NULL, "Nd" },
    { "IsLowercase", NULL, "Ll" },   { "IsUppercase", NULL, "Lu" },
    { "IsPunctuation", NULL, "P" },  { "IsWhite_Space", NULL, "Xsp" },
};

static const char *const prefixes[] = { "Is",  "script=",           "sc=",
                                        "gc=", "general_category=", "" };

static const struct {
    const char *name;
    unsigned from, to;
} blocks[] = {
    { "BasicLatin", 0, 0x7f },
    { "BASIC_LATIN", 0, 0x7f },
    { "Latin-1Supplement", 0x80, 0xff },
    { "LATIN_1_SUPPLEMENT", 0x80, 0xff },
    { "LatinExtended-A", 0x100, 0x17f },
    { "LATIN_EXTENDED_A", 0x100, 0x17f },
    { "LatinExtended-B", 0x180, 0x24f },
    { "LATIN_EXTENDED_B", 0x180, 0x24f },
    { "Greek", 0x370, 0x3ff },
    { "GREEK", 0x370, 0x3ff },
    { "Cyrillic", 0x400, 0x4ff },
    { "CYRILLIC", 0x400, 0x4ff },
    { "Armenian", 0x530, 0x58f },
    { "Hebrew", 0x590, 0x5ff },
    { "Arabic", 0x600, 0x6ff },
    { "Devanagari", 0x900, 0x97f },
    { "Thai", 0xe00, 0xe7f },
    { "Georgian", 0x10a0, 0x10ff },
    { "GeneralPunctuation", 0x2000, 0x206f },
    { "CurrencySymbols", 0x20a0, 0x20cf },
    { "Hiragana", 0x3040, 0x309f },
    { "Katakana", 0x30a0, 0x30ff },
    { "CJKUnifiedIdeographs", 0x4e00, 0x9fff },
    { "HangulSyllables", 0xac00, 0xd7af },
};

/* \p{InCyrillic}: false when it is no block. */
static bool
put_block(struct buf *out, struct slice name, unsigned how)
{
    bool in_class = (how & REGEXP_IN_CLASS) != 0;
    bool negated = (how & REGEXP_NEGATED) != 0;
    size_t i = 0, len = sizeof blocks / sizeof *blocks;

    if (!slice_starts(name, slice_str("In")))
        return false;
    name = slice_of(name.data + 2, name.size - 2);
    while (i < len && !slice_eq_str(name, blocks[i].name))
        i++;
    if (i == len)
        return false;
    if (!in_class)
        buf_put_u8(out, '[');
    if (!negated)
        buf_printf(out, "\\x{%x}-\\x{%x}", blocks[i].from, blocks[i].to);
    else if (blocks[i].from > 0)
        buf_printf(out, "\\x{0}-\\x{%x}", blocks[i].from - 1);
    if (negated)
        buf_printf(out, "\\x{%x}-\\x{10ffff}", blocks[i].to + 1);
    if (!in_class)
        buf_put_u8(out, ']');
    return true;
}

/* What (?U) makes of the letters of classes; and of POSIX' names. */
static const struct {
    const char *java, *in_class;
} unicode[] = {
    { "d", "\\p{Nd}" },
    { "s", "\\p{White_Space}" },
    { "w", "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}" },
    { "Lower", "\\p{Lowercase}" },
    { "Upper", "\\p{Uppercase}" },
    { "Alpha", "\\p{Alphabetic}" },
    { "Digit", "\\p{Nd}" },
    { "Alnum", "\\p{Alphabetic}\\p{Nd}" },
    { "Punct", "\\p{P}" },
    { "Space", "\\p{White_Space}" },
    { "Blank", "\\h" },
    { "Cntrl", "\\p{Cc}" },
};

bool
regexp_put_unicode(struct buf *out, struct slice name, unsigned how)
{
    bool in_class = (how & REGEXP_IN_CLASS) != 0;
    bool negated = (how & REGEXP_NEGATED) != 0;

    for (size_t i = 0;
         (how & REGEXP_UNICODE) != 0 && i < sizeof unicode / sizeof *unicode;
         i++) {
        const char *set = unicode[i].in_class;

        if (!slice_eq_str(name, unicode[i].java))
            continue;
        if (in_class && negated && strchr(set + 1, '\\') != NULL)
            return false;
        if (in_class && negated) /* \p{..} or \h: \P{..} or \H */
            buf_printf(out, "\\%c%s", set[1] - 'a' + 'A', set + 2);
        else
            buf_printf(out, in_class ? "%s%s" : "[%s%s]", negated ? "^" : "",
                       set);
        return true;
    }
    return false;
}

void
regexp_put_property(struct buf *out, struct slice name, unsigned how)
{
    bool in_class = (how & REGEXP_IN_CLASS) != 0;
    bool negated = (how & REGEXP_NEGATED) != 0;

    if (put_block(out, name, how) || regexp_put_unicode(out, name, how))
        return;
    /* Both cases of POSIX' names, where case is ignored. */
    if ((how & REGEXP_BOTH_CASES) != 0 &&
        (slice_eq_str(name, "Lower") || slice_eq_str(name, "Upper")))
        name = slice_str("Alpha");
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
        if (!slice_eq_str(name, properties[i].java))
            continue;
        if (properties[i].posix == NULL)
            buf_printf(out, "\\%c{%s}", negated ? 'P' : 'p',
                       properties[i].property);
        else
            buf_printf(out, in_class ? "[:%s%s:]" : "[[:%s%s:]]",
                       negated ? "^" : "", properties[i].posix);
        return;
    }
    for (size_t i = 0;; i++) {
        size_t size = strlen(prefixes[i]);

        if (!slice_starts(name, slice_of(prefixes[i], size)))
            continue;
        buf_printf(out, "\\%c{%.*s}", negated ? 'P' : 'p',
                   (int)(name.size - size), (const char *)name.data + size);
        return;
    }
}
