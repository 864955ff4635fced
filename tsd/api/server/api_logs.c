/* /logs: the last lines of the log, newest first; ?level= sets what it tells.
 */
#include "tsd/api/api.h"

#include <ctype.h>
#include <time.h>

#include "base/process/log.h"
#include "web/json/json.h"

#define LINES_MAX 1024
#define LOGGER    "ROOT" /* there is one */

struct lines {
    struct arena *arena;
    char *text[LINES_MAX];
    size_t len;
};

static void
keep(void *ctx, const char *line)
{
    struct lines *l = ctx;
    char *copy =
        l->len < LINES_MAX ? arena_strdup(l->arena, slice_str(line)) : NULL;

    if (copy != NULL)
        l->text[l->len++] = copy;
}

/* Our "2026-11-21T12:00:00.123Z warn  uid: text" as OpenTSDB writes it:
 * seconds, level, thread, logger and text, parted by tabs. */
static void
put_line(struct buf *b, const char *line)
{
    struct tm tm = { 0 };
    const char *rest = strptime(line, "%Y-%m-%dT%H:%M:%S", &tm);
    const char *level, *module, *text;

    if (rest == NULL || (level = strchr(rest, ' ')) == NULL ||
        (module = level + strcspn(level + 1, " ") + 1)[0] == '\0' ||
        (text = strchr(module, ':')) == NULL) {
        buf_put_str(b, line);
        return;
    }
    buf_printf(b, "%lld\t", (long long)timegm(&tm));
    for (level++; level < module; level++)
        buf_put_u8(b, (uint8_t)toupper((unsigned char)*level));
    while (*module == ' ')
        module++;
    buf_printf(b, "\tmain\t%.*s\t%s", (int)(text - module), module,
               text[1] == ' ' ? text + 2 : text + 1);
}

static void
set_level(const struct http_request *r, struct slice level,
          struct http_reply *out)
{
    static const struct {
        const char *name;
        enum log_level level;
    } names[] = {
        { "ALL", LOG_DEBUG }, { "TRACE", LOG_DEBUG }, { "DEBUG", LOG_DEBUG },
        { "INFO", LOG_INFO }, { "WARN", LOG_WARN },   { "ERROR", LOG_ERROR },
        { "OFF", LOG_ERROR },
    };
    struct slice logger = slice_str(LOGGER);
    char text[600];

    if (http_param(r, "logger", &logger) && !slice_eq_str(logger, LOGGER)) {
        (void)snprintf(text, sizeof text, "Invalid logger: %s",
                       log_quote(logger));
        http_reply_error(out, 400, text, NULL);
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (slice_eq_nocase(level, slice_str(names[i].name))) {
            log_set_level(names[i].level);
            buf_printf(http_reply_body(out),
                       "Set the log level to %s on 1 loggers.\n",
                       names[i].name);
            return;
        }
    (void)snprintf(text, sizeof text, "Invalid level: %s", log_quote(level));
    http_reply_error(out, 400, text, NULL);
}

void
api_logs(void *ctx, const struct http_request *r, struct http_reply *out)
{
    bool json = http_has_param(r, "json");
    struct buf *b = http_reply_body(out), one = BUF_INIT;
    struct lines *l;
    struct slice level;

    http_reply_type(out, json ? "application/json" : "text/plain");
    if (!json && http_param(r, "level", &level)) {
        set_level(r, level, out);
        return;
    }
    l = arena_array(http_arena(r), 1, sizeof *l);
    if (l == NULL) {
        http_reply_error(out, 413, "the log is too long", NULL);
        return;
    }
    l->arena = http_arena(r);
    log_recent(keep, l);
    if (json)
        buf_put_u8(b, '[');
    for (size_t i = l->len; i-- > 0;) {
        buf_clear(&one);
        put_line(&one, l->text[i]);
        if (json) {
            json_put_item(b, buf_slice(&one));
        } else {
            buf_put_slice(b, buf_slice(&one));
            buf_put_u8(b, '\n');
        }
    }
    if (json)
        buf_put_u8(b, ']');
    buf_fini(&one);
}
