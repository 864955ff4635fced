/* The settings of the daemon: defaults, then a file, then the command line, the
 * later ones winning.  All names with their defaults, units and meanings are in
 * tsd/config/settings.def.  Another key is an error, unless it is in a file and
 * does not start with "halite.": then it is kept and shown, with a warning.
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

struct settings; /* opaque */

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

/* NULL when it is unset. */
const char *settings_text(const struct settings *c, const char *name);
/* Unset or empty: false. */
bool settings_has(const struct settings *c, const char *name);
/* Set by a file or the command line, if only to its default. */
bool settings_is_given(const struct settings *c, const char *name);
/* Once checked; unset without a default: false. */
bool settings_bool(const struct settings *c, const char *name);
/* Which of the words of a SETTING_CHOICE, from 0 on, once checked. */
int settings_choice(const struct settings *c, const char *name);
/* SETTING_INT and SETTING_BYTES, once checked. */
int64_t settings_int(const struct settings *c, const char *name);
size_t settings_size(const struct settings *c, const char *name);
unsigned settings_unsigned(const struct settings *c, const char *name);

/* true, yes, on, 1, false, no, off, 0, in any case; false: it is none. */
bool settings_parse_bool(const char *text, bool *out);
/* A whole number, which may have a suffix: K, M or G, of 1,024. */
bool settings_parse_bytes(const char *text, int64_t *out);

/* Calls f for each that is set, by name. */
void settings_each(const struct settings *c,
                   void (*f)(void *ctx, const char *key, const char *value),
                   void *ctx);
