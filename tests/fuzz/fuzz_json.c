/* JSON text: parsing survives anything within its depth, and a written string
 * is read back as UTF-8 allows. */
#include <jansson.h>

#include "base/obj.h"
#include "base/text/json_clean.h"
#include "tests/fuzz/target.h"
#include "web/json/json.h"

FUZZ_TARGET(data, size)
{
    struct slice s = slice_of(data, size);
    struct buf once = BUF_INIT, twice = BUF_INIT;
    struct buf clean = BUF_INIT, again = BUF_INIT;
    struct json_t *j;

    if (json_parse(s, JSON_REQUEST_VALUES, &j, NULL) == ST_OK)
        json_decref(j);
    json_put_string(&once, s);
    if (memchr(data, '\0', size) == NULL) {
        INSIST(json_parse(buf_slice(&once), JSON_REQUEST_VALUES, &j, NULL) ==
               ST_OK);
        json_put_string(&twice,
                        slice_of(json_string_value(j), json_string_length(j)));
        INSIST(slice_eq(buf_slice(&once), buf_slice(&twice)));
        json_decref(j);
    }
    /* What is clean has nothing more to replace. */
    if (json_clean(s, &clean))
        INSIST(!json_clean(buf_slice(&clean), &again));
    buf_fini(&clean);
    buf_fini(&again);
    buf_fini(&once);
    buf_fini(&twice);
    return 0;
}
