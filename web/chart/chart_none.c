/* In the place of chart*.c and canvas*.c, where configure found no cairo or was
 * told to do without graphs. */
#include "web/chart/chart.h"

bool
chart_is_built(void)
{
    return false;
}

enum status
chart_draw(const struct chart *c, struct arena *a, struct buf *bytes,
           struct error *e)
{
    (void)c, (void)a, (void)bytes;
    return error_set(e, ST_INVALID, "built without graphs");
}
