/* The footer of a zone's file: a rule in the form of POSIX' TZ variable, e.g.
 * "<-03>3<-02>,M3.5.0/-2,M10.5.0/-1".  It holds after the last transition. */
#include "base/time/timezone_priv.h"

#include <stdio.h>

#include "base/cursor.h"

static bool
next_is(struct cursor *c, char want)
{
    if (cursor_left(c) == 0 || *c->at != (uint8_t)want)
        return false;
    c->at++;
    return true;
}

static int
read_number(struct cursor *c, int max)
{
    int v = 0;
    const uint8_t *from = c->at;

    while (cursor_left(c) > 0 && *c->at >= '0' && *c->at <= '9' && v <= max)
        v = v * 10 + (*c->at++ - '0');
    if (c->at == from || v > max)
        c->failed = true;
    return v;
}

static void
keep_name(const uint8_t *from, const uint8_t *to,
          char out[TIMEZONE_ABBREVIATION_MAX])
{
    (void)snprintf(out, TIMEZONE_ABBREVIATION_MAX, "%.*s", (int)(to - from),
                   (const char *)from);
}

/* Three letters or more, or anything in angle brackets. */
static void
read_name(struct cursor *c, char out[TIMEZONE_ABBREVIATION_MAX])
{
    const uint8_t *from = c->at;

    if (next_is(c, '<')) {
        while (cursor_left(c) > 0 && *c->at != '>')
            c->at++;
        keep_name(from + 1, c->at, out);
        if (!next_is(c, '>'))
            c->failed = true;
        return;
    }
    while (cursor_left(c) > 0 && ((*c->at >= 'A' && *c->at <= 'Z') ||
                                  (*c->at >= 'a' && *c->at <= 'z')))
        c->at++;
    keep_name(from, c->at, out);
    if (c->at - from < 3)
        c->failed = true;
}

/* [+-]h[:m[:s]] */
static int32_t
read_clock(struct cursor *c)
{
    bool minus = next_is(c, '-');
    int32_t s;

    if (!minus)
        (void)next_is(c, '+');
    s = read_number(c, 167) * 3600;
    if (next_is(c, ':'))
        s += read_number(c, 59) * 60;
    if (next_is(c, ':'))
        s += read_number(c, 59);
    return minus ? -s : s;
}

static void
read_day(struct cursor *c, struct zone_day *d)
{
    *d = (struct zone_day){ .form = DAY_ZERO_BASED, .at_s = 7200 };
    if (!next_is(c, ','))
        c->failed = true;
    if (next_is(c, 'M')) {
        d->form = DAY_OF_WEEK;
        d->month = read_number(c, 12);
        c->failed |= !next_is(c, '.');
        d->week = read_number(c, 5);
        c->failed |= !next_is(c, '.');
        d->day = read_number(c, 6);
        c->failed |= d->month < 1 || d->week < 1;
    } else if (next_is(c, 'J')) {
        d->form = DAY_JULIAN;
        d->day = read_number(c, 365);
        c->failed |= d->day < 1;
    } else {
        d->day = read_number(c, 365);
    }
    if (next_is(c, '/'))
        d->at_s = read_clock(c);
}

bool
timezone_read_rule(struct slice text, struct zone_rule *out)
{
    struct cursor c = cursor_of(text);

    *out = (struct zone_rule){ .on = true };
    read_name(&c, out->std_name);
    /* POSIX counts westwards. */
    out->std_s = -read_clock(&c);
    if (!c.failed && cursor_left(&c) > 0) {
        out->has_dst = true;
        read_name(&c, out->dst_name);
        out->dst_s = out->std_s + 3600;
        if (cursor_left(&c) > 0 && *c.at != ',')
            out->dst_s = -read_clock(&c);
        read_day(&c, &out->to_dst);
        read_day(&c, &out->to_std);
    }
    c.failed |= cursor_left(&c) > 0;
    out->on = !c.failed;
    return !c.failed;
}
