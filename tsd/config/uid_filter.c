#include "tsd/config/uid_filter.h"

#include <stdlib.h>

#include "base/process/log.h"
#include "base/mem.h"
#include "base/obj.h"
#include "query/model/regexp.h"

#define UID_FILTER_MAGIC FOURCC('U', 'I', 'D', 'F')
#define WHITELIST        "net.opentsdb.uid.UniqueIdWhitelistFilter"

struct patterns {
    struct regexp **all;
    size_t len;
};

struct uid_filter {
    uint32_t magic;
    struct patterns kinds[UID_KINDS];
};

/* The next pattern before a delimiter; Java's split() knows no empty ones at
 * the end of the text. */
static struct slice
next_pattern(struct slice *left, struct slice delimiter)
{
    const uint8_t *at =
        memmem(left->data, left->size, delimiter.data, delimiter.size);
    size_t size = at == NULL ? left->size : (size_t)(at - left->data);
    size_t skip = at == NULL ? size : size + delimiter.size;
    struct slice pattern = { left->data, size };

    *left = slice_of(left->data + skip, left->size - skip);
    return pattern;
}

static enum status
add_patterns(const char *name, const char *text, struct slice delimiter,
             struct patterns *p, struct error *e)
{
    struct slice left = slice_str(text == NULL ? "" : text);
    enum status st = ST_OK;

    while (left.size > 0 && st == ST_OK) {
        struct slice pattern = next_pattern(&left, delimiter);

        if (pattern.size == 0)
            continue; /* found in each name */
        p->all = mem_resize(p->all, p->len + 1, sizeof *p->all);
        st = regexp_new(pattern, &p->all[p->len], e);
        if (st == ST_OK)
            p->len++;
        else
            st = error_wrap(e, ST_INVALID, "%s: the pattern %s", name,
                            log_quote(pattern));
    }
    return st;
}

enum status
uid_filter_open(const struct settings *s, struct uid_filter **out,
                struct error *e)
{
    const struct {
        const char *name, *text;
    } patterns[UID_KINDS] = {
        [UID_METRIC] = { "tsd.uidfilter.whitelist.metric_patterns",
                         s->uidfilter_whitelist_metric_patterns },
        [UID_TAGK] = { "tsd.uidfilter.whitelist.tagk_patterns",
                       s->uidfilter_whitelist_tagk_patterns },
        [UID_TAGV] = { "tsd.uidfilter.whitelist.tagv_patterns",
                       s->uidfilter_whitelist_tagv_patterns },
    };
    const char *delimiter = s->uidfilter_whitelist_delimiter;
    const char *plugin = s->uidfilter_plugin;
    enum status st = ST_OK;

    *out = NULL;
    if (!s->uidfilter_enable)
        return ST_OK;
    if (plugin == NULL || strcmp(plugin, WHITELIST) != 0)
        return error_set(e, ST_INVALID,
                         "tsd.uidfilter.plugin=%s: tsd.uidfilter.enable needs "
                         "a filter, and the only one here is %s",
                         log_quote(slice_str(plugin == NULL ? "" : plugin)),
                         WHITELIST);
    /* OpenTSDB's delimiter is an expression; an escaped character is itself. */
    if (delimiter[0] == '\\' && delimiter[1] != '\0')
        delimiter++;
    else if (*delimiter == '\0')
        delimiter = ",";
    *out = mem_new(sizeof **out);
    (*out)->magic = UID_FILTER_MAGIC;
    for (size_t i = 0; i < UID_KINDS && st == ST_OK; i++)
        st = add_patterns(patterns[i].name, patterns[i].text,
                          slice_str(delimiter), &(*out)->kinds[i], e);
    if (st != ST_OK)
        uid_filter_free(out);
    return st;
}

void
uid_filter_free(struct uid_filter **ref)
{
    struct uid_filter *f = OBJ_TAKE(ref, UID_FILTER_MAGIC);

    if (f == NULL)
        return;
    for (size_t i = 0; i < UID_KINDS; i++) {
        for (size_t k = 0; k < f->kinds[i].len; k++)
            regexp_free(&f->kinds[i].all[k]);
        free(f->kinds[i].all);
    }
    OBJ_FREE(f);
}

bool
uid_filter_allows(void *ctx, enum uid_kind kind, struct slice name)
{
    const struct uid_filter *f = ctx;

    OBJ_CHECK(f, UID_FILTER_MAGIC);
    /* An expression that is too costly for a name does not allow it. */
    for (size_t i = 0; kind < UID_KINDS && i < f->kinds[kind].len; i++)
        if (regexp_find(f->kinds[kind].all[i], name, NULL) != ST_OK)
            return false;
    return true;
}
