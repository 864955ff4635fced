/* Feeds a fuzz target what is kept: make check runs this main(); clang's
 * -fsanitize=fuzzer brings another, for hunts
 * (tests/fuzz/hunt), which are compiled with -DREPLAY_HUNT.
 *
 *     fuzz_X FILE-OR-FOLDER...
 *     fuzz_X                     all of $srcdir/tests/fuzz/X.in
 *
 * Small inputs are also tried cut off at every byte, and with every byte
 * inverted, so that a few seeds reach most rejections: with -DREPLAY_EVERY=N at
 * every Nth, where an input takes long, with -DREPLAY_WHOLE not at all.  Nor
 * are those of a file named "kept", which holds many that hunts have found:
 *
 *     { <size:2> <input> }...          packed by tests/fuzz/kept.mjs */
#if !defined(REPLAY_HUNT)

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What larger ones are tried as they are. */
#if defined(REPLAY_WHOLE)
#define SMALL 0
#else
#define SMALL 1024
#endif

#if !defined(REPLAY_EVERY)
#define REPLAY_EVERY 1
#endif

#if defined(__SANITIZE_THREAD__)
#define KEPT_STEP 6
#else
#define KEPT_STEP 1
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each input in memory of exactly its size: a sanitizer then sees one byte too
 * many. */
static void
feed(const uint8_t *data, size_t size)
{
    uint8_t *copy = calloc(1, size == 0 ? 1 : size);

    if (copy == NULL)
        abort();
    if (size > 0)
        memcpy(copy, data, size);
    (void)LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void
feed_variants(uint8_t *data, size_t size)
{
    feed(data, size);
    if (size > SMALL)
        return;
    for (size_t i = 0; i < size; i += REPLAY_EVERY) {
        feed(data, i);
        data[i] = (uint8_t)~data[i];
        feed(data, size);
        data[i] = (uint8_t)~data[i];
    }
}

/* False when the last one is cut off.  Few of them under the thread sanitizer,
 * which takes long, and learns nothing of most. */
static bool
feed_kept(const uint8_t *data, size_t size)
{
    size_t i = 0;

    while (size >= 2) {
        size_t n = (size_t)(data[0] << 8 | data[1]);

        if (n > size - 2)
            break;
        if (i++ % KEPT_STEP == 0)
            feed(data + 2, n);
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
replay_file(const char *path, size_t size)
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
        good = feed_kept(data, size);
    else if (good)
        feed_variants(data, size);
    free(data);
    return good ? 1 : -1;
}

/* How many inputs there were; -1 on a failure. */
static int
replay(const char *path)
{
    struct dirent **names;
    struct stat st;
    int n, sum = 0;

    if (stat(path, &st) != 0) {
        perror(path);
        return -1;
    }
    if (!S_ISDIR(st.st_mode))
        return replay_file(path, (size_t)st.st_size);
    n = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char file[4096];

        (void)snprintf(file, sizeof file, "%s/%s", path, names[i]->d_name);
        if (sum >= 0 && stat(file, &st) == 0 && S_ISREG(st.st_mode))
            sum = replay_file(file, (size_t)st.st_size) < 0 ? -1 : sum + 1;
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    return n < 0 ? -1 : sum;
}

static int
replay_default(const char *program)
{
    const char *srcdir = getenv("srcdir");
    const char *name = strrchr(program, '/');
    char path[4096];

    name = name == NULL ? program : name + 1;
    if (strncmp(name, "fuzz_", 5) == 0)
        name += 5;
    (void)snprintf(path, sizeof path, "%s/tests/fuzz/%s.in",
                   srcdir == NULL ? "." : srcdir, name);
    return replay(path);
}

int
main(int argc, char **argv)
{
    int sum = 0;

    feed(NULL, 0);
    if (argc < 2)
        sum = replay_default(argv[0]);
    for (int i = 1; i < argc && sum >= 0; i++) {
        int n = replay(argv[i]);

        sum = n < 0 ? -1 : sum + n;
    }
    if (sum <= 0)
        (void)fprintf(stderr, "%s: no inputs\n", argv[0]);
    else
        (void)printf("%d inputs\n", sum);
    return sum > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
#endif
