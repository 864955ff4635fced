#include "web/chart/colour.h"

#include <math.h>

static const struct {
    uint32_t light, dark;
} palette[] = {
#define X(light, dark) { light, dark },
#include "web/chart/palette.def"
#undef X
};
#define PALETTE_LEN (sizeof palette / sizeof palette[0])

/* One of red, green, blue of a colour; 'turn' is where its hue has it. */
static uint32_t
channel(double hue, double turn, double saturation, double lightness)
{
    double chroma = (1 - fabs(2 * lightness - 1)) * saturation;
    double k = fmod(turn + hue / 30, 12);
    double v = lightness - chroma / 2 * fmax(-1, fmin(fmin(k - 3, 9 - k), 1));

    return (uint32_t)lround(255 * v);
}

uint32_t
chart_colour(size_t i, bool dark)
{
    double hue = fmod((double)i * 137.5, 360), lightness = dark ? 0.65 : 0.45;

    if (i < PALETTE_LEN)
        return dark ? palette[i].dark : palette[i].light;
    return channel(hue, 0, 0.6, lightness) << 16 |
           channel(hue, 8, 0.6, lightness) << 8 |
           channel(hue, 4, 0.6, lightness);
}

bool
colour_is_dark(uint32_t rgb)
{
    return 299 * (rgb >> 16 & 255) + 587 * (rgb >> 8 & 255) +
               114 * (rgb & 255) <
           1000 * 128;
}
