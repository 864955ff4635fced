/* Feeds a fuzz target what is kept of it, all of $srcdir/tests/fuzz/X.in; or
 * with HALITE_INPUT that file or folder.
 *
 *     build/tests/fuzz/replay fuzz_X
 *
 * Small inputs are also tried cut off at every byte, and with every byte
 * inverted, so that a few seeds reach most rejections: of some targets at every
 * Nth, of some not at all (target.h).  Nor are those of a file named "kept",
 * which holds many that hunts have found:
 *
 *     { <size:2> <input> }...          packed by tests/fuzz/kept.mjs */
#include "tests/fuzz/target.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SMALL 1024 /* what larger ones are tried as they are */

#if defined(__SANITIZE_THREAD__)
#define KEPT_STEP 6
#else
#define KEPT_STEP 1
#endif

struct replay {
    int (*target)(const uint8_t *data, size_t size);
    size_t every;
};

/* Each input in memory of exactly its size: a sanitizer then sees one byte too
 * many. */
static void
feed(const struct replay *r, const uint8_t *data, size_t size)
{
    uint8_t *copy = calloc(1, size == 0 ? 1 : size);

    if (copy == NULL)
        abort();
    if (size > 0)
        memcpy(copy, data, size);
    (void)r->target(copy, size);
    free(copy);
}

static void
feed_variants(const struct replay *r, uint8_t *data, size_t size)
{
    feed(r, data, size);
    if (size > SMALL || r->every == 0)
        return;
    for (size_t i = 0; i < size; i += r->every) {
        feed(r, data, i);
        data[i] = (uint8_t)~data[i];
        feed(r, data, size);
        data[i] = (uint8_t)~data[i];
    }
}

/* False when the last one is cut off.  Few of them under the thread sanitizer,
 * which takes long, and learns nothing of most. */
static bool
feed_kept(const struct replay *r, const uint8_t *data, size_t size)
{
    size_t i = 0;

    while (size >= 2) {
        size_t n = (size_t)(data[0] << 8 | data[1]);

        if (n > size - 2)
            break;
        if (i++ % KEPT_STEP == 0)
            feed(r, data + 2, n);
        data += 2 + n;
        size -= 2 + n;
    }
    return size == 0;
}

static bool
is_kept(const char *path)
{
    const char *name = strrchr(path, '/');

    return strcmp(name == NULL ? path : name + 1, "kept") == 0;
}

static int
replay_file(const struct replay *r, const char *path, size_t size)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = malloc(size == 0 ? 1 : size);
    size_t got = 0;
    bool good;

    if (f == NULL || data == NULL)
        perror(path);
    else
        got = fread(data, 1, size, f);
    if (f != NULL)
        (void)fclose(f);
    good = f != NULL && got == size;
    if (good && is_kept(path))
        good = feed_kept(r, data, size);
    else if (good)
        feed_variants(r, data, size);
    free(data);
    return good ? 1 : -1;
}

/* How many inputs there were; -1 on a failure. */
static int
replay_all(const struct replay *r, const char *path)
{
    struct dirent **names;
    struct stat st;
    int n, sum = 0;

    if (stat(path, &st) != 0) {
        perror(path);
        return -1;
    }
    if (!S_ISDIR(st.st_mode))
        return replay_file(r, path, (size_t)st.st_size);
    n = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char file[8192];

        (void)snprintf(file, sizeof file, "%s/%s", path, names[i]->d_name);
        if (sum >= 0 && stat(file, &st) == 0 && S_ISREG(st.st_mode))
            sum = replay_file(r, file, (size_t)st.st_size) < 0 ? -1 : sum + 1;
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    return n < 0 ? -1 : sum;
}

int
fuzz_replay(const char *file, int (*target)(const uint8_t *data, size_t size),
            size_t every)
{
    const struct replay r = { .target = target, .every = every };
    const char *srcdir = getenv("srcdir"), *input = getenv("HALITE_INPUT");
    const char *name = strrchr(file, '/') + strlen("/fuzz_");
    char path[4096];
    int n;

    (void)snprintf(path, sizeof path, "%s/tests/fuzz/%.*s.in",
                   srcdir == NULL ? "." : srcdir, (int)strlen(name) - 2, name);
    feed(&r, NULL, 0);
    n = replay_all(&r, input == NULL ? path : input);
    (void)printf("%s: %d inputs\n", name, n);
    return n > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
