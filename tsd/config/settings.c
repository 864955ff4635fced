/* See tsd/config/settings.h.  A sorted array: there are some 170 settings, of
 * which requests read few. */
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
    SETTING_BYTES,  /* the same, with a suffix K, M or G */
    SETTING_CHOICE, /* one of the words of 'unit', separated by '|' */
    SETTING_TEXT,
    SETTING_ACCEPTED, /* a key of OpenTSDB without effect; any value */
};

struct setting {
    const char *name;
    const char *value; /* the default; NULL: unset */
    enum setting_type type;
    const char *unit;
    int64_t min, max;
    const char *text;
};

struct pair {
    char *key;
    char *value;
    size_t line; /* of 'path'; 0: it is a default, or the command line's */
    bool given;  /* not a default */
};

struct settings {
    uint32_t magic;
    char *path;         /* the file that was loaded; NULL: none was */
    struct pair *pairs; /* by key */
    size_t len;
};

static const struct setting table[] = {
#define SETTING(name, value, type, unit, min, max, text) \
    { name, value, SETTING_##type, unit, min, max, text },
#define ACCEPTED(name, value) { name, value, SETTING_ACCEPTED, "", 0, 0, "" },
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

bool
settings_parse_bytes(const char *text, int64_t *out)
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

static bool
parse_number(const struct setting *s, const char *text, int64_t *out)
{
    return s->type == SETTING_BYTES ? settings_parse_bytes(text, out)
                                    : number_parse_i64(slice_str(text), out);
}

/* -1: it is none of them. */
static int
find_choice(const char *words, const char *value)
{
    struct slice left = slice_str(words);

    for (int i = 0; left.size > 0; i++)
        if (slice_eq_str(slice_cut(&left, '|'), value))
            return i;
    return -1;
}

/* An empty value of a number or a BOOL stands for the default: people leave
 * "key =" in their files. */
static enum status
check_value(const struct setting *s, const char *value, struct error *e)
{
    bool truth;
    int64_t v;

    switch (s->type) {
    case SETTING_ACCEPTED:
    case SETTING_TEXT:
        return ST_OK;
    case SETTING_BOOL:
        if (*value != '\0' && !settings_parse_bool(value, &truth))
            return error_set(e, ST_INVALID,
                             "%s=%s: must be true or false (or yes, no, on, "
                             "off, 1, 0)",
                             s->name, log_quote(slice_str(value)));
        return ST_OK;
    case SETTING_CHOICE:
        if (find_choice(s->unit, value) < 0)
            return error_set(e, ST_INVALID, "%s=%s: must be one of %s", s->name,
                             log_quote(slice_str(value)), s->unit);
        return ST_OK;
    case SETTING_INT:
    case SETTING_BYTES:
        break;
    }
    if (*value == '\0' && s->value != NULL)
        return ST_OK;
    if (!parse_number(s, value, &v))
        return error_set(e, ST_INVALID, "%s=%s: not a whole number", s->name,
                         log_quote(slice_str(value)));
    if (v < s->min || v > s->max)
        return error_set(e, ST_INVALID, "%s=%s: must be between %lld and %lld",
                         s->name, log_quote(slice_str(value)),
                         (long long)s->min, (long long)s->max);
    return ST_OK;
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

/* A setting of characters: blanks at the ends are among them. */
static bool
keeps_blanks(const char *key)
{
    return strcmp(key, "tsd.core.tag.allow_specialchars") == 0;
}

/* Numbers and words may stand among blanks; words in any case. */
static char *
tidy(const char *key, struct slice value)
{
    const struct setting *s = setting_find(key);
    char *copy;

    if (s != NULL && s->type != SETTING_TEXT && s->type != SETTING_ACCEPTED)
        value = slice_trim(value);
    copy = mem_strndup(value.data, value.size);
    for (char *c = copy; s != NULL && s->type == SETTING_CHOICE && *c; c++)
        *c |= *c >= 'A' && *c <= 'Z' ? 0x20 : 0;
    return copy;
}

static void
set_pair(struct settings *c, const char *key, struct slice value, size_t line)
{
    struct slice trimmed = slice_trim(slice_str(key));
    char *name = mem_strndup(trimmed.data, trimmed.size);
    size_t i = 0;

    OBJ_CHECK(c, SETTINGS_MAGIC);
    while (i < c->len && strcmp(c->pairs[i].key, name) < 0)
        i++;
    if (i < c->len && strcmp(c->pairs[i].key, name) == 0) {
        char *old = c->pairs[i].value;

        free(name);
        /* The value may be the old one. */
        c->pairs[i].value = tidy(c->pairs[i].key, value);
        c->pairs[i].line = line;
        c->pairs[i].given = true;
        free(old);
        return;
    }
    c->pairs = mem_resize(c->pairs, c->len + 1, sizeof *c->pairs);
    memmove(c->pairs + i + 1, c->pairs + i, (c->len - i) * sizeof *c->pairs);
    c->pairs[i] = (struct pair){ name, tidy(name, value), line, true };
    c->len++;
}

void
settings_set(struct settings *c, const char *key, const char *value)
{
    struct slice text = slice_str(value);

    set_pair(c, key, keeps_blanks(key) ? text : slice_trim(text), 0);
}

void
settings_set_default(struct settings *c, const char *key, const char *value)
{
    settings_set(c, key, value);
    for (size_t i = 0; i < c->len; i++)
        if (strcmp(c->pairs[i].key, key) == 0)
            c->pairs[i].given = false;
}

struct settings *
settings_new(void)
{
    struct settings *c = mem_new(sizeof *c);

    c->magic = SETTINGS_MAGIC;
    for (size_t i = 0; i < TABLE_LEN; i++)
        if (table[i].value != NULL)
            settings_set(c, table[i].name, table[i].value);
    for (size_t i = 0; i < c->len; i++)
        c->pairs[i].given = false;
    return c;
}

void
settings_free(struct settings **cp)
{
    struct settings *c = OBJ_TAKE(cp, SETTINGS_MAGIC);

    if (c == NULL)
        return;
    for (size_t i = 0; i < c->len; i++) {
        free(c->pairs[i].key);
        free(c->pairs[i].value);
    }
    free(c->pairs);
    free(c->path);
    OBJ_FREE(c);
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
    set_pair(ctx, key,
             keeps_blanks(key) ? slice_str(value) : slice_of(value, solid),
             line);
}

enum status
settings_load(struct settings *c, const char *path, struct error *e)
{
    struct buf text = BUF_INIT;
    enum status st;

    OBJ_CHECK(c, SETTINGS_MAGIC);
    free(c->path);
    c->path = mem_strdup(path);
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
    log_warn("settings", "%s:%zu: unknown setting %s has no effect", c->path,
             p->line, log_quote(key));
    return ST_OK;
}

/* Are both the same, or the same truth? */
static bool
is_same_value(const char *a, const char *b)
{
    bool x, y;

    return strcmp(a, b) == 0 ||
           (settings_parse_bool(a, &x) && settings_parse_bool(b, &y) && x == y);
}

void
settings_warn_of_accepted(const struct settings *c)
{
    OBJ_CHECK(c, SETTINGS_MAGIC);
    for (size_t i = 0; i < c->len; i++) {
        const struct pair *p = &c->pairs[i];
        const struct setting *s = setting_find(p->key);

        if (s != NULL && s->type == SETTING_ACCEPTED && *p->value != '\0' &&
            (s->value == NULL || !is_same_value(p->value, s->value)))
            log_warn("settings",
                     "%s=%s is a setting of OpenTSDB that has no effect here",
                     p->key, log_quote(slice_str(p->value)));
    }
}

static enum status
check_retention(const char *text, struct error *e)
{
    struct retention_policies p;
    enum status st = retention_policies_parse(slice_str(text), &p, e);

    retention_policies_fini(&p);
    return st == ST_OK ? ST_OK : error_wrap(e, st, "halite.retention");
}

static enum status
check_zone(const char *name, struct error *e)
{
    const struct timezone *zone;
    enum status st =
        *name == '\0' ? ST_OK : timezone_find(slice_str(name), &zone, e);

    return st == ST_OK ? ST_OK : error_wrap(e, st, "tsd.core.timezone");
}

static enum status
check_pair(const struct settings *c, const struct pair *p, struct error *e)
{
    const struct setting *s = setting_find(p->key);

    if (s == NULL)
        return check_unknown(c, p, e);
    if (strcmp(p->key, "halite.retention") == 0)
        return check_retention(p->value, e);
    if (strcmp(p->key, "tsd.core.timezone") == 0)
        return check_zone(p->value, e);
    /* An unset variable of a shell must not start another store. */
    if (strcmp(p->key, "halite.store") == 0 && *p->value == '\0')
        return error_set(e, ST_INVALID,
                         "halite.store is empty: it names no store");
    return check_value(s, p->value, e);
}

enum status
settings_check(const struct settings *c, struct error *e)
{
    enum status st = ST_OK;
    struct error why;

    OBJ_CHECK(c, SETTINGS_MAGIC);
    for (size_t i = 0; i < c->len; i++) {
        const struct pair *p = &c->pairs[i];

        if (check_pair(c, p, &why) == ST_OK)
            continue;
        if (st != ST_OK)
            log_error("settings", "%s", e->text);
        st = p->line == 0
                 ? ST_INVALID
                 : error_wrap(&why, ST_INVALID, "%s:%zu", c->path, p->line);
        *e = why;
    }
    return st;
}

const char *
settings_text(const struct settings *c, const char *name)
{
    OBJ_CHECK(c, SETTINGS_MAGIC);
    for (size_t i = 0; i < c->len; i++)
        if (strcmp(c->pairs[i].key, name) == 0)
            return c->pairs[i].value;
    return NULL;
}

bool
settings_has(const struct settings *c, const char *name)
{
    const char *value = settings_text(c, name);

    return value != NULL && *value != '\0';
}

bool
settings_is_given(const struct settings *c, const char *name)
{
    OBJ_CHECK(c, SETTINGS_MAGIC);
    for (size_t i = 0; i < c->len; i++)
        if (strcmp(c->pairs[i].key, name) == 0)
            return c->pairs[i].given && c->pairs[i].value[0] != '\0';
    return false;
}

bool
settings_bool(const struct settings *c, const char *name)
{
    const struct setting *s = setting_find(name);
    const char *value = settings_text(c, name);
    bool v;

    INSIST(s != NULL);
    if (value == NULL || *value == '\0')
        value = s->value;
    if (value == NULL)
        return false;
    INSIST(settings_parse_bool(value, &v));
    return v;
}

int64_t
settings_int(const struct settings *c, const char *name)
{
    const struct setting *s = setting_find(name);
    const char *value = settings_text(c, name);
    int64_t v;

    INSIST(s != NULL && value != NULL);
    if (*value == '\0')
        value = s->value;
    INSIST(parse_number(s, value, &v));
    return v;
}

int
settings_choice(const struct settings *c, const char *name)
{
    const struct setting *s = setting_find(name);
    const char *text = settings_text(c, name);

    INSIST(s != NULL && text != NULL);
    return find_choice(s->unit, text);
}

size_t
settings_size(const struct settings *c, const char *name)
{
    return (size_t)settings_int(c, name);
}

unsigned
settings_unsigned(const struct settings *c, const char *name)
{
    return (unsigned)settings_int(c, name);
}

void
settings_each(const struct settings *c,
              void (*f)(void *ctx, const char *key, const char *value),
              void *ctx)
{
    OBJ_CHECK(c, SETTINGS_MAGIC);
    for (size_t i = 0; i < c->len; i++)
        f(ctx, c->pairs[i].key, c->pairs[i].value);
}
