/* See storage/store/format.h.  The file is text, so that an operator can read
 * it, and ends with a checksum, so that an edit is noticed. */
#include "config.h"

#include "storage/store/format.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text/number.h"
#include "base/obj.h"
#include "base/durable.h"

void
format_new(struct format *out, const struct key_layout *layout)
{
    INSIST(key_layout_is_valid(layout));
    *out = (struct format){ .version = FORMAT_VERSION, .layout = *layout };
    (void)snprintf(out->id, sizeof out->id, "%016" PRIx64 "%016" PRIx64,
                   hash_random_seed(), hash_random_seed());
}

/* -- text ----------------------------------------------------------------- */

static void
format_text(const struct format *f, struct buf *out)
{
    const struct key_layout *s = &f->layout;

    buf_printf(out, "halite %u\n", f->version);
    buf_printf(out, "id %s\n", f->id);
    buf_printf(out, "complete %d\n", f->complete);
    buf_printf(out, "salt-width %u\n", s->salt_width);
    buf_printf(out, "salt-buckets %u\n", s->salt_buckets);
    buf_printf(out, "metric-width %u\n", s->metric_width);
    buf_printf(out, "tagk-width %u\n", s->tagk_width);
    buf_printf(out, "tagv-width %u\n", s->tagv_width);
    buf_printf(out, "row-hours %u\n", s->row_hours);
}

/* Takes "NAME VALUE\n" off the beginning of the text; an empty value when it
 * is not there. */
static struct slice
take_line(struct slice *text, const char *name)
{
    size_t n = strlen(name);
    const uint8_t *end;
    struct slice value = { text->data, 0 };

    if (!slice_starts(*text, slice_str(name)) || text->size == n ||
        text->data[n] != ' ')
        return value;
    end = memchr(text->data, '\n', text->size);
    if (end == NULL)
        return value;
    value = slice_of(text->data + n + 1, (size_t)(end - text->data) - n - 1);
    text->size -= (size_t)(end + 1 - text->data);
    text->data = end + 1;
    return value;
}

/* A number past 'max' is taken as 'max', which is no valid value anywhere. */
static unsigned
take_number(struct slice *text, const char *name, unsigned max)
{
    uint64_t v;

    if (!number_parse_u64(take_line(text, name), &v) || v > max)
        return max;
    return (unsigned)v;
}

static enum status
parse(struct slice text, const char *path, struct format *out, struct error *e)
{
    struct slice id;
    unsigned complete;

    out->version = take_number(&text, "halite", UINT32_MAX);
    if (out->version != FORMAT_VERSION && out->version != 0)
        return error_set(e, ST_CORRUPT,
                         "'%s' says format %u, this program reads format %u "
                         "only: the store was made by another Halite",
                         path, out->version, (unsigned)FORMAT_VERSION);
    id = take_line(&text, "id");
    if (id.size == FORMAT_ID_SIZE - 1)
        memcpy(out->id, id.data, id.size);
    complete = take_number(&text, "complete", 2);
    out->complete = complete == 1;
    out->layout.salt_width = (uint8_t)take_number(&text, "salt-width", 255);
    out->layout.salt_buckets =
        (uint16_t)take_number(&text, "salt-buckets", 65535);
    out->layout.metric_width = (uint8_t)take_number(&text, "metric-width", 255);
    out->layout.tagk_width = (uint8_t)take_number(&text, "tagk-width", 255);
    out->layout.tagv_width = (uint8_t)take_number(&text, "tagv-width", 255);
    out->layout.row_hours = (uint8_t)take_number(&text, "row-hours", 255);
    if (out->version == 0 || complete > 1 || id.size != FORMAT_ID_SIZE - 1 ||
        text.size != 0 || !key_layout_is_valid(&out->layout)) {
        out->version = 0;
        return error_set(e, ST_CORRUPT, "'%s' is malformed", path);
    }
    return ST_OK;
}

/* -- files ---------------------------------------------------------------- */

static const char *const names[] = { "FORMAT", "FORMAT.1" };

