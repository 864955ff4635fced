/* Arbitrary bytes on a connection to a whole daemon, be it HTTP or telnet: it
 * answers and closes, and lives. */
#include "tests/fuzz/target.h"
#include "tests/fuzz/whole.h"

FUZZ_TARGET_EVERY(0, data, size)
{
    struct buf answer = BUF_INIT;

    whole_start();
    whole_say(slice_of(data, size), true, &answer);
    buf_fini(&answer);
    return 0;
}
