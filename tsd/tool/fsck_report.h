/* The report of a check, line by line: of 'halite fsck', of 'tsdb fsck', and
 * the findings of 'uid fsck'.
 *
 *     fsck_report_finding() ... -> fsck_report_counts() -> fsck_report_end()
 *
 * Bounds:  counts the findings of at most FSCK_CODES codes.
 * Threads: one at a time. */
#pragma once

#include "storage/fsck/fsck.h"
#include "uid/fsck/uid_fsck.h"

#define FSCK_CODES 64

struct fsck_report {
    /* Prints a line, which has no end of line. */
    void (*print)(void *ctx, const char *line);
    void *ctx;
    bool all;   /* print every finding, not 100 of each code */
    bool quiet; /* print no findings, only how many there are */
    struct {
        const char *code;
        uint64_t times;
    } told[FSCK_CODES];
    size_t len;
};

/* 'say' of struct check and struct fsck: prints "CODE KEY TEXT" and counts the
 * finding, or prints "note CODE: TEXT". 'report' is the report. */
void fsck_report_finding(void *report, const struct finding *f);
/* Prints 'how' and what the tables contain: "looked at 3 names, ...". */
void fsck_report_counts(const struct fsck_report *r, const char *how,
                        const struct check_counts *n);
/* Prints how many findings there are of each code, and of all codes. */
void fsck_report_end(const struct fsck_report *r, uint64_t found,
                     uint64_t repaired);
