#include "tsd/commands/demo_machine.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/file/file.h"
#include "base/text/number.h"

#define FILE_MAX    ((size_t)4 << 20) /* bytes */
#define THINGS_MAX  64
#define CPUS_MAX    512
#define COLUMNS_MAX 20
#define TAG_SIZE    128

/* -- points ---------------------------------------------------------------- */

struct tag {
    const char *key; /* NULL: there is none */
    const char *value;
};

static const struct tag none = { NULL, NULL };

static void
put_point(struct demo_sample *s, const char *metric, struct slice number,
          struct tag first, struct tag second)
{
    const struct tag tags[] = { first, second };

    buf_printf(s->out,
               "{\"metric\":\"%s\",\"timestamp\":%lld,\"value\":%.*s,"
               "\"tags\":{\"host\":\"%s\"",
               metric, (long long)s->now_s, SLICE_ARG(number), s->host);
    for (size_t i = 0; i < 2; i++)
        if (tags[i].key != NULL)
            buf_printf(s->out, ",\"%s\":\"%s\"", tags[i].key, tags[i].value);
    buf_put_str(s->out, "}},\n");
    s->points++;
}

static void
put_u64(struct demo_sample *s, const char *metric, uint64_t v, struct tag first,
        struct tag second)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)v);
    /* What exceeds a point's integers is no count of anything. */
    if (v <= INT64_MAX)
        put_point(s, metric, slice_str(text), first, second);
}

/* A number with a fraction; nothing where none stands. */
static void
put_fraction(struct demo_sample *s, const char *metric, struct slice text)
{
    char number[NUMBER_TEXT_MAX];
    double v;

    if (number_parse_double(text, &v) && isfinite(v))
        put_point(s, metric, slice_of(number, number_format_double(v, number)),
                  none, none);
}

void
demo_tag_value(struct slice text, char *out, size_t size)
{
    size_t n = 0;

    for (; n < text.size && n + 1 < size; n++) {
        uint8_t c = text.data[n];

        out[n] = (char)(c < 0x80 && (isalnum(c) || strchr("-_./", c)) && c != 0
                            ? c
                            : '_');
    }
    if (n == 0)
        out[n++] = '_';
    out[n] = '\0';
}

/* -- words ----------------------------------------------------------------- */

static struct slice
cut_word(struct slice *line)
{
    *line = slice_trim(*line);
    return slice_cut(line, ' ');
}

/* Numbers of a line, as far as they go. */
static size_t
read_columns(struct slice line, uint64_t *out, size_t max)
{
    size_t n = 0;

    while (n < max && number_parse_u64(cut_word(&line), &out[n]))
        n++;
    return n;
}

/* -- files ----------------------------------------------------------------- */

/* "0.31 0.40 0.38 2/310 4711" */
static void
read_loadavg(struct demo_sample *s, struct slice text)
{
    static const char *const names[] = { "proc.loadavg.1m", "proc.loadavg.5m",
                                         "proc.loadavg.15m" };
    struct slice threads, running;
    uint64_t n;

    for (size_t i = 0; i < 3; i++)
        put_fraction(s, names[i], cut_word(&text));
    threads = cut_word(&text);
    running = slice_cut(&threads, '/');
    if (number_parse_u64(running, &n))
        put_u64(s, "proc.loadavg.runnable", n, none, none);
    if (number_parse_u64(threads, &n))
        put_u64(s, "proc.loadavg.total_threads", n, none, none);
}

/* "MemTotal:  24684092 kB" */
static void
read_meminfo(struct demo_sample *s, struct slice text)
{
    static const char *const wanted[][2] = {
        { "MemTotal", "proc.meminfo.memtotal" },
        { "MemFree", "proc.meminfo.memfree" },
        { "MemAvailable", "proc.meminfo.memavailable" },
        { "Buffers", "proc.meminfo.buffers" },
        { "Cached", "proc.meminfo.cached" },
        { "Dirty", "proc.meminfo.dirty" },
        { "SwapTotal", "proc.meminfo.swaptotal" },
        { "SwapFree", "proc.meminfo.swapfree" },
    };

    while (text.size > 0) {
        struct slice line = slice_cut(&text, '\n');
        struct slice name = slice_cut(&line, ':');
        uint64_t kb;

        for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
            if (slice_eq_str(name, wanted[i][0]) &&
                read_columns(line, &kb, 1) == 1 && kb <= INT64_MAX / 1024)
                put_u64(s, wanted[i][1], kb * 1024, none, none);
    }
}

