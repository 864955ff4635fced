/* What an operator writes: settings in files and on the command line, limits of
 * queries, rollups.
 *
 *     <kind> <text> */
#include "tsd/config/settings.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/mem.h"
#include "base/obj.h"
#include "base/process/clock.h"
#include "base/process/log.h"
#include "query/model/rollup.h"
#include "tests/fuzz/target.h"
#include "tsd/config/limits.h"
#include "tsd/config/properties.h"

/* A file with the text, and a path to it. */
static int
make_file(struct slice text, char path[64])
{
    int fd = memfd_create("fuzz", 0);

    INSIST(fd >= 0);
    INSIST(write(fd, text.data, text.size) == (ssize_t)text.size);
    (void)snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static void
on_pair(void *ctx, const char *key, const char *value, size_t solid,
        size_t line)
{
    INSIST(line > 0 && solid <= strlen(value));
    settings_set(ctx, key, value);
}

static void
check_all(const struct settings *s)
{
    struct error e = { 0 };

    if (settings_check(s, &e) != ST_OK) {
        INSIST(e.text[0] != '\0');
        return;
    }
/* What was accepted is within its bounds. */
#define WITHIN(name, min, max)                           \
    INSIST(settings_number(s, name) - (uint64_t)(min) <= \
           (uint64_t)(max) - (uint64_t)(min));
#define CHECK_INT   WITHIN
#define CHECK_COUNT WITHIN
#define CHECK_BYTES WITHIN
#define CHECK_BOOL(...)
#define CHECK_CHOICE     CHECK_BOOL
#define CHECK_TEXT       CHECK_BOOL
#define CHECK_PLACE      CHECK_BOOL
#define CHECK_ZONE       CHECK_BOOL
#define CHECK_POLICIES   CHECK_BOOL
#define CHECK_CHARACTERS CHECK_BOOL
#define SETTING(member, name, value, type, unit, min, max, text) \
    CHECK_##type(name, min, max)
#define ACCEPTED(name, value)
#include "tsd/config/settings.def"
#undef ACCEPTED
#undef SETTING
}

static void
use_file(struct slice text, bool whole)
{
    struct settings *s = settings_new();
    struct error e = { 0 };
    char path[64];
    int fd = whole ? make_file(text, path) : -1;
    enum status st = whole ? settings_load(s, path, &e)
                           : properties_parse(text, on_pair, s, &e);

    INSIST(st == ST_OK || (st == ST_INVALID && e.text[0] != '\0'));
    check_all(s);
    settings_free(&s);
    if (fd >= 0)
        (void)close(fd);
}

static void
use_word(struct slice text)
{
    struct settings *s = settings_new();
    char *word = mem_strndup(text.data, text.size);
    struct error e = { 0 };

    if (settings_set_word(s, word, &e) == ST_OK)
        check_all(s);
    free(word);
    settings_free(&s);
}

static void
use_limits(struct slice text)
{
    struct settings *s = settings_new();
    struct query q = { 0 };
    struct sub_query sq = { .metric = slice_str("sys.cpu.user") };
    struct engine_limits found;
    struct limits *l;
    char path[64];
    int fd = make_file(text, path);

    settings_set(s, "tsd.query.limits.overrides.config", path);
    if (limits_open(s, &clock_system, &l, NULL) != ST_OK)
        INSIST(l != NULL);
    limits_find(l, &q, &sq, &found);
    limits_free(&l);
    settings_free(&s);
    (void)close(fd);
}

static void
use_rollups(struct slice text)
{
    const struct rollup_interval *best[ROLLUP_INTERVALS_MAX];
    struct rollups *r = NULL;
    struct error e = { 0 };
    char path[64];
    int fd = make_file(text, path);

    if (rollups_open(path, &r, &e) == ST_OK) {
        INSIST(r->len <= ROLLUP_INTERVALS_MAX);
        INSIST(rollups_best(r, 86400, best) <= r->len);
        for (size_t i = 0; i < r->len; i++) {
            const struct rollup_interval *x = &r->intervals[i];
            int64_t ms, slot;

            INSIST(x->seconds > 0);
            if (rollup_store_ms(x, 1356998401, &ms, &slot))
                INSIST(rollup_real_ms(x, ms) <= INT64_C(1356998401000));
        }
    } else {
        INSIST(r == NULL && e.text[0] != '\0');
    }
    rollups_close(&r);
    (void)close(fd);
}

FUZZ_TARGET(data, size)
{
    struct cursor c = cursor_of(slice_of(data, size));
    uint8_t kind = cursor_u8(&c);
    struct slice text = cursor_bytes(&c, cursor_left(&c));

    log_set_level(LOG_ERROR);
    switch (kind) {
    case 'w':
        use_word(text);
        break;
    case 'l':
        use_limits(text);
        break;
    case 'r':
        use_rollups(text);
        break;
    default:
        use_file(text, kind == 'f');
    }
    return 0;
}
