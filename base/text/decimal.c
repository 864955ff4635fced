/* See base/text/decimal.h.  The tables are written out by macros: they are
 * constants, so that nothing has to be initialised. */
#include "base/text/decimal.h"

const char decimal_pairs[200] = { "00010203040506070809"
                                  "10111213141516171819"
                                  "20212223242526272829"
                                  "30313233343536373839"
                                  "40414243444546474849"
                                  "50515253545556575859"
                                  "60616263646566676869"
                                  "70717273747576777879"
                                  "80818283848586878889"
                                  "90919293949596979899" };

#define DIGIT(v) ('0' + (v) % 10)
#define ONE(v)            \
    {                     \
        DIGIT(v), 0, 0, 1 \
    }
#define TWO(v)                          \
    {                                   \
        DIGIT((v) / 10), DIGIT(v), 0, 2 \
    }
#define THREE(v)                                       \
    {                                                  \
        DIGIT((v) / 100), DIGIT((v) / 10), DIGIT(v), 3 \
    }

#define TEN(F, v)                                                     \
    F(v), F((v) + 1), F((v) + 2), F((v) + 3), F((v) + 4), F((v) + 5), \
        F((v) + 6), F((v) + 7), F((v) + 8), F((v) + 9)
#define NINETY(F, v)                                                        \
    TEN(F, (v) + 10), TEN(F, (v) + 20), TEN(F, (v) + 30), TEN(F, (v) + 40), \
        TEN(F, (v) + 50), TEN(F, (v) + 60), TEN(F, (v) + 70),               \
        TEN(F, (v) + 80), TEN(F, (v) + 90)
#define HUNDRED(v) TEN(THREE, v), NINETY(THREE, v)

const uint8_t decimal_short[1000][4] = {
    TEN(ONE, 0),  NINETY(TWO, 0), HUNDRED(100), HUNDRED(200),
    HUNDRED(300), HUNDRED(400),   HUNDRED(500), HUNDRED(600),
    HUNDRED(700), HUNDRED(800),   HUNDRED(900),
};