static void
read_cpu(struct demo_sample *s, struct slice cpu, struct slice line)
{
    static const char *const types[] = { "user",   "nice", "system",  "idle",
                                         "iowait", "irq",  "softirq", "steal" };
    uint64_t columns[8], number;
    size_t len = read_columns(line, columns, 8);
    char name[8];

    if (!number_parse_u64(cpu, &number) || number >= CPUS_MAX)
        return;
    (void)snprintf(name, sizeof name, "%u", (unsigned)number);
    for (size_t i = 0; i < len; i++)
        put_u64(s, "proc.stat.cpu.percpu", columns[i],
                (struct tag){ "cpu", name }, (struct tag){ "type", types[i] });
}

/* "cpu0 30070 0 13257 ..", "ctxt 1717609" */
static void
read_stat(struct demo_sample *s, struct slice text)
{
    static const char *const wanted[][2] = {
        { "ctxt", "proc.stat.ctxt" },
        { "processes", "proc.stat.processes" },
        { "procs_running", "proc.stat.procs_running" },
        { "procs_blocked", "proc.stat.procs_blocked" },
    };

    while (text.size > 0) {
        struct slice line = slice_cut(&text, '\n');
        struct slice name = cut_word(&line);
        uint64_t v;

        if (name.size > 3 && slice_starts(name, slice_str("cpu")))
            read_cpu(s, slice_of(name.data + 3, name.size - 3), line);
        for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
            if (slice_eq_str(name, wanted[i][0]) &&
                read_columns(line, &v, 1) == 1)
                put_u64(s, wanted[i][1], v, none, none);
    }
}

/* "  eth0: 291419001 7527 0 0 0 0 0 0 454882 ..": bytes, packets, errors, drops
 * and four more, in and out. */
static void
read_net(struct demo_sample *s, struct slice text)
{
    static const char *const names[] = { "proc.net.bytes", "proc.net.packets",
                                         "proc.net.errs", "proc.net.dropped" };

    for (size_t n = 0; text.size > 0 && n < THINGS_MAX;) {
        struct slice line = slice_cut(&text, '\n');
        struct slice name = slice_trim(slice_cut(&line, ':'));
        uint64_t columns[16];
        char iface[TAG_SIZE];

        if (read_columns(line, columns, 16) < 16 || slice_eq_str(name, "lo"))
            continue;
        demo_tag_value(name, iface, sizeof iface);
        for (size_t i = 0; i < 8; i++)
            put_u64(s, names[i % 4], columns[i < 4 ? i : i + 4],
                    (struct tag){ "iface", iface },
                    (struct tag){ "direction", i < 4 ? "in" : "out" });
        n++;
    }
}

/* "254 0 vda 113088 16097 6464586 146167 136483 .." */
static void
read_disks(struct demo_sample *s, struct slice text)
{
    static const struct {
        const char *name;
        size_t column;
    } wanted[] = {
        { "iostat.disk.read_requests", 0 },  { "iostat.disk.read_sectors", 2 },
        { "iostat.disk.write_requests", 4 }, { "iostat.disk.write_sectors", 6 },
        { "iostat.disk.msec_total", 9 },
    };

    for (size_t n = 0; text.size > 0 && n < THINGS_MAX;) {
        struct slice line = slice_cut(&text, '\n'), name;
        uint64_t columns[COLUMNS_MAX];
        char dev[TAG_SIZE];

        (void)cut_word(&line);
        (void)cut_word(&line);
        name = cut_word(&line);
        /* Those that never did anything are of no interest. */
        if (read_columns(line, columns, COLUMNS_MAX) < 10 ||
            (columns[0] == 0 && columns[4] == 0))
            continue;
        demo_tag_value(name, dev, sizeof dev);
        for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
            put_u64(s, wanted[i].name, columns[wanted[i].column],
                    (struct tag){ "dev", dev }, none);
        n++;
    }
}

