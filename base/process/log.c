/* See base/process/log.h.  The last lines are kept for those who ask over HTTP.
 */
#include "base/process/log.h"

#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/process/lock.h"
#include "base/utf8.h"

#define RECENT_LINES   1024
#define LINE_MAX_BYTES 640
#define PRIORITY_BYTES 3

static _Atomic int current_level = LOG_INFO;
static bool with_priorities;

static struct lock recent_lock = LOCK_INIT;
static char recent[RECENT_LINES][LINE_MAX_BYTES] GUARDED_BY(recent_lock);
static size_t recent_total GUARDED_BY(recent_lock); /* since the start */

static const char *const level_names[] = { "error", "warn", "info", "debug" };

static const char *const syslog_priorities[] = { "<3>", "<4>", "<6>", "<7>" };

/* One write, so that lines of threads do not mix; a closed or full stderr must
 * not stop the server, nor a pipe without a reader: one that is ready takes
 * a line, and what comes while it is full is gone. */
static void
write_line(const char *line, size_t size)
{
    struct pollfd fd = { .fd = STDERR_FILENO, .events = POLLOUT };

    if (poll(&fd, 1, 0) == 1 && (fd.revents & POLLOUT) != 0)
        (void)(write(STDERR_FILENO, line, size) < 0);
}

void
log_set_level(enum log_level level)
{
    atomic_store_explicit(&current_level, (int)level, memory_order_relaxed);
}

enum log_level
log_get_level(void)
{
    return (enum log_level)atomic_load_explicit(&current_level,
                                                memory_order_relaxed);
}

void
log_set_priorities(bool on)
{
    with_priorities = on;
}

const char *
log_level_name(enum log_level level)
{
    return level_names[level];
}

void
log_line(enum log_level level, const char *module, const char *fmt, ...)
{
    char all[PRIORITY_BYTES + LINE_MAX_BYTES], *line = all + PRIORITY_BYTES;
    struct timespec ts;
    struct tm tm;
    size_t n;
    va_list ap;

    if (level > log_get_level())
        return;
    (void)clock_gettime(CLOCK_REALTIME, &ts);
    (void)gmtime_r(&ts.tv_sec, &tm);
    n = strftime(line, LINE_MAX_BYTES, "%Y-%m-%dT%H:%M:%S", &tm);
    n += (size_t)snprintf(line + n, LINE_MAX_BYTES - n,
                          ".%03ldZ %-5s %s: ", ts.tv_nsec / 1000000,
                          level_names[level], module);
    va_start(ap, fmt);
    (void)vsnprintf(line + n, LINE_MAX_BYTES - n, fmt, ap);
    va_end(ap);
    /* An event is one line, also when a text in it brought in others. */
    for (; line[n] != '\0'; n++)
        if ((unsigned char)line[n] < 0x20 || line[n] == 0x7f)
            line[n] = ' ';

    lock_take(&recent_lock);
    memcpy(recent[recent_total % RECENT_LINES], line, LINE_MAX_BYTES);
    recent_total++;
    lock_drop(&recent_lock);

    if (n == LINE_MAX_BYTES - 1)
        n--;
    line[n++] = '\n';
    memcpy(all, syslog_priorities[level], PRIORITY_BYTES);
    if (with_priorities)
        write_line(all, PRIORITY_BYTES + n);
    else
        write_line(line, n);
}

/* A character that begins with a byte of 0x80 or more: it stays when it is
 * UTF-8 and not a control character of an 8-bit terminal.  Moves '*i' to its
 * last byte; returns how much was written. */
static size_t
log_quote_wide(struct slice s, size_t *i, char *to)
{
    struct slice rest = s;
    uint32_t c = utf8_take(&rest);
    size_t size = s.size - rest.size, n = 0;

    *i += size - 1;
    if (c != UTF8_BAD && c >= 0xa0) {
        memcpy(to, s.data, size);
        return size;
    }
    for (size_t k = 0; k < size; k++)
        n += (size_t)snprintf(to + n, 5, "\\x%02x", s.data[k]);
    return n;
}

struct log_quoted
log_quote_bytes(struct slice s)
{
    struct log_quoted q;
    size_t n = 0;

    q.text[n++] = '"';
    for (size_t i = 0; i < s.size; i++) {
        uint8_t c = s.data[i];

        if (i >= 120) {
            memcpy(q.text + n, "...", 3);
            n += 3;
            break;
        }
        if (c == '"' || c == '\\') {
            q.text[n++] = '\\';
            q.text[n++] = (char)c;
        } else if (c >= 0x80) {
            n += log_quote_wide(slice_of(s.data + i, s.size - i), &i,
                                q.text + n);
        } else if (c < 0x20 || c == 0x7f) {
            n += (size_t)snprintf(q.text + n, 5, "\\x%02x", c);
        } else {
            q.text[n++] = (char)c;
        }
    }
    q.text[n++] = '"';
    q.text[n] = '\0';
    return q;
}

#define TEXT_BYTES ((size_t)360) /* of a text in one line */
#define WHAT_BYTES 200

/* Control characters of 8-bit terminals, too, become blanks. */
static void
log_part(enum log_level level, const char *module, const char *what,
         struct slice part)
{
    char text[TEXT_BYTES + 1];

    memcpy(text, part.data, part.size);
    text[part.size] = '\0';
    for (size_t i = 0; i < part.size; i++)
        if (text[i] == '\0' ||
            ((uint8_t)text[i] == 0xc2 && (uint8_t)text[i + 1] >= 0x80 &&
             (uint8_t)text[i + 1] < 0xa0))
            text[i] = text[i + (text[i] != '\0')] = ' ';
    log_line(level, module, "%s: %s", what, text);
}

void
log_text(enum log_level level, const char *module, const char *what,
         struct slice text)
{
    size_t parts = (text.size + TEXT_BYTES - 1) / TEXT_BYTES;
    char front[WHAT_BYTES + 64];

    if (level > log_get_level())
        return;
    for (size_t at = 0, i = 1; at < text.size; at += TEXT_BYTES, i++) {
        size_t left = text.size - at;

        if (parts == 1)
            (void)snprintf(front, sizeof front, "%.*s", WHAT_BYTES, what);
        else
            (void)snprintf(front, sizeof front, "%.*s (part %zu of %zu)",
                           WHAT_BYTES, what, i, parts);
        log_part(
            level, module, front,
            slice_of(text.data + at, left < TEXT_BYTES ? left : TEXT_BYTES));
    }
}

void
log_recent(void (*f)(void *ctx, const char *line), void *ctx)
{
    char line[LINE_MAX_BYTES];
    size_t from, to;

    lock_take(&recent_lock);
    to = recent_total;
    lock_drop(&recent_lock);
    from = to > RECENT_LINES ? to - RECENT_LINES : 0;
    for (; from < to; from++) {
        lock_take(&recent_lock);
        memcpy(line, recent[from % RECENT_LINES], sizeof line);
        lock_drop(&recent_lock);
        f(ctx, line);
    }
}
