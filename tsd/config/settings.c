/* See tsd/config/settings.h.  The texts are a sorted array: there are some 170
 * settings, which are looked up by name only while they are set. */
#include "tsd/config/settings.h"

#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file/file.h"
#include "base/process/log.h"
#include "base/mem.h"
#include "base/text/number.h"
#include "base/obj.h"
#include "base/time/timezone.h"
#include "tsd/config/properties.h"
#include "tsd/config/retention_policies.h"

#define SETTINGS_MAGIC  FOURCC('C', 'N', 'F', 'G')
#define CONFIG_FILE_MAX ((size_t)4 << 20)

enum setting_type {
    SETTING_BOOL,   /* true, yes, on, 1, false, no, off, 0, in any case */
    SETTING_INT,    /* between min and max */
    SETTING_COUNT,  /* the same, and may be larger than 32 bits */
    SETTING_BYTES,  /* the same, with a suffix K, M or G */
    SETTING_CHOICE, /* one of the words of 'unit', separated by '|' */
    SETTING_TEXT,
    SETTING_PLACE,      /* of a store */
    SETTING_ZONE,       /* of times, or empty */
    SETTING_POLICIES,   /* of retention */
    SETTING_CHARACTERS, /* blanks at the ends are among them */
    SETTING_ACCEPTED,   /* a key of OpenTSDB without effect; any value */
};

struct setting {
    const char *name;
    const char *value; /* the default; NULL: unset */
    enum setting_type type;
    const char *unit;
    int64_t min, max;
    const char *text;
    size_t member; /* its offset in struct settings */
};

struct pair {
    char *key;
    char *value;
    size_t line; /* of 'path'; 0: it is a default, or the command line's */
    bool given;  /* not a default */
};

struct settings_list {
    uint32_t magic;
    char *path;         /* the file that was loaded; NULL: none was */
    struct pair *pairs; /* by key */
    size_t len;
};

static const struct setting table[] = {
#define SETTING(member, name, value, type, unit, min, max, text) \
    { name, value, SETTING_##type, unit,                         \
      min,  max,   text,           offsetof(struct settings, member) },
#define ACCEPTED(name, value) \
    { name, value, SETTING_ACCEPTED, "", 0, 0, "", 0 },
#include "tsd/config/settings.def"
#undef ACCEPTED
#undef SETTING
};
#define TABLE_LEN (sizeof table / sizeof table[0])

