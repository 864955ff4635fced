/* Colours: those of the series, and how light a ground is.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 0xRRGGBB of the i-th series: palette.def, then steps of 137.5 degrees of hue
 * (saturation 0.6; lightness 0.45, on dark ground 0.65). */
uint32_t chart_colour(size_t i, bool dark);

/* Of 0xRRGGBB: is it nearer to black than to white, for the eye? */
bool colour_is_dark(uint32_t rgb);
