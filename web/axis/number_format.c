#include "web/axis/number_format.h"

#include <math.h>
#include <stdio.h>

#define PREFIX_MIN (-5)
#define PREFIX_MAX 6

static const char *const prefixes[] = { "f", "p", "n", "µ", "m", "",
                                        "k", "M", "G", "T", "P", "E" };

static const char *
prefix(int exponent)
{
    return prefixes[exponent - PREFIX_MIN];
}

/* Which power of 1000 makes 'v' 1 to 999; none is farther than its prefix. */
static int
exponent_of(double v)
{
    double e = v == 0 || !isfinite(v) ? 0 : floor(log10(fabs(v)) / 3 + 1e-12);

    return e < PREFIX_MIN ? PREFIX_MIN : e > PREFIX_MAX ? PREFIX_MAX : (int)e;
}

/* Up to the next "%" that is not "%%": text. */
static struct slice
take_text(struct slice *s)
{
    struct slice text = { s->data, 0 };

    while (text.size < s->size) {
        if (text.data[text.size] != '%')
            text.size++;
        else if (text.size + 1 < s->size && text.data[text.size + 1] == '%')
            text.size += 2;
        else
            break;
    }
    *s = slice_of(s->data + text.size, s->size - text.size);
    return text;
}

static bool
take(struct slice *s, char c)
{
    if (s->size == 0 || s->data[0] != (uint8_t)c)
        return false;
    *s = slice_of(s->data + 1, s->size - 1);
    return true;
}

/* ".2f" */
static bool
take_number(struct slice *s, struct number_format *out)
{
    bool has_digits = take(s, '.');

    out->digits = 0;
    for (int i = 0; has_digits && s->size > 0 && s->data[0] >= '0' &&
                    s->data[0] <= '9' && i < 2;
         i++) {
        out->digits = 10 * out->digits + s->data[0] - '0';
        (void)take(s, (char)s->data[0]);
    }
    if (s->size == 0 || memchr("fegs", s->data[0], 4) == NULL)
        return false;
    out->letter = (char)s->data[0];
    if (!has_digits)
        out->digits = out->letter == 's' ? 0 : 6;
    return take(s, out->letter) && out->digits <= 15;
}

enum status
number_format_parse(struct slice text, struct number_format *out)
{
    *out = (struct number_format){ 0 };
    if (text.size > NUMBER_FORMAT_BYTES)
        return ST_INVALID;
    out->before = take_text(&text);
    if (!take(&text, '%') || !take_number(&text, out))
        return ST_INVALID;
    out->between = take_text(&text);
    if (take(&text, '%')) {
        if (!take(&text, 'c'))
            return ST_INVALID;
        out->has_prefix = true;
    }
    out->after = take_text(&text);
    return text.size == 0 ? ST_OK : ST_INVALID;
}

struct writer {
    char *out;
    size_t size;
};

/* The parts of a format together are shorter than a label: nothing is cut but
 * what %f makes of a very large number. */
static void
append(struct writer *w, struct slice s)
{
    size_t left = NUMBER_LABEL_MAX - 1 - w->size;
    size_t n = s.size < left ? s.size : left;

    if (n > 0)
        memcpy(w->out + w->size, s.data, n);
    w->size += n;
    w->out[w->size] = '\0';
}

static void
append_text(struct writer *w, struct slice text)
{
    for (size_t i = 0; i < text.size; i++) {
        append(w, slice_of(text.data + i, 1));
        i += text.data[i] == '%'; /* "%%" */
    }
}

void
number_format_write(const struct number_format *f, double v,
                    char out[NUMBER_LABEL_MAX])
{
    struct writer w = { out, 0 };
    bool is_huge = f->letter != 'g' && fabs(v) >= 1e21;
    bool is_scaled = (f->letter == 's' || f->has_prefix) && !is_huge;
    int e = is_scaled ? exponent_of(v) : 0;
    char digits[64];

    out[0] = '\0';
    append_text(&w, f->before);
    if (f->letter == 'e' || is_huge)
        (void)snprintf(digits, sizeof digits, "%.*e", f->digits,
                       v / pow(1000, e));
    else if (f->letter == 'g')
        (void)snprintf(digits, sizeof digits, "%.*g", f->digits,
                       v / pow(1000, e));
    else
        (void)snprintf(digits, sizeof digits, "%.*f", f->digits,
                       v / pow(1000, e));
    append(&w, slice_str(digits));
    append_text(&w, f->between);
    if (f->has_prefix)
        append(&w, slice_str(prefix(e)));
    append_text(&w, f->after);
}

void
number_tick(double v, double step, double largest, char out[NUMBER_LABEL_MAX])
{
    bool plain = largest < 1e4 && largest >= 1e-3;
    int e = plain ? 0 : exponent_of(largest);
    double unit = pow(1000, e), digits = -floor(log10(step / unit) + 1e-9);

    if (largest / unit >= 1e4 || largest / unit < 1e-4 || digits > 12) {
        (void)snprintf(out, NUMBER_LABEL_MAX, "%.4g", v);
        return;
    }
    /* 2.5 has a digit more than 1, 2, 5. */
    if (fabs(remainder(step / unit * pow(10, digits), 1)) > 1e-6)
        digits++;
    if (fabs(v) < step * 1e-6)
        (void)snprintf(out, NUMBER_LABEL_MAX, "0");
    else
        (void)snprintf(out, NUMBER_LABEL_MAX, "%.*f%s",
                       digits < 0 ? 0 : (int)digits, v / unit, prefix(e));
}

void
number_short(double v, char out[NUMBER_LABEL_MAX])
{
    double rounded, size;
    char text[32];
    int e;

    (void)snprintf(text, sizeof text, "%.3e", v);
    rounded = strtod(text, NULL);
    size = fabs(rounded);
    /* What no prefix makes 1 to 999 has an exponent. */
    e = (size >= 1e4 && size < 1e21) || (size < 1e-3 && size >= 1e-15)
            ? exponent_of(rounded)
            : 0;
    (void)snprintf(out, NUMBER_LABEL_MAX, "%.4g%s", rounded / pow(1000, e),
                   prefix(e));
}