static const struct setting *
setting_find(const char *name)
{
    for (size_t i = 0; i < TABLE_LEN; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

bool
settings_parse_bool(const char *text, bool *out)
{
    static const char *const words[] = { "false", "true", "no", "yes",
                                         "off",   "on",   "0",  "1" };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasecmp(text, words[i]) == 0) {
            *out = i % 2 == 1;
            return true;
        }
    return false;
}

/* A whole number, which may have a suffix: K, M or G, of 1,024. */
static bool
parse_bytes(const char *text, int64_t *out)
{
    struct slice digits = slice_str(text);
    int64_t factor = 1;

    if (digits.size > 1) {
        uint8_t unit = digits.data[digits.size - 1] | 0x20;

        factor = unit == 'k'   ? INT64_C(1) << 10
                 : unit == 'm' ? INT64_C(1) << 20
                 : unit == 'g' ? INT64_C(1) << 30
                               : 1;
        digits.size -= factor > 1;
    }
    return number_parse_i64(digits, out) &&
           !__builtin_mul_overflow(*out, factor, out);
}

static enum status
parse_number(const struct setting *s, const char *value, int64_t *out,
             struct error *e)
{
    bool ok = s->type == SETTING_BYTES
                  ? parse_bytes(value, out)
                  : number_parse_i64(slice_str(value), out);

    if (!ok)
        return error_set(e, ST_INVALID, "%s=%s: not a whole number", s->name,
                         log_quote(slice_str(value)));
    if (*out < s->min || *out > s->max)
        return error_set(e, ST_INVALID, "%s=%s: must be between %lld and %lld",
                         s->name, log_quote(slice_str(value)),
                         (long long)s->min, (long long)s->max);
    return ST_OK;
}

static enum status
parse_choice(const struct setting *s, const char *value, int64_t *out,
             struct error *e)
{
    struct slice left = slice_str(s->unit);

    for (*out = 0; left.size > 0; ++*out)
        if (slice_eq_str(slice_cut(&left, '|'), value))
            return ST_OK;
    return error_set(e, ST_INVALID, "%s=%s: must be one of %s", s->name,
                     log_quote(slice_str(value)), s->unit);
}

/* '*out' becomes the number that the value of a number, a choice or a BOOL
 * stands for.  An empty value of a number or a BOOL stands for the default:
 * people leave "key =" in their files. */
static enum status
check_value(const struct setting *s, const char *value, int64_t *out,
            struct error *e)
{
    struct retention_policies policies;
    const struct timezone *zone;
    enum status st = ST_OK;
    bool truth = false;

    if (*value == '\0' && s->value != NULL && s->type <= SETTING_BYTES)
        value = s->value;
    switch (s->type) {
    case SETTING_ACCEPTED:
    case SETTING_TEXT:
    case SETTING_CHARACTERS:
        return ST_OK;
    case SETTING_BOOL:
        if (!settings_parse_bool(value, &truth))
            return error_set(e, ST_INVALID,
                             "%s=%s: must be true or false (or yes, no, on, "
                             "off, 1, 0)",
                             s->name, log_quote(slice_str(value)));
        *out = truth;
        return ST_OK;
    case SETTING_CHOICE:
        return parse_choice(s, value, out, e);
    case SETTING_INT:
    case SETTING_COUNT:
    case SETTING_BYTES:
        return parse_number(s, value, out, e);
    case SETTING_PLACE:
        /* An unset variable of a shell must not start another store. */
        if (*value == '\0')
            return error_set(e, ST_INVALID, "%s is empty: it names no store",
                             s->name);
        return ST_OK;
    case SETTING_ZONE:
        if (*value != '\0')
            st = timezone_find(slice_str(value), &zone, e);
        break;
    case SETTING_POLICIES:
        st = retention_policies_parse(slice_str(value), &policies, e);
        retention_policies_fini(&policies);
        break;
    }
    return st == ST_OK ? ST_OK : error_wrap(e, st, "%s", s->name);
}

/* Stores a valid value in its member of struct settings. */
static void
set_member(struct settings *c, const struct setting *s, const char *value)
{
    void *to = (char *)c + s->member;
    int64_t number;

    if (s->type > SETTING_CHOICE) {
        if (s->type != SETTING_ACCEPTED)
            *(const char **)to =
                *value == '\0' && s->value == NULL ? NULL : value;
        return;
    }
    if (check_value(s, value, &number, NULL) != ST_OK)
        return;
    if (s->type == SETTING_BOOL)
        *(bool *)to = number != 0;
    else if (s->type == SETTING_INT || s->type == SETTING_CHOICE)
        *(unsigned *)to = (unsigned)number;
    else
        *(size_t *)to = (size_t)number;
}

static const char *
unit_text(const struct setting *s)
{
    return s->type == SETTING_BOOL ? "true|false" : s->unit;
}

static void
print_markdown(FILE *out, const struct setting *s)
{
    bool shown = s->value != NULL && *s->value != '\0';

    (void)fprintf(out, "| `%s` | %s%s%s | ", s->name, shown ? "`" : "",
                  shown ? s->value : "", shown ? "`" : "");
    for (const char *u = unit_text(s); *u != '\0'; u++)
        if (*u == '|')
            (void)fputs(", ", out);
        else
            (void)fputc(*u, out);
    (void)fprintf(out, " | %s |\n", s->text);
}

void
settings_print(FILE *out, bool markdown)
{
    const struct setting *s;

    for (s = table; s < table + TABLE_LEN; s++)
        if (s->type == SETTING_ACCEPTED)
            continue;
        else if (markdown)
            print_markdown(out, s);
        else
            (void)fprintf(
                out, "%s = %s\n    %s%s%s\n", s->name,
                s->value == NULL ? "(unset)" : s->value, s->text,
                *unit_text(s) == '\0' ? "" : "  Unit: ", unit_text(s));
    if (!markdown)
        (void)fputs("\nAccepted without effect:\n", out);
    for (s = table; s < table + TABLE_LEN; s++)
        if (s->type == SETTING_ACCEPTED)
            (void)fprintf(out, markdown ? "- `%s`\n" : "    %s\n", s->name);
}

/* The text of a value as it is kept: 'whole' in a setting of characters, and
 * otherwise 'value', which lacks the blanks around it that do not count.  Words
 * of choices may be written in any case. */
static char *
tidy(const struct setting *s, struct slice whole, struct slice value)
{
    char *copy;

    if (s != NULL && s->type == SETTING_CHARACTERS)
        value = whole;
    if (s != NULL && s->type <= SETTING_CHOICE)
        value = slice_trim(value);
    copy = mem_strndup(value.data, value.size);
    for (char *c = copy; s != NULL && s->type == SETTING_CHOICE && *c; c++)
        *c |= *c >= 'A' && *c <= 'Z' ? 0x20 : 0;
    return copy;
}

static struct pair *
find_pair(const struct settings *c, const char *key)
{
    OBJ_CHECK(c->list, SETTINGS_MAGIC);
    for (size_t i = 0; i < c->list->len; i++)
        if (strcmp(c->list->pairs[i].key, key) == 0)
            return &c->list->pairs[i];
    return NULL;
}

static struct pair *
set_pair(struct settings *c, const char *key, struct slice whole,
         struct slice value, size_t line)
{
    struct settings_list *l = c->list;
    struct slice trimmed = slice_trim(slice_str(key));
    char *name = mem_strndup(trimmed.data, trimmed.size), *old = NULL;
    const struct setting *s = setting_find(name);
    struct pair *p;
    size_t i = 0;

    OBJ_CHECK(l, SETTINGS_MAGIC);
    while (i < l->len && strcmp(l->pairs[i].key, name) < 0)
        i++;
    if (i == l->len || strcmp(l->pairs[i].key, name) != 0) {
        l->pairs = mem_resize(l->pairs, l->len + 1, sizeof *l->pairs);
        p = &l->pairs[i];
        memmove(p + 1, p, (l->len++ - i) * sizeof *p);
        p->key = name;
    } else {
        p = &l->pairs[i];
        old = p->value; /* 'value' may be a part of it */
        free(name);
    }
    p->value = tidy(s, whole, value);
    p->line = line;
    p->given = true;
    free(old);
    if (s != NULL)
        set_member(c, s, p->value);
    return p;
}

void
settings_set(struct settings *c, const char *key, const char *value)
{
    struct slice text = slice_str(value);

    (void)set_pair(c, key, text, slice_trim(text), 0);
}

void
settings_set_default(struct settings *c, const char *key, const char *value)
{
    struct slice text = slice_str(value);

    set_pair(c, key, text, text, 0)->given = false;
}

struct settings *
settings_new(void)
{
    struct settings *c = mem_new(sizeof *c);

    c->list = mem_new(sizeof *c->list);
    c->list->magic = SETTINGS_MAGIC;
    for (size_t i = 0; i < TABLE_LEN; i++)
        if (table[i].value != NULL)
            settings_set_default(c, table[i].name, table[i].value);
    return c;
}

void
settings_free(struct settings **cp)
{
    struct settings_list *l;

    if (*cp == NULL)
        return;
    l = OBJ_TAKE(&(*cp)->list, SETTINGS_MAGIC);
    for (size_t i = 0; i < l->len; i++) {
        free(l->pairs[i].key);
        free(l->pairs[i].value);
    }
    free(l->pairs);
    free(l->path);
    OBJ_FREE(l);
    free(*cp);
    *cp = NULL;
}

enum status
settings_set_word(struct settings *c, const char *word, struct error *e)
{
    const char *eq = strchr(word, '=');
    char *key;

    if (eq == NULL || eq == word)
        return error_set(e, ST_INVALID, "%s: a setting is key=value",
                         log_quote(slice_str(word)));
    key = mem_strndup(word, (size_t)(eq - word));
    settings_set(c, key, eq + 1);
    free(key);
    return ST_OK;
}

static void
found_pair(void *ctx, const char *key, const char *value, size_t solid,
           size_t line)
{
    (void)set_pair(ctx, key, slice_str(value), slice_of(value, solid), line);
}

enum status
settings_load(struct settings *c, const char *path, struct error *e)
{
    struct buf text = BUF_INIT;
    enum status st;

    OBJ_CHECK(c->list, SETTINGS_MAGIC);
    free(c->list->path);
    c->list->path = mem_strdup(path);
    st = file_read(path, CONFIG_FILE_MAX, &text, e);
    if (st == ST_OK) {
        st = properties_parse(buf_slice(&text), found_pair, c, e);
        if (st != ST_OK)
            (void)error_wrap(e, st, "%s", path);
    }
    buf_fini(&text);
    return st;
}

/* May the file be believed?  It must belong to us or to root, and others must
 * not be able to write it. */
static bool
is_ours(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid()) &&
           (st.st_mode & S_IWOTH) == 0;
}