static enum status
read_one(const char *dir, const char *name, struct format *out, struct error *e)
{
    char *path = files_path(dir, name);
    struct buf text = BUF_INIT;
    enum status st = files_get_text(dir, name, &text, e);

    *out = (struct format){ .version = 0 };
    if (st != ST_NOT_FOUND && st != ST_IO &&
        !slice_starts(buf_slice(&text), slice_str("halite ")))
        st = error_set(e, ST_CORRUPT,
                       "'%s' is not Halite's: another program's folder?", path);
    if (st == ST_OK)
        st = parse(buf_slice(&text), path, out, e);
    buf_fini(&text);
    free(path);
    return st;
}

enum status
format_read(const char *dir, struct format *out, struct error *e)
{
    struct format copy;
    enum status st = read_one(dir, names[0], out, e);
    enum status copied = read_one(dir, names[1], &copy, NULL);

    if (st != ST_OK && copied == ST_OK && out->version == 0)
        *out = copy;
    else if (st != ST_OK)
        return st;
    out->damaged = st != ST_OK || copied != ST_OK;
    return ST_OK;
}

enum status
format_write(const char *dir, const struct format *f, struct error *e)
{
    enum status st = ST_OK;

    for (size_t i = 2; i-- > 0 && st == ST_OK;) {
        struct buf text = BUF_INIT;

        format_text(f, &text);
        st = files_put_text(dir, names[i], &text, e);
        buf_fini(&text);
    }
    return st;
}

/* -- the lock ------------------------------------------------------------- */

/* Who holds it, for the sentence; the file says so, if it could be written. */
static enum status
reject(int fd, const char *dir, struct error *e)
{
    char pid[16] = "";
    ssize_t n = pread(fd, pid, sizeof pid - 1, 0);

    for (ssize_t i = 0; i < n; i++)
        if (pid[i] < '0' || pid[i] > '9')
            pid[i] = '\0';
    if (n > 0 && pid[0] != '\0')
        return error_set(e, ST_IO, "'%s' is in use by another process (pid %s)",
                         dir, pid);
    return error_set(e, ST_IO, "'%s' is in use by another process", dir);
}

static enum status
lock_fd(int fd, const char *dir, const char *path, struct error *e)
{
    char pid[16];
    int n;

    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK)
            return reject(fd, dir, e);
        return error_set(e, ST_IO, "cannot lock '%s': %s", path,
                         strerror(errno));
    }
    /* On a full disk the lock holds without the number. */
    n = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
    if (ftruncate(fd, 0) == 0)
        n = (int)pwrite(fd, pid, (size_t)n, 0);
    (void)n;
    return ST_OK;
}

enum status
format_lock(const char *dir, int *fd, struct error *e)
{
    char *path = files_path(dir, "LOCK");
    enum status st;

    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (*fd < 0)
        st = error_set(e, ST_IO, "cannot open '%s': %s", path, strerror(errno));
    else
        st = lock_fd(*fd, dir, path, e);
    if (st != ST_OK)
        format_unlock(fd);
    free(path);
    return st;
}

void
format_lock_note(int fd, const char *note)
{
    char text[16 + FORMAT_NOTE_MAX];
    int n = snprintf(text, sizeof text, "%ld\n%.*s\n", (long)getpid(),
                     FORMAT_NOTE_MAX - 1, note);

    if (pwrite(fd, text, (size_t)n, 0) != n)
        return; /* who looks for it finds none */
}

void
format_lock_read(const char *dir, char note[FORMAT_NOTE_MAX])
{
    char *path = files_path(dir, "LOCK");
    struct buf text = BUF_INIT;
    const char *line = NULL;

    note[0] = '\0';
    if (files_read(path, 16 + FORMAT_NOTE_MAX, &text, NULL) == ST_OK)
        line = strchr(buf_cstr(&text), '\n');
    if (line != NULL)
        (void)snprintf(note, FORMAT_NOTE_MAX, "%.*s",
                       (int)strcspn(line + 1, "\n"), line + 1);
    buf_fini(&text);
    free(path);
}

void
format_unlock(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}
