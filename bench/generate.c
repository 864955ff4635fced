/* Writes a workload to stdout, and what it is in all, as JSON, to a file: so
 * many points, and the sum of each metric, for whoever checks what a server
 * made of it. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/workload.h"

static const struct option options[] = {
    { "hosts", required_argument, NULL, 'h' },
    { "metrics", required_argument, NULL, 'm' },
    { "start", required_argument, NULL, 's' },
    { "end", required_argument, NULL, 'e' },
    { "step", required_argument, NULL, 'p' },
    { "seed", required_argument, NULL, 'r' },
    { "values", required_argument, NULL, 'v' },
    { "prefix", required_argument, NULL, 'x' },
    { "order", required_argument, NULL, 'o' },
    { "format", required_argument, NULL, 'f' },
    { "jitter-ms", required_argument, NULL, 'j' },
    { "gap-permille", required_argument, NULL, 'g' },
    { "part", required_argument, NULL, 'k' },
    { "parts", required_argument, NULL, 'n' },
    { "totals", required_argument, NULL, 't' },
    { NULL, 0, NULL, 0 },
};

static void
usage(const char *why)
{
    fprintf(stderr,
            "generate: %s\n"
            "  --hosts N --metrics N --start S --end S --step S --seed N\n"
            "  --values int|float|counter|mixed --prefix TEXT\n"
            "  --order time|host|shuffled\n"
            "  --format telnet|json --jitter-ms N --gap-permille N\n"
            "  --part K --parts N --totals FILE\n",
            why);
    exit(2);
}

static int64_t
number(const char *text)
{
    char *end;
    long long v = strtoll(text, &end, 10);

    if (*text == '\0' || *end != '\0' || v < 0)
        usage("a number is none");
    return v;
}

static uint32_t
small(const char *text)
{
    int64_t v = number(text);

    return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

/* Which of the words, separated by bars, 'text' is. */
static int
choice(const char *text, const char *words)
{
    for (int i = 0; words != NULL; i++) {
        size_t size = strcspn(words, "|");

        if (strlen(text) == size && memcmp(text, words, size) == 0)
            return i;
        words = words[size] == '\0' ? NULL : words + size + 1;
    }
    usage(text);
    return 0;
}

static void
set(struct workload *w, int option, const char *v)
{
    switch (option) {
    case 'h':
        w->hosts = small(v);
        break;
    case 'm':
        w->metrics = small(v);
        break;
    case 's':
        w->start = number(v);
        break;
    case 'e':
        w->end = number(v);
        break;
    case 'p':
        w->step = number(v);
        break;
    case 'r':
        w->seed = (uint64_t)number(v);
        break;
    case 'v':
        w->values = (enum workload_values)choice(v, "int|float|counter|mixed");
        break;
    case 'o':
        w->order = (enum workload_order)choice(v, "time|host|shuffled");
        break;
    case 'f':
        w->json = choice(v, "telnet|json") == 1;
        break;
    case 'j':
        w->jitter_ms = small(v);
        break;
    case 'x':
        w->prefix = v;
        break;
    case 'g':
        w->gap_permille = small(v);
        break;
    case 'k':
        w->part = small(v);
        break;
    case 'n':
        w->parts = small(v);
        break;
    default:
        usage("no such option");
    }
}

static bool
write_out(void *ctx, const void *data, size_t size)
{
    const char *p = data;

    while (size > 0) {
        ssize_t n = write(*(int *)ctx, p, size);

        if (n < 0)
            return false;
        p += n;
        size -= (size_t)n;
    }
    return true;
}

static bool
write_totals(const char *path, const struct workload *w,
             const struct workload_totals *t)
{
    FILE *f = fopen(path, "w");

    if (f == NULL)
        return false;
    fprintf(f,
            "{\"points\":%" PRIu64 ",\"bytes\":%" PRIu64
            ",\"lastSeconds\":%" PRId64 ",\"sums\":{",
            t->points, t->bytes, t->last_s);
    for (uint32_t i = 0; i < w->metrics; i++)
        fprintf(f, "%s\"%s%s\":%.17g", i > 0 ? "," : "", w->prefix,
                workload_metric(i), (double)t->sums[i] * workload_unit(w, i));
    fprintf(f, "}}\n");
    return fclose(f) == 0;
}

int
main(int argc, char **argv)
{
    struct workload w = workload_default;
    struct workload_totals totals;
    const char *path = NULL;
    int c, out = STDOUT_FILENO;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (c == 't')
            path = optarg;
        else
            set(&w, c, optarg);
    }
    if (*workload_fault(&w) != '\0')
        usage(workload_fault(&w));
    if (!workload_run(&w, write_out, &out, &totals) ||
        (path != NULL && !write_totals(path, &w, &totals))) {
        perror("generate");
        return 1;
    }
    return 0;
}
