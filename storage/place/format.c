/* See storage/place/format.h.  The file is text, so that an operator can read
 * it, and ends with a checksum, so that an edit is noticed. */
#include "storage/place/format.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/obj.h"
#include "base/file/durable.h"
#include "base/file/file.h"

#define LOCK_TRIES  20
#define LOCK_TRY_US 5000

void
format_new(struct format *out, const struct key_layout *layout)
{
    INSIST(key_layout_is_valid(layout));
    *out = (struct format){ .version = FORMAT_VERSION, .layout = *layout };
    (void)snprintf(out->id, sizeof out->id, "%016" PRIx64 "%016" PRIx64,
                   hash_random_seed(), hash_random_seed());
}

void
format_print(const struct format *f, struct buf *out)
{
    const struct key_layout *s = &f->layout;

    buf_printf(out,
               "halite %u\nid %s\ncomplete %d\nsalt-width %u\n"
               "salt-buckets %u\nmetric-width %u\ntagk-width %u\n"
               "tagv-width %u\nrow-hours %u\n",
               f->version, f->id, f->complete, s->salt_width, s->salt_buckets,
               s->metric_width, s->tagk_width, s->tagv_width, s->row_hours);
    if (f->window_hours != 0)
        buf_printf(out, "window-hours %u\n", f->window_hours);
}

/* What was read is right when it is written with the same bytes. */
enum status
format_parse(struct buf *text, const char *path, struct format *out,
             struct error *e)
{
    struct key_layout *s = &out->layout;
    struct buf again = BUF_INIT;
    unsigned complete = 0;
    int n;
    bool whole;

    *out = (struct format){ .version = 0 };
    n = sscanf(buf_cstr(text),
               "halite %u id %32s complete %u salt-width %hhu "
               "salt-buckets %hu metric-width %hhu tagk-width %hhu "
               "tagv-width %hhu row-hours %hhu window-hours %u",
               &out->version, out->id, &complete, &s->salt_width,
               &s->salt_buckets, &s->metric_width, &s->tagk_width,
               &s->tagv_width, &s->row_hours, &out->window_hours);
    if (n > 0 && out->version > FORMAT_VERSION)
        return error_set(e, ST_CORRUPT,
                         "'%s' says format %u, this program reads format %d: a "
                         "newer Halite wrote into the store",
                         path, out->version, FORMAT_VERSION);
    if (n > 0 && out->version > 0 && out->version < FORMAT_VERSION)
        return error_set(e, ST_CORRUPT,
                         "'%s' says format %u, this program reads format %d: "
                         "export the store with the program that wrote it "
                         "('halite scan --json'), and import that into a new "
                         "store ('halite import --json')",
                         path, out->version, FORMAT_VERSION);
    out->complete = complete == 1;
    format_print(out, &again);
    if (again.failed) {
        buf_fini(&again);
        out->version = 0;
        return error_set(e, ST_IO, "no memory to read '%s'", path);
    }
    whole = out->version == FORMAT_VERSION &&
            strlen(out->id) == FORMAT_ID_SIZE - 1 &&
            slice_eq(buf_slice(&again), buf_slice(text)) &&
            key_layout_is_valid(s);
    buf_fini(&again);
    if (whole)
        return ST_OK;
    out->version = 0;
    return error_set(e, ST_CORRUPT, "'%s' is malformed", path);
}

static const char *const names[] = { "FORMAT", "FORMAT.1" };

static enum status
read_one(const char *dir, const char *name, struct format *out, struct error *e)
{
    char *path = files_path(dir, name);
    struct buf text = BUF_INIT;
    enum status st = files_get_text(dir, name, &text, e);

    out->version = 0;
    if (text.failed)
        st = error_set(e, ST_IO, "no memory to read '%s'", path);
    if (st != ST_NOT_FOUND && st != ST_IO &&
        !slice_starts(buf_slice(&text), slice_str("halite ")))
        st = error_set(e, ST_CORRUPT,
                       "'%s' is not Halite's: another program's folder?", path);
    if (st == ST_OK)
        st = format_parse(&text, path, out, e);
    buf_fini(&text);
    free(path);
    return st;
}

enum status
format_read(const char *dir, struct format *out, struct error *e)
{
    struct format copy;
    enum status st = read_one(dir, names[0], out, e);
    enum status copied = read_one(dir, names[1], &copy, st == ST_OK ? e : NULL);

    if (st != ST_OK && copied == ST_OK && out->version == 0)
        *out = copy;
    else if (st == ST_NOT_FOUND)
        return error_set(e, st, "there is no store in '%s': no FORMAT", dir);
    else if (st != ST_OK)
        return st;
    out->damaged = st != ST_OK || copied != ST_OK;
    out->unread = st == ST_IO || copied == ST_IO;
    return ST_OK;
}

enum status
format_write(const char *dir, const struct format *f, struct error *e)
{
    enum status st = ST_OK;

    for (size_t i = 2; i-- > 0 && st == ST_OK;) {
        struct buf text = BUF_INIT;

        format_print(f, &text);
        st = files_put_text(dir, names[i], &text, e);
        buf_fini(&text);
    }
    return st;
}