/* "1707.27 2411.97" */
static void
read_uptime(struct demo_sample *s, struct slice text)
{
    put_fraction(s, "proc.uptime.total", cut_word(&text));
}

static const struct {
    const char *name;
    void (*read)(struct demo_sample *s, struct slice text);
} files[] = {
    { "loadavg", read_loadavg }, { "stat", read_stat },
    { "meminfo", read_meminfo }, { "net/dev", read_net },
    { "diskstats", read_disks }, { "uptime", read_uptime },
};
#define FILES_LEN (sizeof files / sizeof files[0])

bool
demo_read_file(const char *name, struct slice text, struct demo_sample *s)
{
    for (size_t i = 0; i < FILES_LEN; i++)
        if (strcmp(files[i].name, name) == 0) {
            files[i].read(s, text);
            return true;
        }
    return false;
}

/* -- file systems ---------------------------------------------------------- */

static void
put_file_system(struct demo_sample *s, const char *path, const char *type)
{
    struct statvfs v;
    char mount[TAG_SIZE];
    struct tag at = { "mount", mount }, of = { "fstype", type };

    if (statvfs(path, &v) != 0 || v.f_blocks == 0)
        return;
    demo_tag_value(slice_str(path), mount, sizeof mount);
    put_u64(s, "df.bytes.total", (uint64_t)v.f_blocks * v.f_frsize, at, of);
    put_u64(s, "df.bytes.used", (uint64_t)(v.f_blocks - v.f_bfree) * v.f_frsize,
            at, of);
    put_u64(s, "df.bytes.free", (uint64_t)v.f_bavail * v.f_frsize, at, of);
    put_u64(s, "df.inodes.total", v.f_files, at, of);
    put_u64(s, "df.inodes.used", v.f_files - v.f_ffree, at, of);
    put_u64(s, "df.inodes.free", v.f_favail, at, of);
}

/* "/dev/vda / ext4 rw,relatime 0 0": each disk once, where it is mounted first,
 * and the root whatever it is of.  Others, as of a network, may never answer.
 */
static void
read_mounts(struct demo_sample *s, struct slice text)
{
    struct slice seen[THINGS_MAX];
    size_t seen_len = 0;
    bool has_root = false;

    while (text.size > 0 && seen_len < THINGS_MAX) {
        struct slice line = slice_cut(&text, '\n');
        struct slice device = cut_word(&line), at = cut_word(&line);
        bool is_root = slice_eq_str(at, "/") && !has_root, known = false;
        char path[1024], type[TAG_SIZE];

        for (size_t i = 0; i < seen_len; i++)
            known |= slice_eq(seen[i], device);
        if ((known || !slice_starts(device, slice_str("/dev/"))) && !is_root)
            continue;
        seen[seen_len++] = device;
        has_root |= is_root;
        demo_tag_value(cut_word(&line), type, sizeof type);
        (void)snprintf(path, sizeof path, "%.*s", SLICE_ARG(at));
        put_file_system(s, path, type);
    }
    if (!has_root)
        put_file_system(s, "/", "unknown");
}

static void
read_text(const char *proc, const char *name, struct buf *out)
{
    char path[1024];
    struct error e;

    buf_clear(out);
    (void)snprintf(path, sizeof path, "%s/%s", proc, name);
    if (file_read(path, FILE_MAX, out, &e) != ST_OK)
        buf_clear(out);
}

void
demo_read_machine(const char *proc, struct demo_sample *s)
{
    struct buf text = BUF_INIT;
    DIR *d;
    const struct dirent *one;
    uint64_t n = 0;

    for (size_t i = 0; i < FILES_LEN; i++) {
        read_text(proc, files[i].name, &text);
        files[i].read(s, buf_slice(&text));
    }
    read_text(proc, "mounts", &text);
    read_mounts(s, buf_slice(&text));
    d = opendir(proc);
    while (d != NULL && (one = readdir(d)) != NULL)
        n += isdigit((unsigned char)one->d_name[0]) != 0;
    if (d != NULL)
        (void)closedir(d);
    if (n > 0)
        put_u64(s, "proc.processes.count", n, none, none);
    buf_fini(&text);
}
