/* The grammar of m= and tsuid=, and of the other texts of a URI.
 *
 *     <kind> <text> */
#include "query/parse/nesting.h"
#include "query/parse/parse.h"

#include "base/cursor.h"
#include "base/obj.h"
#include "tests/fuzz/target.h"

static void
parse_uri(const char *name, struct slice text, bool colons, struct arena *a)
{
    struct query_param params[] = {
        { slice_str("start"), slice_str("1") },
        { slice_str("tz"), slice_str("Europe/Zurich") },
        { slice_str(name), text },
    };
    struct parse_options o = { .now_ms = 1795298406358,
                               .colons_in_names = colons };
    struct parse_error e = { 0 };
    struct query q;
    enum status st = query_parse_uri(params, 3, &o, a, &q, &e);

    if (st == ST_OK)
        INSIST(q.subs_len == 1 && q.subs[0].aggregator != NULL);
    else
        INSIST(st == e.message.status);
    query_fini(&q);
}

static void
parse_tags(struct slice text, struct arena *a)
{
    struct tag *tags;
    struct slice metric;
    size_t len;

    if (parse_metric_and_tags(text, a, &metric, &tags, &len, NULL) != ST_OK)
        return;
    for (size_t i = 0; i < len; i++)
        INSIST(tags[i].key.size > 0 && tags[i].value.size > 0);
}

/* The parts are the text without its separators, and those that are split
 * because brackets match have brackets that match. */
static void
split(struct slice text, struct arena *a)
{
    bool matches = nesting_find(text, "") != NESTING_BROKEN;
    struct slice *parts;
    size_t len, size = 0;

    if (nesting_split(text, ',', a, &parts, &len, NULL) != ST_OK)
        return;
    for (size_t i = 0; i < len; i++) {
        size += parts[i].size;
        INSIST(!matches || nesting_find(parts[i], ",") == parts[i].size);
    }
    INSIST(len > 0 && size + len - 1 == text.size);
}

FUZZ_TARGET(data, size)
{
    struct cursor c = cursor_of(slice_of(data, size));
    uint8_t kind = cursor_u8(&c);
    struct slice text = cursor_bytes(&c, cursor_left(&c));
    struct arena *a = arena_new(size % 5 == 0 ? 1 + size * 8 : 1 << 20);
    struct downsample d;

    switch (kind) {
    case 't':
        parse_uri("tsuid", text, false, a);
        break;
    case 'd':
        if (parse_downsample(text, a, &d, NULL) == ST_OK)
            INSIST(d.on && (d.all || d.interval_ms > 0));
        break;
    case 'k':
        parse_tags(text, a);
        break;
    case 'n':
        split(text, a);
        break;
    default:
        parse_uri("m", text, kind == 'c', a);
    }
    arena_free(&a);
    return 0;
}
