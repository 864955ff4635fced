/* Drawing, beside gnuplot with the script that OpenTSDB gives it: CPU of both
 * for the same series, in turns.
 *
 *     draw [PICTURES]        5 by default
 *
 * Prints a row of JSON for each form; 'share' is ours of gnuplot's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "web/chart/chart.h"

#define SERIES  10
#define POINTS  10000
#define FROM_S  INT64_C(1795280400)
#define SPAN_S  INT64_C(86400)
#define WIDTH   1024
#define HEIGHT  768
#define DEFAULT 5

static int64_t ts_ms[POINTS];
static double v[SERIES][POINTS];
static char names[SERIES][32];
static struct chart_series series[SERIES];

static void
fail(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

/* Walks around a level, with a wave. */
static void
make_series(void)
{
    srand(7);
    for (int i = 0; i < POINTS; i++)
        ts_ms[i] = (FROM_S + i * SPAN_S / POINTS) * 1000;
    for (int s = 0; s < SERIES; s++) {
        double level = 40 + 12 * s;

        for (int i = 0; i < POINTS; i++) {
            level += (double)rand() / RAND_MAX * 4 - 2;
            v[s][i] = level + 18 * sin(i * 7.0 / POINTS + s);
        }
        (void)snprintf(names[s], sizeof names[s], "host=web%02d", s);
        series[s] = (struct chart_series){
            .name = names[s], .ts_ms = ts_ms, .v = v[s], .len = POINTS
        };
    }
}

static double
cpu_ms(int who)
{
    struct rusage u;

    (void)getrusage(who, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
}

static double
draw(bool is_svg, size_t *bytes)
{
    const struct chart c = {
        .width = WIDTH,
        .height = HEIGHT,
        .scale = 1,
        .is_svg = is_svg,
        .from_ms = FROM_S * 1000,
        .to_ms = (FROM_S + SPAN_S) * 1000,
        .zone = timezone_utc(),
        .title = "CPU",
        .ground = 0xffffff,
        .ink = 0x222222,
        .series = series,
        .series_len = SERIES,
    };
    double from = cpu_ms(RUSAGE_SELF);
    struct arena *a = arena_new(0);
    struct buf out = BUF_INIT;
    struct error e;

    if (chart_draw(&c, a, &out, &e) != ST_OK) {
        (void)fprintf(stderr, "draw: %s\n", e.text);
        exit(EXIT_FAILURE);
    }
    *bytes = out.size;
    buf_fini(&out);
    arena_free(&a);
    return cpu_ms(RUSAGE_SELF) - from;
}

/* Its script and data, in the folder where we are. */
static void
write_script(void)
{
    FILE *f = fopen("script", "w");

    if (f == NULL)
        fail("script");
    (void)fprintf(f,
                  "set term png small size %d,%d\nset output \"out.png\"\n"
                  "set xdata time\nset timefmt \"%%s\"\n"
                  "set xrange [\"%lld\":\"%lld\"]\nset format x \"%%H:%%M\"\n"
                  "set grid\nset style data linespoint\nset key right box\n"
                  "set title \"CPU\"\nplot ",
                  WIDTH, HEIGHT, (long long)FROM_S,
                  (long long)(FROM_S + SPAN_S));
    for (int s = 0; s < SERIES; s++) {
        char name[24];
        FILE *data;

        (void)snprintf(name, sizeof name, "_%d.dat", s);
        (void)fprintf(f, "%s\"%s\" using 1:2 title \"%s\"", s == 0 ? "" : ", ",
                      name, names[s]);
        data = fopen(name, "w");
        if (data == NULL)
            fail(name);
        for (int i = 0; i < POINTS; i++)
            (void)fprintf(data, "%lld %.6f\n", (long long)(ts_ms[i] / 1000),
                          v[s][i]);
        if (fclose(data) != 0)
            fail(name);
    }
    (void)fputc('\n', f);
    if (fclose(f) != 0)
        fail("script");
}

static double
run_gnuplot(void)
{
    double from = cpu_ms(RUSAGE_CHILDREN);
    pid_t child = fork();
    int how;

    if (child == 0) {
        (void)execlp("gnuplot", "gnuplot", "script", (char *)NULL);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &how, 0) != child || how != 0) {
        (void)fprintf(stderr, "draw: gnuplot failed: is gnuplot-nox there?\n");
        exit(EXIT_FAILURE);
    }
    return cpu_ms(RUSAGE_CHILDREN) - from;
}

static int
compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double
median(double *times, int len)
{
    qsort(times, (size_t)len, sizeof *times, compare);
    return times[len / 2];
}

int
main(int argc, char **argv)
{
    int pictures = argc > 1 ? atoi(argv[1]) : DEFAULT;
    char dir[] = "/tmp/draw-XXXXXX";
    double *times[3];
    size_t bytes[2];

    if (pictures < 1 || mkdtemp(dir) == NULL || chdir(dir) != 0)
        fail("draw [PICTURES]");
    make_series();
    write_script();
    for (int i = 0; i < 3; i++)
        times[i] = mem_new_array((size_t)pictures, sizeof(double));
    for (int i = 0; i < pictures; i++) {
        times[0][i] = draw(false, &bytes[0]);
        times[1][i] = draw(true, &bytes[1]);
        times[2][i] = run_gnuplot();
    }
    for (int i = 0; i < 2; i++) {
        double ours = median(times[i], pictures);
        double theirs = median(times[2], pictures);

        (void)printf("{\"draw\":\"%s\",\"series\":%d,\"points\":%d,"
                     "\"cpu_ms\":%.1f,\"gnuplot_cpu_ms\":%.1f,\"share\":%.2f,"
                     "\"bytes\":%zu}\n",
                     i == 0 ? "png" : "svg", SERIES, POINTS, ours, theirs,
                     ours / theirs, bytes[i]);
    }
    for (int i = 0; i < 3; i++)
        free(times[i]);
    return system("rm -f script out.png _?.dat") == 0 && chdir("/") == 0 &&
                   rmdir(dir) == 0
               ? EXIT_SUCCESS
               : EXIT_FAILURE;
}
