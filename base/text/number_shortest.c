/* The shortest decimal digits of a double, by Giulietti's Schubfach ("The
 * Schubfach way to render doubles", 2020): the ends of the interval of decimals
 * that read back as the double, and the double itself, are multiplied by a
 * power of ten, rounded to odd; then one or two candidates are compared.
 *
 * Powers of two, whose interval is lopsided, and numbers that are very large or
 * very small are left to the long way (number.c). */
#include "base/text/number_priv.h"

#include <string.h>

/* 10^p for p from POWER_MIN on: the upper 128 bits, rounded up. */
struct power {
    uint64_t high, low;
};

#define POWER_MIN (-16)
#define POWER_MAX 46

/* clang-format off */
static const struct power powers[] = {
    { UINT64_C(0xe69594bec44de15b), UINT64_C(0x4c2ebe687989a9b4) }, /* 1e-16 */
    { UINT64_C(0x901d7cf73ab0acd9), UINT64_C(0x0f9d37014bf60a11) }, /* 1e-15 */
    { UINT64_C(0xb424dc35095cd80f), UINT64_C(0x538484c19ef38c95) }, /* 1e-14 */
    { UINT64_C(0xe12e13424bb40e13), UINT64_C(0x2865a5f206b06fba) }, /* 1e-13 */
    { UINT64_C(0x8cbccc096f5088cb), UINT64_C(0xf93f87b7442e45d4) }, /* 1e-12 */
    { UINT64_C(0xafebff0bcb24aafe), UINT64_C(0xf78f69a51539d749) }, /* 1e-11 */
    { UINT64_C(0xdbe6fecebdedd5be), UINT64_C(0xb573440e5a884d1c) }, /* 1e-10 */
    { UINT64_C(0x89705f4136b4a597), UINT64_C(0x31680a88f8953031) }, /* 1e-9 */
    { UINT64_C(0xabcc77118461cefc), UINT64_C(0xfdc20d2b36ba7c3e) }, /* 1e-8 */
    { UINT64_C(0xd6bf94d5e57a42bc), UINT64_C(0x3d32907604691b4d) }, /* 1e-7 */
    { UINT64_C(0x8637bd05af6c69b5), UINT64_C(0xa63f9a49c2c1b110) }, /* 1e-6 */
    { UINT64_C(0xa7c5ac471b478423), UINT64_C(0x0fcf80dc33721d54) }, /* 1e-5 */
    { UINT64_C(0xd1b71758e219652b), UINT64_C(0xd3c36113404ea4a9) }, /* 1e-4 */
    { UINT64_C(0x83126e978d4fdf3b), UINT64_C(0x645a1cac083126ea) }, /* 1e-3 */
    { UINT64_C(0xa3d70a3d70a3d70a), UINT64_C(0x3d70a3d70a3d70a4) }, /* 1e-2 */
    { UINT64_C(0xcccccccccccccccc), UINT64_C(0xcccccccccccccccd) }, /* 1e-1 */
    { UINT64_C(0x8000000000000000), UINT64_C(0x0000000000000000) }, /* 1e0 */
    { UINT64_C(0xa000000000000000), UINT64_C(0x0000000000000000) }, /* 1e1 */
    { UINT64_C(0xc800000000000000), UINT64_C(0x0000000000000000) }, /* 1e2 */
    { UINT64_C(0xfa00000000000000), UINT64_C(0x0000000000000000) }, /* 1e3 */
    { UINT64_C(0x9c40000000000000), UINT64_C(0x0000000000000000) }, /* 1e4 */
    { UINT64_C(0xc350000000000000), UINT64_C(0x0000000000000000) }, /* 1e5 */
    { UINT64_C(0xf424000000000000), UINT64_C(0x0000000000000000) }, /* 1e6 */
    { UINT64_C(0x9896800000000000), UINT64_C(0x0000000000000000) }, /* 1e7 */
    { UINT64_C(0xbebc200000000000), UINT64_C(0x0000000000000000) }, /* 1e8 */
    { UINT64_C(0xee6b280000000000), UINT64_C(0x0000000000000000) }, /* 1e9 */
    { UINT64_C(0x9502f90000000000), UINT64_C(0x0000000000000000) }, /* 1e10 */
    { UINT64_C(0xba43b74000000000), UINT64_C(0x0000000000000000) }, /* 1e11 */
    { UINT64_C(0xe8d4a51000000000), UINT64_C(0x0000000000000000) }, /* 1e12 */
    { UINT64_C(0x9184e72a00000000), UINT64_C(0x0000000000000000) }, /* 1e13 */
    { UINT64_C(0xb5e620f480000000), UINT64_C(0x0000000000000000) }, /* 1e14 */
    { UINT64_C(0xe35fa931a0000000), UINT64_C(0x0000000000000000) }, /* 1e15 */
    { UINT64_C(0x8e1bc9bf04000000), UINT64_C(0x0000000000000000) }, /* 1e16 */
    { UINT64_C(0xb1a2bc2ec5000000), UINT64_C(0x0000000000000000) }, /* 1e17 */
    { UINT64_C(0xde0b6b3a76400000), UINT64_C(0x0000000000000000) }, /* 1e18 */
    { UINT64_C(0x8ac7230489e80000), UINT64_C(0x0000000000000000) }, /* 1e19 */
    { UINT64_C(0xad78ebc5ac620000), UINT64_C(0x0000000000000000) }, /* 1e20 */
    { UINT64_C(0xd8d726b7177a8000), UINT64_C(0x0000000000000000) }, /* 1e21 */
    { UINT64_C(0x878678326eac9000), UINT64_C(0x0000000000000000) }, /* 1e22 */
    { UINT64_C(0xa968163f0a57b400), UINT64_C(0x0000000000000000) }, /* 1e23 */
    { UINT64_C(0xd3c21bcecceda100), UINT64_C(0x0000000000000000) }, /* 1e24 */
    { UINT64_C(0x84595161401484a0), UINT64_C(0x0000000000000000) }, /* 1e25 */
    { UINT64_C(0xa56fa5b99019a5c8), UINT64_C(0x0000000000000000) }, /* 1e26 */
    { UINT64_C(0xcecb8f27f4200f3a), UINT64_C(0x0000000000000000) }, /* 1e27 */
    { UINT64_C(0x813f3978f8940984), UINT64_C(0x4000000000000000) }, /* 1e28 */
    { UINT64_C(0xa18f07d736b90be5), UINT64_C(0x5000000000000000) }, /* 1e29 */
    { UINT64_C(0xc9f2c9cd04674ede), UINT64_C(0xa400000000000000) }, /* 1e30 */
    { UINT64_C(0xfc6f7c4045812296), UINT64_C(0x4d00000000000000) }, /* 1e31 */
    { UINT64_C(0x9dc5ada82b70b59d), UINT64_C(0xf020000000000000) }, /* 1e32 */
    { UINT64_C(0xc5371912364ce305), UINT64_C(0x6c28000000000000) }, /* 1e33 */
    { UINT64_C(0xf684df56c3e01bc6), UINT64_C(0xc732000000000000) }, /* 1e34 */
    { UINT64_C(0x9a130b963a6c115c), UINT64_C(0x3c7f400000000000) }, /* 1e35 */
    { UINT64_C(0xc097ce7bc90715b3), UINT64_C(0x4b9f100000000000) }, /* 1e36 */
    { UINT64_C(0xf0bdc21abb48db20), UINT64_C(0x1e86d40000000000) }, /* 1e37 */
    { UINT64_C(0x96769950b50d88f4), UINT64_C(0x1314448000000000) }, /* 1e38 */
    { UINT64_C(0xbc143fa4e250eb31), UINT64_C(0x17d955a000000000) }, /* 1e39 */
    { UINT64_C(0xeb194f8e1ae525fd), UINT64_C(0x5dcfab0800000000) }, /* 1e40 */
    { UINT64_C(0x92efd1b8d0cf37be), UINT64_C(0x5aa1cae500000000) }, /* 1e41 */
    { UINT64_C(0xb7abc627050305ad), UINT64_C(0xf14a3d9e40000000) }, /* 1e42 */
    { UINT64_C(0xe596b7b0c643c719), UINT64_C(0x6d9ccd05d0000000) }, /* 1e43 */
    { UINT64_C(0x8f7e32ce7bea5c6f), UINT64_C(0xe4820023a2000000) }, /* 1e44 */
    { UINT64_C(0xb35dbf821ae4f38b), UINT64_C(0xdda2802c8a800000) }, /* 1e45 */
    { UINT64_C(0xe0352f62a19e306e), UINT64_C(0xd50b2037ad200000) }, /* 1e46 */
};
/* clang-format on */

