/* What /api/search is asked, on a few documents: terms lie in the text, and a
 * term turned around finds the other documents.
 *
 *     <terms> <newline> <value> */
#include "tsd/api/names/search_terms.h"

#include "base/obj.h"
#include "tests/fuzz/target.h"

static bool
is_hit(struct search_terms *s, struct slice value)
{
    search_begin(s);
    search_field(s, slice_str("metric"), value);
    search_field(s, slice_str("custom.owner"), slice_str("web 01"));
    return search_is_hit(s);
}

FUZZ_TARGET(data, size)
{
    const uint8_t *end = size == 0 ? NULL : memchr(data, '\n', size);
    struct slice text = slice_of(data, size), value = slice_str("");
    struct search_terms s;
    struct error e = { 0 };

    if (end != NULL) {
        text.size = (size_t)(end - data);
        value = slice_of(end + 1, size - text.size - 1);
    }
    if (search_parse(text, &s, &e) != ST_OK) {
        INSIST(e.status == ST_INVALID && e.text[0] != '\0');
        return 0;
    }
    INSIST(s.len > 0 && s.len <= SEARCH_TERMS_MAX);
    for (size_t i = 0; i < s.len; i++) {
        struct slice p = s.terms[i].pattern;

        INSIST(p.size > 0 && p.size <= SEARCH_PATTERN_MAX);
        INSIST(p.data >= text.data && p.data + p.size <= text.data + text.size);
    }
    if (s.len == 1) {
        bool hit = is_hit(&s, value);

        s.terms[0].negated = !s.terms[0].negated;
        INSIST(hit != is_hit(&s, value));
    } else {
        (void)is_hit(&s, value);
    }
    return 0;
}
