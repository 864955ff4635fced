/* The FORMAT file: whatever it holds, it is read as what can be written again,
 * or rejected with a sentence.
 *
 *     <text>         0x01 in front: with the checksum that it should have */
#include "storage/place/format.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/crc32c.h"
#include "base/obj.h"
#include "tests/fuzz/target.h"
#include "tests/tempdir.h"

static char *dir;

/* To sync to a disk takes its time. */
static void
use_memory(void)
{
    if (access("/dev/shm", W_OK) == 0)
        (void)setenv("TMPDIR", "/dev/shm", 0);
}

static void
remove_dir(void)
{
    tempdir_free(&dir);
}

static void
write_text(const char *path, struct slice text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    INSIST(fd >= 0);
    INSIST(write(fd, text.data, text.size) == (ssize_t)text.size);
    (void)close(fd);
}

FUZZ_TARGET(data, size)
{
    struct format f, again;
    struct error e = { 0 };
    struct buf text = BUF_INIT;
    enum status st;
    char *path;

    if (dir == NULL) {
        use_memory();
        dir = tempdir_new();
        INSIST(atexit(remove_dir) == 0);
    }
    path = tempdir_path(dir, "FORMAT");
    if (size > 0 && data[0] == 1) {
        buf_put(&text, data + 1, size - 1);
        buf_printf(&text, "crc32c %08x\n", (unsigned)crc32c(buf_slice(&text)));
    } else {
        buf_put(&text, data, size);
    }
    write_text(path, buf_slice(&text));
    st = format_read(dir, &f, &e);
    if (st == ST_OK) {
        INSIST(key_layout_is_valid(&f.layout) && f.version == FORMAT_VERSION);
        INSIST(format_write(dir, &f, &e) == ST_OK);
        INSIST(format_read(dir, &again, &e) == ST_OK);
        INSIST(!again.damaged && strcmp(f.id, again.id) == 0 &&
               memcmp(&f.layout, &again.layout, sizeof f.layout) == 0);
        free(path);
        path = tempdir_path(dir, "FORMAT.1");
        INSIST(remove(path) == 0);
    } else {
        INSIST(st == ST_CORRUPT && e.text[0] != '\0');
    }
    buf_fini(&text);
    free(path);
    return 0;
}