/* Whoever can write the folder in which we happen to be started must not be
 * able to tell us what to do. */
const char *
settings_default_path(void)
{
    static const char *const paths[] = {
        "./opentsdb.conf",
        "/etc/halite/halite.conf",
        "/etc/opentsdb.conf",
        "/etc/opentsdb/opentsdb.conf",
        "/opt/opentsdb/opentsdb.conf",
    };

    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        if (access(paths[i], R_OK) != 0)
            continue;
        if (is_ours(paths[i]))
            return paths[i];
        log_error("settings",
                  "%s is ignored: it belongs to another user, or other users "
                  "may write it; pass it with --config if you trust it",
                  paths[i]);
    }
    return NULL;
}

/* A typing error would silently leave the default.  Only in a file a key that
 * is not ours may be unknown: plugins of OpenTSDB have keys of their own. */
static enum status
check_unknown(const struct settings *c, const struct pair *p, struct error *e)
{
    struct slice key = slice_str(p->key);

    if (p->line == 0 || strncmp(p->key, "halite.", 7) == 0)
        return error_set(e, ST_INVALID, "%s: there is no such setting",
                         log_quote(key));
    log_warn("settings", "%s:%zu: unknown setting %s has no effect",
             c->list->path, p->line, log_quote(key));
    return ST_OK;
}

