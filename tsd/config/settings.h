/* The settings of the daemon: defaults, then a file, then the command line, the
 * later ones winning.  All names with their defaults, units and meanings are in
 * tsd/config/settings.def.  Another key is an error, unless it is in a file and
 * does not start with "halite.": then it is kept and shown, with a warning.
 *
 * Each setting of the table is a member of struct settings, which has the value
 * as soon as it is set.  settings_check() rejects values that are not valid;
 * members with numbers, sizes and choices keep their value until then.
 *
 * Owns:    copies of all keys and values.
 * Threads: frozen after settings_check(); until then one at a time.
 * Fails:   ST_INVALID with a sentence for whoever wrote the setting; ST_IO when
 *          a file cannot be read. */
#pragma once

#include <stdio.h>

#include "base/error.h"
#include "base/slice.h"

/* The table for a terminal, and for docs/SETTINGS.md. */
void settings_print(FILE *out, bool markdown);

/* The words of settings that are choices, in their order in the table. */
enum settings_mode { MODE_RW, MODE_RO, MODE_WO };
enum settings_local { LOCAL_TRUSTED, LOCAL_NONE };
enum settings_jsonp { JSONP_AUTO, JSONP_TRUE, JSONP_FALSE };
enum settings_cluster_tls { TLS_OFF, TLS_VERIFY, TLS_ANY };

/* Types of the members.  A text without a default is NULL when it is unset or
 * empty. */
#define SETTING_MEMBER_BOOL       bool
#define SETTING_MEMBER_INT        unsigned
#define SETTING_MEMBER_COUNT      size_t
#define SETTING_MEMBER_BYTES      size_t
#define SETTING_MEMBER_CHOICE     unsigned
#define SETTING_MEMBER_TEXT       const char *
#define SETTING_MEMBER_PLACE      const char *
#define SETTING_MEMBER_ZONE       const char *
#define SETTING_MEMBER_POLICIES   const char *
#define SETTING_MEMBER_CHARACTERS const char *

/* For readers only: settings_set() and its kin change it. */
struct settings {
#define SETTING(member, name, value, type, unit, min, max, text) \
    SETTING_MEMBER_##type member;
#define ACCEPTED(name, value)
#include "tsd/config/settings.def"
#undef ACCEPTED
#undef SETTING
    struct settings_list *list; /* opaque: what was set, as text */
};

/* With the defaults. */
struct settings *settings_new(void);
void settings_free(struct settings **c);

/* The value is trimmed, but not that of tsd.core.tag.allow_specialchars; a key
 * that is not in the table is kept. */
void settings_set(struct settings *c, const char *key, const char *value);
/* Sets a default that was computed: settings_is_given() stays false. */
void settings_set_default(struct settings *c, const char *key,
                          const char *value);
/* "key=value". */
MUST_CHECK enum status settings_set_word(struct settings *c, const char *word,
                                         struct error *e);
MUST_CHECK enum status settings_load(struct settings *c, const char *path,
                                     struct error *e);
/* The first file of OpenTSDB's usual places and ours; NULL: there is none. */
const char *settings_default_path(void);

/* Checks all values.  ST_INVALID names the setting and what it takes; of
 * several the last one, and the log has the others. */
MUST_CHECK enum status settings_check(const struct settings *c,
                                      struct error *e);

/* Logs a warning for each setting of OpenTSDB that has no effect here and is
 * not at its default. */
void settings_warn_of_accepted(const struct settings *c);

/* The text of any key, also of one that is not in the table; NULL when it is
 * unset. */
const char *settings_text(const struct settings *c, const char *name);
/* Set by a file or the command line, if only to its default. */
bool settings_is_given(const struct settings *c, const char *name);
/* A setting of whole numbers, by its name. */
uint64_t settings_number(const struct settings *c, const char *name);

/* true, yes, on, 1, false, no, off, 0, in any case; false: it is none. */
bool settings_parse_bool(const char *text, bool *out);

/* Calls f for each that is set, by name. */
void settings_each(const struct settings *c,
                   void (*f)(void *ctx, const char *key, const char *value),
                   void *ctx);
