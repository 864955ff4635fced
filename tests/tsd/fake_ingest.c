#include "tests/tsd/fake_ingest.h"

#include <stdlib.h>

#include "base/text/number.h"
#include "uid/series/series_names.h"

struct fake fake = { .lock = LOCK_INIT };

void
fake_reset(void)
{
    for (size_t i = 0; i < fake.series_len; i++)
        free(fake.series[i]);
    buf_fini(&fake.log);
    fake = (struct fake){ .lock = LOCK_INIT, .keep_log = true };
}

void
fake_forget(void)
{
    lock_take(&fake.lock);
    for (size_t i = 0; i < fake.series_len; i++) {
        free(fake.series[i]);
        fake.series[i] = NULL;
    }
    lock_drop(&fake.lock);
}

const char *
fake_log(void)
{
    return buf_cstr(&fake.log);
}

/* ASCII letters, and those of ISO-8859-1. */
static bool
is_letter(uint32_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= 0xc0 && c < 0x250 && c != 0xd7 && c != 0xf7);
}

static size_t
char_size(struct slice s, size_t at)
{
    size_t n = 1;

    while (at + n < s.size && (s.data[at + n] & 0xc0) == 0x80)
        n++;
    return n;
}

enum status
uid_validate_name(const struct uid_table *u, const char *what,
                  struct slice name, struct error *e)
{
    (void)u;
    if (name.size == 0)
        return error_set(e, ST_INVALID, "Invalid %s: %s", what,
                         name.data == NULL ? "null" : "empty string");
    for (size_t i = 0; i < name.size;) {
        size_t n = char_size(name, i);
        uint32_t c =
            n == 2   ? (name.data[i] & 0x1fU) << 6 | (name.data[i + 1] & 0x3fU)
            : n == 1 ? name.data[i]
                     : 0;

        if (!is_letter(c) && !(c >= '0' && c <= '9') &&
            (c == 0 || c > 0x7f || strchr("-_./", (int)c) == NULL))
            return error_set(
                e, ST_INVALID, "Invalid %s (\"%.*s\"): illegal character: %.*s",
                what, SLICE_ARG(name), (int)n, (const char *)name.data + i);
        i += n;
    }
    return ST_OK;
}

struct kv *
store_kv(struct store *s)
{
    (void)s;
    return NULL;
}

const struct kv_traits *
kv_traits(const struct kv *kv)
{
    static const struct kv_traits alone = { .seek_price = 4 };

    (void)kv;
    return &alone;
}

/* No name changes here. */
uint64_t
uid_epoch(const struct uid_table *u)
{
    (void)u;
    return 0;
}

static int
compare_tags(const void *a, const void *b)
{
    const struct tag *x = a, *y = b;

    return slice_cmp(x->key, y->key);
}

enum status
series_kind(struct series_directory *d, const char *name, bool create,
            uint64_t *kind, struct error *e)
{
    (void)d;
    (void)create;
    (void)e;
    (void)snprintf(fake.kind, sizeof fake.kind, "%s", name);
    *kind = 1;
    return ST_OK;
}

enum status
series_identify(struct series_directory *d, const struct series_rules *rules,
                const struct series_text *x, struct tsuid *tsuid,
                struct error *e)
{
    struct tag sorted[KEY_MAX_TAGS];
    struct buf name = BUF_INIT;
    struct tag_set set;
    size_t i;

    (void)d;
    tsuid->size = sizeof(size_t);
    if (series_check(NULL, rules, x, &set, e) != ST_OK)
        return e->status;
    if (fake.unknown_metrics)
        return error_set(e, ST_NOT_FOUND, "No such name for 'metrics': '%.*s'",
                         SLICE_ARG(x->metric));
    memcpy(sorted, x->tags, x->tags_len * sizeof *sorted);
    qsort(sorted, x->tags_len, sizeof *sorted, compare_tags);
    if (x->kind != 0)
        buf_printf(&name, "%s ", fake.kind);
    buf_put_slice(&name, x->metric);
    for (i = 0; i < x->tags_len; i++) {
        buf_put_str(&name, i == 0 ? "{" : ",");
        buf_put_slice(&name, sorted[i].key);
        buf_put_str(&name, "=");
        buf_put_slice(&name, sorted[i].value);
    }
    buf_put_str(&name, "}");
    lock_take(&fake.lock);
    fake.resolved++;
    for (i = 0; i < fake.series_len; i++)
        if (fake.series[i] != NULL &&
            strcmp(fake.series[i], buf_cstr(&name)) == 0)
            break;
    if (i == fake.series_len && i < FAKE_SERIES)
        fake.series[fake.series_len++] = strdup(buf_cstr(&name));
    memcpy(tsuid->bytes, &i, sizeof i);
    lock_drop(&fake.lock);
    buf_fini(&name);
    return i < FAKE_SERIES ? ST_OK : error_set(e, ST_IO, "too many series");
}

/* All names are at hand. */
struct series_names *
series_names_new(struct series_directory *d, const struct series_rules *rules)
{
    (void)d;
    (void)rules;
    return NULL;
}