void
settings_warn_of_accepted(const struct settings *c)
{
    OBJ_CHECK(c->list, SETTINGS_MAGIC);
    for (size_t i = 0; i < c->list->len; i++) {
        const struct pair *p = &c->list->pairs[i];
        const struct setting *s = setting_find(p->key);
        bool x, y;

        if (s == NULL || s->type != SETTING_ACCEPTED || *p->value == '\0')
            continue;
        /* Is it the default, or the same truth? */
        if (s->value == NULL ||
            (strcmp(p->value, s->value) != 0 &&
             !(settings_parse_bool(p->value, &x) &&
               settings_parse_bool(s->value, &y) && x == y)))
            log_warn("settings",
                     "%s=%s is a setting of OpenTSDB that has no effect here",
                     p->key, log_quote(slice_str(p->value)));
    }
}

enum status
settings_check(const struct settings *c, struct error *e)
{
    enum status st = ST_OK;
    struct error why;

    OBJ_CHECK(c->list, SETTINGS_MAGIC);
    for (size_t i = 0; i < c->list->len; i++) {
        const struct pair *p = &c->list->pairs[i];
        const struct setting *s = setting_find(p->key);
        int64_t number;

        if ((s == NULL ? check_unknown(c, p, &why)
                       : check_value(s, p->value, &number, &why)) == ST_OK)
            continue;
        if (st != ST_OK)
            log_error("settings", "%s", e->text);
        st = p->line == 0 ? ST_INVALID
                          : error_wrap(&why, ST_INVALID, "%s:%zu",
                                       c->list->path, p->line);
        *e = why;
    }
    return st;
}

const char *
settings_text(const struct settings *c, const char *name)
{
    const struct pair *p = find_pair(c, name);

    return p == NULL ? NULL : p->value;
}

bool
settings_is_given(const struct settings *c, const char *name)
{
    const struct pair *p = find_pair(c, name);

    return p != NULL && p->given && *p->value != '\0';
}

uint64_t
settings_number(const struct settings *c, const char *name)
{
    const struct setting *s = setting_find(name);
    const void *at;

    INSIST(s != NULL);
    at = (const char *)c + s->member;
    return s->type == SETTING_INT ? *(const unsigned *)at : *(const size_t *)at;
}

void
settings_each(const struct settings *c,
              void (*f)(void *ctx, const char *key, const char *value),
              void *ctx)
{
    OBJ_CHECK(c->list, SETTINGS_MAGIC);
    for (size_t i = 0; i < c->list->len; i++)
        f(ctx, c->list->pairs[i].key, c->list->pairs[i].value);
}
