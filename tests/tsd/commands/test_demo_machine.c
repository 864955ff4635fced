#include "tsd/commands/demo_machine.h"

#include "tests/harness.h"

#define AT(m, v)                                         \
    "{\"metric\":\"" m "\",\"timestamp\":7,\"value\":" v \
    ",\"tags\":{\"host\":\"h\""
#define P(m, v)        AT(m, v) "}},\n"
#define P1(m, v, k, x) AT(m, v) ",\"" k "\":\"" x "\"}},\n"
#define P2(m, v, k, x, l, y) \
    AT(m, v) ",\"" k "\":\"" x "\",\"" l "\":\"" y "\"}},\n"
#define CPU(v, n, t)    P2("proc.stat.cpu.percpu", v, "cpu", n, "type", t)
#define NET(m, v, i, d) P2("proc.net." m, v, "iface", i, "direction", d)

static const struct {
    const char *file, *text, *points;
} files[] = {
    { "loadavg", "0.31 1.00 12.5 2/310 4711\n",
      P("proc.loadavg.1m", "0.31") P("proc.loadavg.5m", "1.0")
          P("proc.loadavg.15m", "12.5") P("proc.loadavg.runnable", "2")
              P("proc.loadavg.total_threads", "310") },
    { "loadavg", "", "" },
    { "loadavg", "nan inf 1e999 x/ 1", "" },
    { "uptime", "1707.27 2411.97\n", P("proc.uptime.total", "1707.27") },
    { "meminfo",
      "MemTotal:       100 kB\nMemFree:  7 kB\nHugePages_Total:   3\n"
      "Cached: x kB\nDirty: 18446744073709551615 kB\nSwapFree:0 kB",
      P("proc.meminfo.memtotal", "102400") P("proc.meminfo.memfree", "7168")
          P("proc.meminfo.swapfree", "0") },
    { "stat",
      "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu11 1 x\n"
      "cpux 1 2\ncpu512 1 2\nintr 5 0 0\nctxt 42\nbtime 1\nprocesses 95\n"
      "procs_running 1\nprocs_blocked\n",
      CPU("1", "0", "user") CPU("2", "0", "nice") CPU("3", "0", "system") CPU(
          "4", "0", "idle") CPU("5", "0", "iowait") CPU("6", "0", "irq")
          CPU("7", "0", "softirq") CPU("8", "0", "steal") CPU("1", "11", "user")
              P("proc.stat.ctxt", "42") P("proc.stat.processes", "95")
                  P("proc.stat.procs_running", "1") },
    { "net/dev",
      "Inter-|   Receive |  Transmit\n face |bytes packets|bytes packets\n"
      "    lo: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n"
      "  e\"0:10 11 12 13 0 0 0 0   20 21 22 23 0 0 0 0\n  e1: 1 2 3\n",
      NET("bytes", "10", "e_0", "in") NET("packets", "11", "e_0",
                                          "in") NET("errs", "12", "e_0", "in")
          NET("dropped", "13", "e_0", "in") NET("bytes", "20", "e_0", "out")
              NET("packets", "21", "e_0", "out") NET("errs", "22", "e_0", "out")
                  NET("dropped", "23", "e_0", "out") },
    { "diskstats",
      "   7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n"
      " 254 0 vda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n 1 2 short 1\n",
      P1("iostat.disk.read_requests", "1", "dev", "vda")
          P1("iostat.disk.read_sectors", "3", "dev", "vda")
              P1("iostat.disk.write_requests", "5", "dev", "vda")
                  P1("iostat.disk.write_sectors", "7", "dev", "vda")
                      P1("iostat.disk.msec_total", "10", "dev", "vda") },
};

START_TEST(reads_files)
{
    struct buf out = BUF_INIT;
    struct demo_sample s = { .out = &out, .now_s = 7, .host = "h" };
    size_t lines = 0;

    ck_assert(demo_read_file(files[_i].file, slice_str(files[_i].text), &s));
    ck_assert_str_eq(buf_cstr(&out), files[_i].points);
    for (size_t i = 0; i < out.size; i++)
        lines += out.data[i] == '\n';
    ck_assert_uint_eq(s.points, lines);
    buf_fini(&out);
}
END_TEST

START_TEST(knows_no_other_file)
{
    struct buf out = BUF_INIT;
    struct demo_sample s = { .out = &out, .now_s = 7, .host = "h" };

    ck_assert(!demo_read_file("kcore", slice_str("1"), &s));
    ck_assert_uint_eq(out.size, 0);
}
END_TEST

/* A machine has no end of interfaces, a sample has. */
START_TEST(bounds_things)
{
    struct buf out = BUF_INIT, text = BUF_INIT;
    struct demo_sample s = { .out = &out, .now_s = 7, .host = "h" };

    for (int i = 0; i < 1000; i++)
        buf_printf(&text, "e%d: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n", i);
    ck_assert(demo_read_file("net/dev", buf_slice(&text), &s));
    ck_assert_uint_eq(s.points, 64 * 8);
    buf_fini(&text);
    buf_fini(&out);
}
END_TEST

static const struct {
    const char *text, *value;
} values[] = {
    { "web-01.x_y/z", "web-01.x_y/z" },
    { "/mnt/a\\040b", "/mnt/a_040b" },
    { "", "_" },
    { "a:b c\xc3\xa4", "a_b_c__" },
    { "0123456789abcdef", "0123456789abcde" },
};

START_TEST(makes_tag_values)
{
    char out[16];

    demo_tag_value(slice_str(values[_i].text), out, sizeof out);
    ck_assert_str_eq(out, values[_i].value);
}
END_TEST

/* Without any file there are still the disks. */
START_TEST(does_without_files)
{
    struct buf out = BUF_INIT;
    struct demo_sample s = { .out = &out, .now_s = 7, .host = "h" };

    demo_read_machine("/nonexistent", &s);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&out), "\"df.bytes.total\""));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&out), "\"mount\":\"/\""));
    ck_assert_ptr_null(strstr(buf_cstr(&out), "proc."));
    buf_fini(&out);
}
END_TEST

TEST_MAIN("demo machine", LOOP(reads_files, files), TEST(knows_no_other_file),
          TEST(bounds_things), LOOP(makes_tag_values, values),
          TEST(does_without_files))
