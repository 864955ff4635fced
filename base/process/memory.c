/* /proc/self/cgroup names the groups of the process:
 *
 *     0::/user.slice/halite.service         version 2
 *     9:memory:/docker/4f1c                 version 1, the memory controller
 *
 * /proc/self/mountinfo tells where the hierarchies are mounted, and which group
 * is at the mount point, which is the container's own in a container:
 *
 *     31 24 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw
 *     34 32 0:29 /docker/4f1c /sys/fs/cgroup/memory ro - cgroup cgroup
 * rw,memory
 */
#include "base/process/memory.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 8192

struct hierarchy {
    bool found;
    char group[PATH_MAX]; /* of the process */
    char mount[PATH_MAX];
    char at_mount[PATH_MAX]; /* the group that is mounted there */
};

struct search {
    const char *root;
    struct hierarchy v1, v2;
};

static FILE *
open_below(const char *root, const char *path)
{
    char full[2 * PATH_MAX];

    if ((size_t)snprintf(full, sizeof full, "%s%s", root, path) >= sizeof full)
        return NULL;
    return fopen(full, "re");
}

/* Is 'word' one of the words, which are separated by commas? */
static bool
has_word(const char *words, const char *word)
{
    size_t size = strlen(word);

    for (const char *at = words; *at != '\0';) {
        size_t n = strcspn(at, ",");

        if (n == size && memcmp(at, word, n) == 0)
            return true;
        at += n + (at[n] == ',');
    }
    return false;
}

static void
copy_path(char *to, const char *from)
{
    (void)snprintf(to, PATH_MAX, "%s", from);
}

/* "9:memory:/docker/4f1c" */
static void
read_group_line(struct search *s, char *line)
{
    char *controllers, *group;

    line[strcspn(line, "\n")] = '\0';
    controllers = strchr(line, ':');
    group = controllers == NULL ? NULL : strchr(controllers + 1, ':');
    if (group == NULL)
        return;
    *controllers++ = '\0';
    *group++ = '\0';
    if (*controllers == '\0' && strcmp(line, "0") == 0)
        copy_path(s->v2.group, group);
    else if (has_word(controllers, "memory"))
        copy_path(s->v1.group, group);
}

/* The fields before " - " are: id, parent, device, root, mount point, ... */
static void
read_mount_line(struct search *s, char *line)
{
    char *dash = strstr(line, " - "), *save = NULL, *word = NULL;
    char at_mount[PATH_MAX] = "", mount[PATH_MAX] = "";
    char type[32], options[1024];
    struct hierarchy *h;

    if (dash == NULL || sscanf(dash, " - %31s %*s %1023s", type, options) != 2)
        return;
    *dash = '\0';
    word = strtok_r(line, " ", &save);
    for (int i = 0; word != NULL; word = strtok_r(NULL, " ", &save), i++)
        if (i == 3)
            copy_path(at_mount, word);
        else if (i == 4)
            copy_path(mount, word);
    if (strcmp(type, "cgroup2") == 0)
        h = &s->v2;
    else if (strcmp(type, "cgroup") == 0 && has_word(options, "memory"))
        h = &s->v1;
    else
        return;
    h->found = true;
    copy_path(h->mount, mount);
    copy_path(h->at_mount, at_mount);
}

static void
each_line(struct search *s, const char *path,
          void (*read)(struct search *s, char *line))
{
    FILE *f = open_below(s->root, path);
    char line[LINE_MAX_BYTES];

    if (f == NULL)
        return;
    while (fgets(line, sizeof line, f) != NULL)
        read(s, line);
    (void)fclose(f);
}

/* What the file says, or UINT64_MAX: "max", or there is none. */
static uint64_t
read_limit(const char *root, const char *folder, const char *file)
{
    char path[PATH_MAX + 64], text[32] = "";
    unsigned long long v;
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/%s", folder, file);
    f = open_below(root, path);
    if (f == NULL)
        return UINT64_MAX;
    if (fgets(text, sizeof text, f) == NULL)
        text[0] = '\0';
    (void)fclose(f);
    if (sscanf(text, "%llu", &v) != 1 || v == 0)
        return UINT64_MAX;
    return v;
}

/* From the group of the process up to the mount point: each level limits those
 * below it. */
static uint64_t
limit_of(const char *root, const struct hierarchy *h,
         const char *const files[2])
{
    size_t skip = strcmp(h->at_mount, "/") == 0 ? 0 : strlen(h->at_mount);
    char folder[PATH_MAX];
    uint64_t least = UINT64_MAX;
    size_t top;

    if (!h->found)
        return UINT64_MAX;
    if (strncmp(h->group, h->at_mount, skip) != 0 ||
        strstr(h->group, "..") != NULL)
        skip = strlen(h->group); /* it is outside of what we see */
    top = strlen(h->mount);
    if ((size_t)snprintf(folder, sizeof folder, "%s%s", h->mount,
                         h->group + skip) >= sizeof folder)
        return UINT64_MAX;
    for (;;) {
        char *slash;

        for (int i = 0; i < 2 && files[i] != NULL; i++) {
            uint64_t v = read_limit(root, folder, files[i]);

            least = v < least ? v : least;
        }
        slash = strrchr(folder, '/');
        if (strlen(folder) <= top || slash == NULL)
            return least;
        *slash = '\0';
    }
}

uint64_t
memory_limit_below(const char *root, uint64_t ram)
{
    static const char *const v1[2] = { "memory.limit_in_bytes", NULL };
    static const char *const v2[2] = { "memory.max", "memory.high" };
    struct search *s = calloc(1, sizeof *s);
    uint64_t a, b;

    if (s == NULL)
        return ram;
    s->root = root;
    each_line(s, "/proc/self/cgroup", read_group_line);
    each_line(s, "/proc/self/mountinfo", read_mount_line);
    a = limit_of(root, &s->v1, v1);
    b = limit_of(root, &s->v2, v2);
    free(s);
    ram = a < ram ? a : ram;
    return b < ram ? b : ram;
}

uint64_t
memory_limit(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

    return memory_limit_below("", pages > 0 && size > 0
                                      ? (uint64_t)pages * (uint64_t)size
                                      : UINT64_MAX);
}
