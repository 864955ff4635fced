#include "query/model/casefold.h"

/* Of the code points below U+0800, which two bytes spell. */
static unsigned
lower(unsigned c)
{
    if ((c >= 0xc0 && c <= 0xde && c != 0xd7) ||    /* Latin-1 */
        (c >= 0x391 && c <= 0x3a9 && c != 0x3a2) || /* Greek */
        (c >= 0x410 && c <= 0x42f))                 /* Cyrillic */
        return c + 0x20;
    if (c >= 0x400 && c <= 0x40f)
        return c + 0x50;
    return c;
}

static bool
is_lead(uint8_t c)
{
    return c >= 0xc2 && c <= 0xdf;
}

static bool
is_tail(uint8_t c)
{
    return (c & 0xc0) == 0x80;
}

uint8_t
casefold_at(struct slice s, size_t i)
{
    uint8_t c = s.data[i];

    if (c < 0x80)
        return c >= 'A' && c <= 'Z' ? c + 32 : c;
    if (is_lead(c) && i + 1 < s.size && is_tail(s.data[i + 1]))
        return (uint8_t)(0xc0 |
                         lower((c & 0x1fu) << 6 | (s.data[i + 1] & 0x3fu)) >>
                             6);
    if (is_tail(c) && i > 0 && is_lead(s.data[i - 1]))
        return (uint8_t)(0x80 |
                         (lower((s.data[i - 1] & 0x1fu) << 6 | (c & 0x3fu)) &
                          0x3f));
    return c;
}

void
casefold_bytes(struct slice s, uint8_t *out)
{
    uint8_t before = 0; /* what s.data[i - 1] was, in case out is s.data */

    for (size_t i = 0; i < s.size; i++) {
        uint8_t pair[3] = { before, s.data[i],
                            i + 1 < s.size ? s.data[i + 1] : 0 };

        before = s.data[i];
        out[i] = casefold_at(slice_of(pair, sizeof pair), 1);
    }
}

int
casefold_cmp(struct slice s, struct slice folded)
{
    size_t n = s.size < folded.size ? s.size : folded.size;

    for (size_t i = 0; i < n; i++) {
        uint8_t c = casefold_at(s, i);

        if (c != folded.data[i])
            return c < folded.data[i] ? -1 : 1;
    }
    return (s.size > folded.size) - (s.size < folded.size);
}
