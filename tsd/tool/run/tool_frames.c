#include "tsd/tool/run/tool_frames.h"

#define HEAD ((size_t)5) /* bytes in front of a frame's own */

void
tool_frame_put(struct buf *out, enum tool_frame kind, struct slice bytes)
{
    buf_put_u8(out, (uint8_t)kind);
    buf_put_u32(out, (uint32_t)bytes.size);
    buf_put_slice(out, bytes);
}

bool
tool_frame_cut(struct slice *in, enum tool_frame *kind, struct slice *bytes)
{
    const uint8_t *p = in->data;
    size_t size;

    if (in->size < HEAD || strchr("oenx", p[0]) == NULL || p[0] == '\0')
        return false;
    size = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
    if (size > in->size - HEAD || (p[0] == TOOL_FRAME_EXIT && size != 1))
        return false;
    *kind = (enum tool_frame)p[0];
    *bytes = slice_of(p + HEAD, size);
    *in = slice_of(p + HEAD + size, in->size - HEAD - size);
    return true;
}