void
series_names_add(struct series_names *n, const struct series_text *x)
{
    (void)n;
    (void)x;
}

void
series_names_resolve(struct series_names **n)
{
    (void)n;
}

/* A metric is known that has a series. */
bool
series_of_metric(struct series_directory *d, struct slice metric,
                 struct slice tsuid, uint8_t *out)
{
    struct buf name = BUF_INIT;
    bool known = false;
    size_t i;

    (void)d;
    memcpy(&i, tsuid.data, sizeof i);
    buf_put_slice(&name, metric);
    lock_take(&fake.lock);
    buf_put_str(&name, strchr(fake.series[i], '{'));
    for (i = 0; i < fake.series_len; i++)
        known |= fake.series[i] != NULL &&
                 strncmp(fake.series[i], buf_cstr(&name), metric.size + 1) == 0;
    for (i = 0; i < fake.series_len; i++)
        if (fake.series[i] != NULL &&
            strcmp(fake.series[i], buf_cstr(&name)) == 0)
            break;
    if (known && i == fake.series_len && i < FAKE_SERIES)
        fake.series[fake.series_len++] = strdup(buf_cstr(&name));
    fake.short_ways += known;
    memcpy(out, &i, sizeof i);
    lock_drop(&fake.lock);
    buf_fini(&name);
    return known && i < FAKE_SERIES;
}

/* A TSUID is a number here. */
enum status
series_enter(struct series_directory *d, struct series_entry *entries,
             size_t len, struct error *e)
{
    (void)d;
    (void)e;
    for (size_t i = 0; i < len; i++) {
        size_t n;

        INSIST(entries[i].tsuid.size == sizeof n);
        memcpy(&n, entries[i].tsuid.data, sizeof n);
        entries[i].ref = n + 1;
        entries[i].rejected = ST_OK;
    }
    return ST_OK;
}

enum status
series_is_being_purged(struct error *e)
{
    return error_set(e, ST_BUSY, "a name of the series is being purged");
}

enum status
series_reject(struct series_directory *d, struct error *e)
{
    (void)d;
    return error_set(e, ST_LIMIT, "too many");
}

static void
log_point(const struct series_point *p)
{
    char text[NUMBER_TEXT_MAX];
    size_t n = p->point.is_float ? number_format_double(p->point.v.d, text)
                                 : number_format_i64(p->point.v.i, text);

    buf_printf(&fake.log, "%s %lld %.*s\n", fake.series[p->series - 1],
               (long long)p->point.ts_ms, (int)n, text);
}

enum status
store_put(struct store *s, struct series_point *points, size_t len,
          uint64_t *lsn, struct error *e)
{
    enum status result = ST_OK;

    (void)s;
    lock_take(&fake.lock);
    for (size_t i = 0; i < len; i++) {
        enum status status = ST_OK;

        if (fake.fails)
            status = error_set(e, ST_IO, "the disk is on fire");
        else if (fake.is_busy && fake.busy == 0)
            status = error_set(e, ST_BUSY, "busy");
        else if (fake.series[points[i].series - 1] == NULL)
            status = error_set(e, ST_NOT_FOUND, "stale");
        if (fake.is_busy && fake.busy > 0)
            fake.busy--;
        points[i].status = status;
        if (status == ST_OK) {
            fake.points++;
            if (fake.keep_log)
                log_point(&points[i]);
        } else if (result == ST_OK) {
            result = status;
        }
    }
    *lsn = fake.points;
    lock_drop(&fake.lock);
    return result;
}

struct store_window *
store_window_new(struct store *s)
{
    (void)s;
    return fake.has_owners ? (struct store_window *)&fake : NULL;
}

void
store_window_free(struct store_window **w)
{
    *w = NULL;
}

enum status
store_window_put(struct store_window *w, struct series_point *points,
                 size_t len, uint64_t *lsn, struct error *e)
{
    (void)w;
    return store_put(NULL, points, len, lsn, e);
}

enum status
store_window_end(struct store_window *w, uint64_t *lsn, size_t *rejected,
                 struct error *e)
{
    enum status status = ST_OK;

    (void)w;
    *lsn = *rejected = 0;
    lock_take(&fake.lock);
    if (fake.owners_busy > 0)
        status = error_set(e, ST_BUSY, "no owner now");
    else if (fake.owners_reject != NULL)
        status = error_set(e, ST_IO, "%s", fake.owners_reject);
    fake.owners_busy -= fake.owners_busy > 0;
    lock_drop(&fake.lock);
    return status;
}

enum status
store_may_write(struct store *s, struct error *e)
{
    return ST_OK;
}

bool
store_is_quick(const struct store *s)
{
    (void)s;
    return true;
}

enum status
store_commit(struct store *s, uint64_t lsn, bool sync, struct error *e)
{
    enum status status = ST_OK;

    (void)s;
    (void)sync;
    lock_take(&fake.lock);
    fake.commits++;
    if (fake.commit_fails != NULL)
        status = error_set(e, ST_IO, "%s", fake.commit_fails);
    else if (lsn > fake.committed_points)
        fake.committed_points = lsn;
    lock_drop(&fake.lock);
    return status;
}