#define MANTISSA_BITS 52
#define HIDDEN_BIT    (UINT64_C(1) << MANTISSA_BITS)

/* floor(log10(2^q)), and floor(log2(10^p)). */
static int
log10_of_power_of_2(int q)
{
    return (int)(((int64_t)q * 661971961083) >> 41);
}

static int
log2_of_power_of_10(int p)
{
    return (int)(((int64_t)p * 913124641741) >> 38);
}

/* The upper 64 bits of power x c; the lowest one is set when any below is. */
static uint64_t
multiply_to_odd(struct power g, uint64_t c)
{
    unsigned __int128 low = (unsigned __int128)g.low * c;
    unsigned __int128 all =
        (unsigned __int128)g.high * c + (uint64_t)(low >> 64);

    return (uint64_t)(all >> 64) | ((uint64_t)all > 1);
}

bool
number_shortest(double v, uint64_t *digits, int *exponent)
{
    uint64_t bits, c, odd, middle, lower, upper, whole;
    struct power g;
    int q, k, shift;

    memcpy(&bits, &v, sizeof bits);
    c = bits & (HIDDEN_BIT - 1);
    q = (int)(bits >> MANTISSA_BITS) - 1075;
    k = log10_of_power_of_2(q);
    if (c == 0 || -k < POWER_MIN || -k > POWER_MAX)
        return false;
    odd = c & 1;
    c = (c | HIDDEN_BIT) << 2;
    g = powers[-k - POWER_MIN];
    shift = q + log2_of_power_of_10(-k) + 1;
    middle = multiply_to_odd(g, c << shift);
    lower = multiply_to_odd(g, (c - 2) << shift) + odd;
    upper = multiply_to_odd(g, (c + 2) << shift) - odd;
    whole = middle / 4;
    *exponent = k;
    if (whole >= 10) {
        uint64_t tens = whole / 10;
        bool below = lower <= 40 * tens, above = 40 * tens + 40 <= upper;

        if (below != above) {
            *digits = tens + above;
            *exponent = k + 1;
            return true;
        }
    }
    if ((lower <= 4 * whole) != (4 * whole + 4 <= upper))
        *digits = whole + (4 * whole + 4 <= upper);
    else
        *digits = whole + (middle > 4 * whole + 2 ||
                           (middle == 4 * whole + 2 && (whole & 1) != 0));
    return true;
}
