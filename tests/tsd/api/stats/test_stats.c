/* The names in base/process/counters.def and tsd/api/stats/stats.def. */
#include "tsd/api/stats/stats.h"

#include "tests/harness.h"

#define ROW(when, value, ...)   { __VA_ARGS__ },
#define STAT(value, name, tags) ROW(, , name, tags, NULL, NULL, NULL, NULL)
#define METRIC(when, value, metric, label, type, text) \
    ROW(, , NULL, NULL, metric, label, type, text)
#define OF_KINDS(member, name, metric, type, text)                    \
    ROW(, , name, "kind=metrics", metric, "kind=metrics", type, text) \
    ROW(, , name, "kind=tagk", metric, "kind=tagk", type, "")         \
    ROW(, , name, "kind=tagv", metric, "kind=tagv", type, "")
#define COUNTER(id, name, tags, metric, label, text) \
    ROW(, , name, tags, "halite_" metric, label, "counter", text)

static const struct stat_row rows[] = {
#include "base/process/counters.def"
#include "tsd/api/stats/stats.def"
};
#define ROWS_LEN (sizeof rows / sizeof rows[0])

/* Under OpenTSDB's names each row has its own name and tags of "k=v". */
START_TEST(stats)
{
    for (size_t i = 0; i < ROWS_LEN; i++) {
        const struct stat_row *r = &rows[i];

        ck_assert(r->name != NULL || r->metric != NULL);
        if (r->name == NULL)
            continue;
        ck_assert(strncmp(r->name, "tsd.", 4) != 0);
        ck_assert(r->tags[0] == '\0' || strchr(r->tags, '=') != NULL);
        for (size_t k = 0; k < i; k++)
            ck_assert_msg(rows[k].name == NULL ||
                              strcmp(rows[k].name, r->name) != 0 ||
                              strcmp(rows[k].tags, r->tags) != 0,
                          "twice: %s %s", r->name, r->tags);
    }
}
END_TEST

static bool
is_metric(size_t i, const char *name)
{
    return rows[i].metric != NULL && strcmp(rows[i].metric, name) == 0;
}

/* Names at /metrics follow Prometheus' rules. Rows of one name follow each
 * other, have the same type, and differ in the value of one label. */
START_TEST(metrics)
{
    for (size_t i = 0; i < ROWS_LEN; i++) {
        const struct stat_row *r = &rows[i];
        size_t size, key;

        if (r->metric == NULL)
            continue;
        size = strlen(r->metric);
        key = strcspn(r->label, "=");
        ck_assert_uint_eq(strspn(r->metric, "abcdefghijklmnopqrstuvwxyz_"),
                          size);
        ck_assert_msg((size > 6 && strcmp(r->metric + size - 6, "_total") ==
                                       0) == (strcmp(r->type, "counter") == 0),
                      "%s", r->metric);
        if (i == 0 || !is_metric(i - 1, r->metric))
            ck_assert_msg(*r->text != '\0', "%s: no text", r->metric);
        for (size_t k = 0; k < i; k++) {
            if (!is_metric(k, r->metric))
                continue;
            ck_assert_msg(is_metric(k + 1, r->metric), "%s: not together",
                          r->metric);
            ck_assert_str_eq(rows[k].type, r->type);
            ck_assert_msg(r->label[key] == '=' &&
                              strncmp(rows[k].label, r->label, key + 1) == 0 &&
                              strcmp(rows[k].label, r->label) != 0,
                          "%s: %s and %s", r->metric, rows[k].label, r->label);
        }
    }
}
END_TEST

TEST_MAIN("stats", TEST(stats), TEST(metrics))
