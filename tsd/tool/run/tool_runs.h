/* The tools that a server runs for clients, each in a thread of its own.  What
 * one prints waits until its client asks for it:
 *
 *     begin -> running -> ended
 *                |          |
 *     read ------+----------+-> the last read takes it away
 *
 * A client that does not ask for RUN_IDLE_MS is gone: its tool is cancelled,
 * and fails.  A tool that deletes waits until the read after shows that the
 * client has what was printed.
 *
 * Owns:    the runs, their threads and texts.
 * Bounds:  RUNS_MAX at a time; of each RUN_PENDING_BYTES that were not asked
 *          for yet, then the tool waits.
 * Threads: any; of one run, one read at a time.
 * Fails:   ST_BUSY: too many; ST_NOT_FOUND: no such run; ST_INVALID. */
#pragma once

#include "base/buf.h"
#include "tsd/api/api.h"

#define RUNS_MAX          8
#define RUN_PENDING_BYTES ((size_t)1 << 20)
#define RUN_IDLE_MS       30000
#define RUN_ID_SIZE       33 /* 32 hexadecimal digits and a NUL */

struct tool_runs; /* opaque */

struct tool_runs *tool_runs_new(void);
/* Cancels all, and waits until they ended. */
void tool_runs_close(struct tool_runs **r);

struct tool_call {
    const char *const *words; /* a command and what is behind it */
    size_t len;
    bool as_tsdb;
    const struct timezone *zone;
    struct json_t *json; /* lends the words, and is kept; may be NULL */
};

MUST_CHECK enum status tool_runs_begin(struct tool_runs *r, const struct api *a,
                                       const struct tool_call *call,
                                       char id[RUN_ID_SIZE], struct error *e);

/* Appends frames (see below): what was printed since the last
 * read, and TOOL_FRAME_NEXT or TOOL_FRAME_EXIT.  Waits a little where there is
 * nothing yet; 'cancel' is asked meanwhile, and cancels the tool. */
MUST_CHECK enum status tool_runs_read(struct tool_runs *r, const char *id,
                                      struct cancel cancel, struct buf *out,
                                      struct error *e);

/* The client wants no more of it. */
void tool_runs_cancel(struct tool_runs *r, const char *id);

/* What a tool says on its way from a server: frames, one after another.
 *
 *     <kind:1> <size:4, big-endian> <bytes>
 *
 *     'o' and 'e'  bytes for stdout and stderr
 *     'n'          more will come: ask for it by these bytes, the run's id
 *     'x'          it ended: the exit status, one byte */
enum tool_frame {
    TOOL_FRAME_OUT = 'o',
    TOOL_FRAME_ERR = 'e',
    TOOL_FRAME_NEXT = 'n',
    TOOL_FRAME_EXIT = 'x',
};

void tool_frame_put(struct buf *out, enum tool_frame kind, struct slice bytes);

/* Cuts the first frame off '*in'; false at its end, and ('*in' is not empty)
 * where no whole frame of a known kind follows. */
bool tool_frame_cut(struct slice *in, enum tool_frame *kind,
                    struct slice *bytes);
