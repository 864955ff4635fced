/* A file of /proc, as 'halite demo' reads it: what comes out is a list of
 * points in JSON, whatever went in.
 *
 *     <name> <newline> <text> */
#include "tsd/commands/demo_machine.h"

#include <jansson.h>

#include "base/obj.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(data, size)
{
    struct slice text = slice_of(data, size), word = slice_cut(&text, '\n');
    struct buf out = BUF_INIT;
    struct demo_sample s = { .out = &out, .now_s = 1, .host = "h" };
    char name[16];

    (void)snprintf(name, sizeof name, "%.*s",
                   word.size < sizeof name ? (int)word.size : 0,
                   (const char *)word.data);
    buf_put_u8(&out, '[');
    if (demo_read_file(name, text, &s) && s.points > 0) {
        json_t *points;

        out.size -= 2;
        buf_put_u8(&out, ']');
        points = json_loadb((const char *)out.data, out.size, 0, NULL);
        INSIST(json_array_size(points) == s.points);
        json_decref(points);
    }
    buf_fini(&out);
    return 0;
}
