#include "tsd/tool/tool_args.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/obj.h"

/* Finds the option of this name; '*table' and '*at' are where. */
static const struct tool_option *
args_find(const struct tool_args *a, const char *name, size_t size,
          size_t *table, size_t *at)
{
    for (*table = 0; *table < 2; ++*table)
        for (*at = 0;
             a->tables[*table] != NULL && a->tables[*table][*at].name != NULL;
             ++*at) {
            const struct tool_option *o = &a->tables[*table][*at];

            INSIST(*at < TOOL_OPTIONS_MAX);
            if (strncmp(o->name, name, size) == 0 && o->name[size] == '\0')
                return o;
        }
    return NULL;
}

/* Takes the option at argv[*at], and its value from the next word if that is
 * where it stands. */
static enum status
args_take(struct tool_args *a, size_t argc, const char *const *argv, size_t *at,
          struct error *e)
{
    const char *word = argv[*at], *eq = strchr(word, '='), *value = "";
    size_t table, i;
    const struct tool_option *o = args_find(a, word, strlen(word), &table, &i);

    if (o == NULL && strcmp(word, "-h") == 0)
        o = args_find(a, "--help", 6, &table, &i);
    if (o != NULL && o->meta != NULL) {
        if (*at + 1 == argc)
            return error_set(e, ST_INVALID, "Missing argument for %s", word);
        value = argv[++*at];
    } else if (o == NULL) {
        if (eq != NULL)
            o = args_find(a, word, (size_t)(eq - word), &table, &i);
        if (o == NULL)
            return error_set(e, ST_INVALID, "Unrecognized option %s", word);
        value = eq + 1;
    }
    if (a->values[table][i] != NULL &&
        (strcmp(o->name, "--store") == 0 || strcmp(o->name, "--data") == 0))
        return error_set(e, ST_INVALID, "two stores, %s and %s",
                         a->values[table][i], value);
    a->values[table][i] = value;
    return ST_OK;
}

enum status
tool_args_parse(struct tool_args *a, const struct tool_option *own,
                const struct tool_option *common, size_t argc,
                const char *const *argv, struct error *e)
{
    bool ended = false;
    enum status st = ST_OK;

    *a = (struct tool_args){ .tables = { own, common } };
    a->words = mem_try_array(argc + 1, sizeof *a->words);
    if (a->words == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < argc && st == ST_OK; i++)
        if (ended || argv[i][0] != '-' || argv[i][1] == '\0')
            a->words[a->len++] = argv[i];
        else if (strcmp(argv[i], "--") == 0)
            ended = true;
        else
            st = args_take(a, argc, argv, &i, e);
    return st;
}

void
tool_args_fini(struct tool_args *a)
{
    free(a->words);
    *a = (struct tool_args){ 0 };
}

const char *
tool_args_get(const struct tool_args *a, const char *name)
{
    size_t table, i;

    INSIST(args_find(a, name, strlen(name), &table, &i) != NULL);
    return a->values[table][i];
}

static int
compare_options(const void *x, const void *y)
{
    const struct tool_option *const *a = x, *const *b = y;

    return strcmp((*a)->name, (*b)->name);
}

void
tool_args_describe(const struct tool_option *own,
                   const struct tool_option *common, struct buf *out)
{
    const struct tool_option *tables[] = { own, common };
    const struct tool_option *sorted[2 * TOOL_OPTIONS_MAX];
    char left[64];
    size_t len = 0;
    int width = 0;

    for (size_t t = 0; t < 2; t++)
        for (const struct tool_option *o = tables[t];
             o != NULL && o->name != NULL; o++) {
            int size = (int)(strlen(o->name) +
                             (o->meta == NULL ? 0 : strlen(o->meta) + 1));

            width = size > width ? size : width;
            sorted[len++] = o;
        }
    qsort(sorted, len, sizeof sorted[0], compare_options);
    for (size_t i = 0; i < len; i++) {
        (void)snprintf(left, sizeof left, "%s%s%s", sorted[i]->name,
                       sorted[i]->meta == NULL ? "" : "=",
                       sorted[i]->meta == NULL ? "" : sorted[i]->meta);
        buf_printf(out, "  %-*s %s\n", width, left, sorted[i]->text);
    }
}
