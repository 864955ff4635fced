/* What a tool says on its way from a server: frames, one after another.
 *
 *     <kind:1> <size:4, big-endian> <bytes>
 *
 *     'o' and 'e'  bytes for stdout and stderr
 *     'n'          more will come: ask for it by these bytes, the run's id
 *     'x'          it ended: the exit status, one byte
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include "base/buf.h"

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
