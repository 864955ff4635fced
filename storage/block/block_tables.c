/* The tables of coded numbers (docs/FORMAT.md, "Coded numbers"), made from how
 * many of the 256 states give each symbol.  The counts are those of differences
 * that are spread like a bell, with some outliers (0 to 7), or fall off
 * exponentially (8 to 15), each table 1.4 times as wide as the one before. */
#include "storage/block/block_coded_priv.h"

#include <math.h>
#include <pthread.h>

#include "base/obj.h"

/* clang-format off */
const uint8_t coded_counts[CODED_TABLES][CODED_SYMBOLS] = {
    { 249, 2, 2, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
    { 241, 5, 5, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0 },
    { 201, 24, 24, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0 },
    { 145, 50, 50, 3, 3, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0 },
    { 104, 60, 60, 12, 13, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0 },
    { 73, 56, 56, 25, 25, 7, 7, 1, 1, 1, 1, 1, 1, 1, 0, 0 },
    { 52, 45, 45, 30, 30, 16, 16, 6, 6, 2, 2, 1, 1, 1, 1, 2 },
    { 37, 34, 35, 28, 28, 20, 20, 13, 13, 7, 7, 3, 3, 2, 2, 4 },
    { 253, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
    { 247, 4, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
    { 229, 12, 12, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
    { 197, 25, 25, 3, 3, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0 },
    { 159, 37, 37, 8, 8, 2, 2, 1, 1, 1, 0, 0, 0, 0, 0, 0 },
    { 121, 43, 43, 15, 15, 5, 5, 2, 2, 1, 1, 1, 1, 1, 0, 0 },
    { 89, 43, 43, 21, 21, 10, 10, 5, 5, 2, 2, 1, 1, 1, 1, 1 },
    { 65, 38, 38, 23, 23, 14, 14, 8, 8, 5, 5, 3, 3, 2, 2, 5 },
};
/* clang-format on */

/* The next state that a symbol gets: odd, so that it comes by all of them. */
#define STRIDE 163

static struct coded_tables tables[CODED_TABLES];
static pthread_once_t made = PTHREAD_ONCE_INIT;

unsigned
coded_last(unsigned table)
{
    unsigned last = CODED_SYMBOLS - 1;

    while (coded_counts[table][last] == 0)
        last--;
    return last;
}

static void
make_states(unsigned table)
{
    struct coded_tables *t = &tables[table];
    unsigned last = coded_last(table), place = 0, at = 0;
    uint8_t symbols[CODED_STATES] = { 0 };

    for (unsigned s = 0; s <= last; s++)
        for (unsigned n = 0; n < coded_counts[table][s]; n++) {
            symbols[place] = (uint8_t)s;
            place = (place + STRIDE) % CODED_STATES;
        }
    for (unsigned s = 0; s <= last; s++) {
        unsigned m = coded_counts[table][s];

        for (unsigned i = 0; i < CODED_STATES; i++) {
            unsigned bits = 0;

            if (symbols[i] != s)
                continue;
            while (m << bits < CODED_STATES)
                bits++;
            t->bits[i] = (uint8_t)(bits | (s == last ? CODED_FAR : 0));
            t->mask[i] = (uint8_t)((1u << bits) - 1);
            t->next[i] = (uint8_t)((m << bits) - CODED_STATES);
            t->symbol[i] = (uint8_t)s;
            t->step[i] = (int8_t)varint_unzigzag(s);
            t->order[at++] = (uint16_t)(CODED_STATES + i);
            m++;
        }
    }
}

static void
make_tables(void)
{
    for (unsigned table = 0; table < CODED_TABLES; table++) {
        unsigned last;

        make_states(table);
        last = coded_last(table);
        for (unsigned s = 0; s < CODED_SYMBOLS; s++) {
            double p = coded_counts[table][s < last ? s : last] / 256.0;

            tables[table].costs[s] =
                (uint16_t)(lrint(-log2(p) * 256) + (s < last ? 0 : 8 * 256));
        }
    }
}

const struct coded_tables *
coded_table(unsigned table)
{
    INSIST(pthread_once(&made, make_tables) == 0);
    return &tables[table];
}
