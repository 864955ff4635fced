#include "base/process/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/harness.h"
#include "tests/tempdir.h"

#define MB  (UINT64_C(1) << 20)
#define RAM (8192 * MB)

#define MOUNT_V2 \
    "31 24 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"
#define MOUNT_V1                                                           \
    "22 20 0:5 / /proc rw - proc proc rw\n"                                \
    "34 32 0:29 / /sys/fs/cgroup/cpu rw shared:1 - cgroup cgroup rw,cpu\n" \
    "35 32 0:30 / /sys/fs/cgroup/memory rw shared:2 - cgroup cgroup "      \
    "rw,memory\n"
#define MAX_V1 "9223372036854771712\n"

/* Files below a root, and the limit that they make. */
static const struct machine {
    const char *what, *groups, *mounts;
    struct {
        const char *path, *text;
    } files[5];
    uint64_t limit;
} machines[] = {
    { "no groups at all", NULL, NULL, { { NULL, NULL } }, RAM },
    { "version 2",
      "0::/a.slice/b.service\n",
      MOUNT_V2,
      { { "/sys/fs/cgroup/a.slice/b.service/memory.max", "2147483648\n" } },
      2048 * MB },
    { "version 2, no limit",
      "0::/a\n",
      MOUNT_V2,
      { { "/sys/fs/cgroup/a/memory.max", "max\n" },
        { "/sys/fs/cgroup/a/memory.high", "max\n" } },
      RAM },
    { "version 2, the outer group has less",
      "0::/a/b/c\n",
      MOUNT_V2,
      { { "/sys/fs/cgroup/a/b/c/memory.max", "1073741824\n" },
        { "/sys/fs/cgroup/a/b/memory.max", "max\n" },
        { "/sys/fs/cgroup/a/memory.max", "209715200\n" } },
      200 * MB },
    { "version 2, memory.high",
      "0::/a\n",
      MOUNT_V2,
      { { "/sys/fs/cgroup/a/memory.max", "1073741824\n" },
        { "/sys/fs/cgroup/a/memory.high", "536870912\n" } },
      512 * MB },
    { "version 2 in a container: its group is at the mount point",
      "0::/\n",
      MOUNT_V2,
      { { "/sys/fs/cgroup/memory.max", "314572800\n" } },
      300 * MB },
    { "version 2 in a container without a name space",
      "0::/docker/4f1c/inner\n",
      "31 24 0:27 /docker/4f1c /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n",
      { { "/sys/fs/cgroup/memory.max", "314572800\n" },
        { "/sys/fs/cgroup/inner/memory.max", "104857600\n" } },
      100 * MB },
    { "version 2, a group that is outside of the mount",
      "0::/../../other\n",
      MOUNT_V2,
      { { "/sys/fs/cgroup/memory.max", "314572800\n" } },
      300 * MB },
    { "version 1",
      "5:cpu:/x\n4:memory:/a/b\n1:name=systemd:/a\n0::/\n",
      MOUNT_V1,
      { { "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", MAX_V1 },
        { "/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "209715200\n" },
        { "/sys/fs/cgroup/memory/memory.limit_in_bytes", MAX_V1 } },
      200 * MB },
    { "version 1, controllers that share a hierarchy",
      "4:cpu,memory:/a\n",
      "35 32 0:30 / /cg rw - cgroup cgroup rw,cpu,memory\n",
      { { "/cg/a/memory.limit_in_bytes", "1048576000\n" } },
      1000 * MB },
    { "version 1, no limit",
      "4:memory:/\n",
      MOUNT_V1,
      { { "/sys/fs/cgroup/memory/memory.limit_in_bytes", MAX_V1 } },
      RAM },
    { "both",
      "4:memory:/a\n0::/b\n",
      MOUNT_V1 MOUNT_V2,
      { { "/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "838860800\n" },
        { "/sys/fs/cgroup/b/memory.max", "1048576000\n" } },
      800 * MB },
    { "more than the machine has",
      "0::/a\n",
      MOUNT_V2,
      { { "/sys/fs/cgroup/a/memory.max", "1099511627776\n" } },
      RAM },
    { "files that make no sense",
      "\n:\n4\n0::\n",
      "x - \n - cgroup2 cgroup2 rw\n31 24 0:27 / /c rw - cgroup2 cgroup2 rw\n",
      { { "/c/memory.max", "lots\n" } },
      RAM },
};

static void
write_below(const char *root, const char *path, const char *text)
{
    char full[500];
    FILE *f;

    (void)snprintf(full, sizeof full, "%s%s", root, path);
    for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')) != NULL;
         at++) {
        *at = '\0';
        (void)mkdir(full, 0700);
        *at = '/';
    }
    f = fopen(full, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(text, f), 0);
    ck_assert_int_eq(fclose(f), 0);
}

START_TEST(finds_the_smallest_limit)
{
    const struct machine *m = &machines[_i];
    char *dir = tempdir_new();

    if (m->groups != NULL)
        write_below(dir, "/proc/self/cgroup", m->groups);
    if (m->mounts != NULL)
        write_below(dir, "/proc/self/mountinfo", m->mounts);
    for (size_t i = 0; i < 5 && m->files[i].path != NULL; i++)
        write_below(dir, m->files[i].path, m->files[i].text);
    ck_assert_msg(memory_limit_below(dir, RAM) == m->limit, "%s: %llu", m->what,
                  (unsigned long long)memory_limit_below(dir, RAM));
    tempdir_free(&dir);
}
END_TEST

START_TEST(this_machine_has_some)
{
    ck_assert_uint_gt(memory_limit(), 16 * MB);
    ck_assert_uint_le(memory_limit(), memory_limit_below("/none", UINT64_MAX));
}
END_TEST

TEST_MAIN("memory", LOOP(finds_the_smallest_limit, machines),
          TEST(this_machine_has_some))
