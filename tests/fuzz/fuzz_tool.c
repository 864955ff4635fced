/* Words of a command line, a line each, as a server gets them from a client;
 * and frames, as a client gets them from a server. */
#include "tsd/tool/run/tool_commands.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/time/timezone.h"
#include "tests/fuzz/target.h"
#include "tsd/api/names/series_lookup.h"
#include "tsd/tool/points/query_words.h"
#include "tsd/tool/run/tool_runs.h"

#define WORDS_MAX 64
#define NOW_MS    INT64_C(1735689600000)

static void
check_frames(struct slice in)
{
    const uint8_t *end = in.size == 0 ? in.data : in.data + in.size;
    enum tool_frame kind;
    struct slice bytes;

    while (tool_frame_cut(&in, &kind, &bytes)) {
        INSIST(bytes.data + bytes.size <= end);
        INSIST(in.data + in.size == end);
    }
}

static void
check_args(const char *const *words, size_t len)
{
    for (const struct tool_command *c = tool_commands; c->name != NULL; c++) {
        struct tool_args a;
        struct error e = { 0 };

        if (tool_args_parse(&a, c->options, tool_common_options, len, words,
                            &e) == ST_OK)
            INSIST(a.len <= len);
        else
            INSIST(e.status == ST_INVALID && e.text[0] != '\0');
        tool_args_fini(&a);
    }
}

static void
check_query(const char *const *words, size_t len)
{
    struct arena *a = arena_new((size_t)1 << 20);
    struct query_words w;
    struct error e = { 0 };

    if (query_words_parse(words, len, NOW_MS, timezone_utc(), a, &w, &e) ==
        ST_OK) {
        INSIST(w.query.start_ms < w.query.end_ms);
        INSIST(w.query.subs_len <= len);
        for (size_t i = 0; i < w.query.subs_len; i++)
            INSIST(w.query.subs[i].aggregator != NULL);
    } else {
        INSIST(e.text[0] != '\0');
    }
    query_fini(&w.query);
    arena_free(&a);
}

FUZZ_TARGET(data, size)
{
    struct slice rest = slice_of(data, size);
    char *words[WORDS_MAX];
    struct lookup_pair pair;
    size_t len = 0;

    check_frames(rest);
    while (rest.size > 0 && len < WORDS_MAX) {
        struct slice word = slice_cut(&rest, '\n');

        words[len++] = mem_strndup(word.data, word.size);
    }
    check_args((const char *const *)words, len);
    check_query((const char *const *)words, len);
    for (size_t i = 0; i < len; i++) {
        struct error e = { 0 };

        if (series_lookup_tag(slice_str(words[i]), &pair, &e) != ST_OK)
            INSIST(e.status == ST_INVALID && e.text[0] != '\0');
        free(words[i]);
    }
    return 0;
}
