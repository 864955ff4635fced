#include "tsd/tool/fsck_report.h"

#include <inttypes.h>

#include "base/buf.h"

#define LINES 100 /* of one code, unless all are wanted */

static uint64_t
count_code(struct fsck_report *r, const char *code)
{
    size_t i = 0;

    while (i < r->len && strcmp(r->told[i].code, code) != 0)
        i++;
    if (i == FSCK_CODES)
        return 0;
    if (i == r->len)
        r->told[r->len++].code = code;
    return ++r->told[i].times;
}

static void
print_buf(const struct fsck_report *r, struct buf *line)
{
    r->print(r->ctx, buf_cstr(line));
    buf_fini(line);
}

void
fsck_report_finding(void *report, const struct finding *f)
{
    struct fsck_report *r = report;
    uint64_t times = f->is_note ? 0 : count_code(r, f->code);
    struct buf more = BUF_INIT;
    struct buf line = BUF_INIT;

    if (r->quiet || (times > LINES && !r->all))
        return;
    buf_printf(&line, f->is_note ? "note %s: " : "%s ", f->code);
    if (f->key.size == 0 && !f->is_note)
        buf_put_u8(&line, '-');
    for (size_t i = 0; i < f->key.size; i++)
        buf_printf(&line, "%02x", f->key.data[i]);
    buf_printf(&line, "%s%s%s%s", f->is_note ? "" : " ", f->text,
               f->repaired == NULL ? "" : "; repaired: ",
               f->repaired == NULL ? "" : f->repaired);
    print_buf(r, &line);
    if (times == LINES && !r->all) {
        buf_printf(&more, "%s and maybe more: see --all", f->code);
        print_buf(r, &more);
    }
}

void
fsck_report_counts(const struct fsck_report *r, const char *how,
                   const struct check_counts *n)
{
    struct buf line = BUF_INIT;

    buf_printf(&line,
               "%s %" PRIu64 " names, %" PRIu64 " series of %" PRIu64
               " tag-key sets, %" PRIu64 " rows of %" PRIu64 " points, %" PRIu64
               " histograms, %" PRIu64 " notes, %" PRIu64 " others",
               how, n->names, n->series, n->tagk_sets, n->rows, n->points,
               n->histograms, n->notes, n->others);
    print_buf(r, &line);
}

void
fsck_report_end(const struct fsck_report *r, uint64_t found, uint64_t repaired)
{
    struct buf line = BUF_INIT;

    for (size_t i = 0; i < r->len; i++) {
        buf_printf(&line, "%s: %" PRIu64, r->told[i].code, r->told[i].times);
        print_buf(r, &line);
    }
    if (found == 0)
        buf_put_str(&line, "clean");
    else
        buf_printf(&line, "%" PRIu64 " found, %" PRIu64 " repaired", found,
                   repaired);
    print_buf(r, &line);
}