/* format_is_locked() of another process holds a lock briefly. */
static int
lock_exclusively(int fd)
{
    for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
        if (errno != EWOULDBLOCK || i == LOCK_TRIES)
            return -1;
        (void)usleep(LOCK_TRY_US);
    }
    return 0;
}

static enum status
in_use(const char *dir, struct error *e)
{
    char *path = files_path(dir, "LOCK");
    struct buf pid = BUF_INIT;

    if (file_read(path, 16 + FORMAT_NOTE_MAX, &pid, NULL) == ST_OK &&
        *buf_cstr(&pid) >= '1' && *buf_cstr(&pid) <= '9')
        (void)error_set(e, ST_IO, "'%s' is in use by another process (pid %lu)",
                        dir, strtoul(buf_cstr(&pid), NULL, 10));
    else
        (void)error_set(e, ST_IO, "'%s' is in use by another process", dir);
    buf_fini(&pid);
    free(path);
    return ST_IO;
}

/* Network file systems lock no folders: there LOCK alone counts. */
static enum status
lock_folder(const char *dir, int *fd, struct error *e)
{
    *fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0)
        return error_set(e, ST_IO, "cannot open '%s': %m", dir);
    return lock_exclusively(*fd) == 0 || errno != EWOULDBLOCK ? ST_OK
                                                              : in_use(dir, e);
}

/* Otherwise root would leave files that the owner's server cannot open. */
static enum status
become_owner(int folder, const char *dir, struct error *e)
{
    struct stat owner;

    if (geteuid() != 0)
        return ST_OK;
    if (fstat(folder, &owner) != 0)
        return error_set(e, ST_IO, "cannot stat '%s': %m", dir);
    if (owner.st_uid == 0)
        return ST_OK;
    if (setgroups(0, NULL) != 0 || setgid(owner.st_gid) != 0 ||
        setuid(owner.st_uid) != 0)
        return error_set(e, ST_IO,
                         "cannot run as the owner of '%s' (user %u, group %u): "
                         "%m",
                         dir, owner.st_uid, owner.st_gid);
    return ST_OK;
}

enum status
format_lock(const char *dir, struct format_lock *lock, struct error *e)
{
    enum status st = lock_folder(dir, &lock->folder, e);

    lock->file = -1;
    if (st == ST_OK)
        st = become_owner(lock->folder, dir, e);
    if (st == ST_OK) {
        char *path = files_path(dir, "LOCK");

        lock->file =
            open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (lock->file < 0 && errno != EROFS)
            st = error_set(e, ST_IO, "cannot open '%s': %m", path);
        else if (lock->file >= 0 && lock_exclusively(lock->file) != 0)
            st = errno == EWOULDBLOCK
                     ? in_use(dir, e)
                     : error_set(e, ST_IO, "cannot lock '%s': %m", path);
        free(path);
    }
    if (st != ST_OK)
        format_unlock(lock);
    else if (lock->file >= 0 && ftruncate(lock->file, 0) == 0)
        format_lock_note(lock, NULL); /* on a full disk it holds without */
    return st;
}

void
format_lock_note(const struct format_lock *lock, const char *note)
{
    char text[17 + FORMAT_NOTE_MAX];
    int n = snprintf(text, sizeof text, "%ld\n", (long)getpid());

    if (note != NULL)
        n += snprintf(text + n, FORMAT_NOTE_MAX, "%.*s\n", FORMAT_NOTE_MAX - 2,
                      note);
    if (lock->file >= 0 && pwrite(lock->file, text, (size_t)n, 0) != n)
        return; /* who looks for it finds none */
}

void
format_lock_read(const char *dir, char note[FORMAT_NOTE_MAX])
{
    char *path = files_path(dir, "LOCK");
    struct buf text = BUF_INIT;
    const char *line = NULL;

    note[0] = '\0';
    if (file_read(path, 16 + FORMAT_NOTE_MAX, &text, NULL) == ST_OK)
        line = strchr(buf_cstr(&text), '\n');
    if (line != NULL)
        (void)snprintf(note, FORMAT_NOTE_MAX, "%.*s",
                       (int)strcspn(line + 1, "\n"), line + 1);
    buf_fini(&text);
    free(path);
}

/* Does another process hold a lock of what was opened?  Closes it. */
static bool
is_held(int fd)
{
    bool held =
        fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;

    if (fd >= 0)
        (void)close(fd);
    return held;
}

bool
format_is_locked(const char *dir)
{
    char *path = files_path(dir, "LOCK");
    bool locked = is_held(open(path, O_RDONLY | O_CLOEXEC)) ||
                  is_held(open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));

    free(path);
    return locked;
}

void
format_unlock(struct format_lock *lock)
{
    if (lock->file >= 0)
        (void)close(lock->file);
    if (lock->folder >= 0)
        (void)close(lock->folder);
    *lock = (struct format_lock)FORMAT_NOT_LOCKED;
}
