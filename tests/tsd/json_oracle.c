#include "tests/tsd/json_oracle.h"

#include <jansson.h>
#include <math.h>

#include "base/text/number.h"
#include "base/obj.h"
#include "tsd/put/put_json.h"
#include "tsd/put/put_value.h"

static bool
is_scalar(const json_t *j)
{
    return j == NULL || (!json_is_object(j) && !json_is_array(j));
}

/* "1356998400.5": up to ten digits, a point, and more of them; not before
 * 1970-02-19. */
static bool
is_fraction(struct slice text)
{
    struct slice seconds = slice_cut(&text, '.');
    uint64_t s;

    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
    return text.size > 0 && seconds.size <= 10 &&
           number_parse_u64(seconds, &s) &&
           (s > 4294967 ||
            (s == 4294967 && slice_cmp(text, slice_str("296")) >= 0));
}

static bool
is_time(const json_t *j)
{
    struct buf text = BUF_INIT;
    int64_t v;
    bool ok;

    if (j == NULL || json_is_null(j))
        return true;
    if (json_is_integer(j))
        return json_integer_value(j) != INT64_MAX;
    if (json_is_real(j))
        return fabs(json_real_value(j)) < 9.2e18;
    if (!json_is_string(j))
        return false;
    /* Blanks around the digits are for the reader's own tests. */
    buf_put(&text, json_string_value(j), json_string_length(j));
    ok = text.size == 0 || slice_eq_str(buf_slice(&text), "null") ||
         number_parse_i64(buf_slice(&text), &v) ||
         is_fraction(buf_slice(&text));
    buf_fini(&text);
    return ok;
}

/* The tree does not say how such a time was written. */
static bool
is_odd_time(const json_t *j)
{
    const char *s = json_string_value(j);

    return s != NULL && s[strspn(s, "0123456789+-")] != '\0';
}

static bool
are_tags(const json_t *j)
{
    const char *key;
    json_t *value;

    if (j == NULL || json_is_null(j))
        return true;
    if (!json_is_object(j))
        return false;
    /* The macro walks on a copy of the pointer without const. */
    json_object_foreach((json_t *)(uintptr_t)j, key, value)
    {
        if (!is_scalar(value))
            return false;
    }
    return true;
}

static bool
is_point(const json_t *j, bool in_array)
{
    if (json_is_null(j))
        return in_array;
    return json_is_object(j) && is_scalar(json_object_get(j, "metric")) &&
           is_scalar(json_object_get(j, "value")) &&
           is_time(json_object_get(j, "timestamp")) &&
           are_tags(json_object_get(j, "tags"));
}

static void
same_text(struct slice raw, const json_t *j)
{
    struct buf text = BUF_INIT;

    if (j == NULL || json_is_null(j)) {
        INSIST(raw.data == NULL);
        return;
    }
    INSIST(raw.data != NULL);
    put_json_unescape(raw, &text);
    if (json_is_string(j)) {
        INSIST(slice_eq(buf_slice(&text),
                        slice_of(json_string_value(j), json_string_length(j))));
    } else if (json_is_integer(j)) {
        int64_t v;

        INSIST(number_parse_i64(buf_slice(&text), &v));
        INSIST(v == json_integer_value(j));
    } else if (json_is_real(j)) {
        double v;

        INSIST(number_parse_double(buf_slice(&text), &v));
        INSIST(v == json_real_value(j));
    } else {
        INSIST(
            slice_eq_str(buf_slice(&text), json_is_true(j) ? "true" : "false"));
    }
    buf_fini(&text);
}

static void
same_tags(struct slice raw, json_t *j)
{
    struct put_tags tags;
    struct buf text = BUF_INIT;
    const char *key;
    json_t *value;

    if (j == NULL || json_is_null(j)) {
        INSIST(raw.data == NULL);
        return;
    }
    put_json_tags(raw, &tags, &text);
    INSIST(tags.len == json_object_size(j) || tags.len == PUT_TAGS_MAX);
    json_object_foreach(j, key, value)
    {
        struct tag *t = put_tags_find(&tags, slice_str(key));

        INSIST(t != NULL || tags.len == PUT_TAGS_MAX);
        if (t != NULL && json_is_string(value))
            INSIST(slice_eq(t->value, slice_of(json_string_value(value),
                                               json_string_length(value))));
        if (t != NULL)
            INSIST((t->value.data == NULL) == json_is_null(value));
    }
    buf_fini(&text);
}

/* Seconds with a fraction become milliseconds; what is smaller is cut off. */
static bool
is_time_of(int64_t time, double real)
{
    return time == (int64_t)real ||
           (time > PUT_MAX_SECONDS && fabs((double)time - real * 1000) < 1.001);
}

static void
same_point(const struct put_json_point *x, json_t *j)
{
    const json_t *time = json_object_get(j, "timestamp");

    INSIST(x->absent == json_is_null(j));
    if (x->absent)
        return;
    same_text(x->metric, json_object_get(j, "metric"));
    same_text(x->value, json_object_get(j, "value"));
    same_tags(x->tags, json_object_get(j, "tags"));
    if (json_is_integer(time))
        INSIST(x->time == json_integer_value(time));
    else if (json_is_real(time))
        INSIST(is_time_of(x->time, json_real_value(time)));
    else if (time == NULL || json_is_null(time))
        INSIST(x->time == 0);
}

static bool
is_too_deep(struct slice body)
{
    struct put_json r;
    struct put_json_point x;

    if (!put_json_open(&r, body))
        return false;
    while (put_json_next(&r, &x))
        ;
    return r.in.fault != NULL && strstr(r.in.fault, "too deep") != NULL;
}

/* The points of the body's documents, in order. */
struct oracle_points {
    json_t *all;  /* an array of the points */
    bool wanted;  /* our reader must accept them */
    bool skipped; /* the tree does not tell what our reader does */
};

static void
add_point(struct oracle_points *p, json_t *point, bool in_array)
{
    p->skipped = p->skipped || is_odd_time(json_object_get(point, "timestamp"));
    p->wanted = p->wanted && is_point(point, in_array);
    INSIST(json_array_append(p->all, point) == 0);
}

/* Reads the document at '*at' and moves '*at' after it; false if Jansson does
 * not accept it. */
static bool
add_document(struct oracle_points *p, struct slice body, size_t *at)
{
    json_error_t error;
    json_t *root =
        json_loadb((const char *)body.data + *at, body.size - *at,
                   JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &error);

    if (root == NULL)
        return false;
    *at += (size_t)error.position;
    if (!json_is_array(root))
        add_point(p, root, false);
    for (size_t i = 0; i < json_array_size(root); i++)
        add_point(p, json_array_get(root, i), true);
    json_decref(root);
    return true;
}

static size_t
after_blanks(struct slice body, size_t at)
{
    while (at < body.size && body.data[at] <= ' ')
        at++;
    return at;
}

static bool
has_bracket(struct slice s)
{
    for (size_t i = 0; i < s.size; i++)
        if (s.data[i] == '{' || s.data[i] == '[')
            return true;
    return false;
}

static bool
add_documents(struct oracle_points *p, struct slice body)
{
    size_t at = 0;

    do {
        if (!add_document(p, body, &at))
            return false;
        at = after_blanks(body, at);
        if (at < body.size && body.data[at] == ',')
            at = after_blanks(body, at + 1);
    } while (at < body.size && (body.data[at] == '{' || body.data[at] == '['));
    if (has_bracket(slice_of(body.data + at, body.size - at)))
        p->wanted = false;
    return true;
}

static void
compare(struct slice body, const struct oracle_points *p)
{
    struct put_json r;
    struct put_json_point x;
    size_t len = json_array_size(p->all), i;

    INSIST(put_json_open(&r, body));
    for (i = 0; put_json_next(&r, &x); i++) {
        INSIST(i < len);
        if (p->wanted)
            same_point(&x, json_array_get(p->all, i));
    }
    if ((put_json_status(&r, NULL) == ST_OK) != p->wanted) {
        (void)fprintf(stderr, "Jansson %s, we: %s\n%.*s\n",
                      p->wanted ? "takes it" : "rejects it",
                      r.in.fault == NULL ? "take it" : r.in.fault,
                      SLICE_ARG(body));
        abort();
    }
    INSIST(!p->wanted || i == len);
}

bool
json_oracle_check(struct slice body)
{
    struct oracle_points p = { .wanted = true };
    bool compared;

    /* Jansson overlooks a NUL between tokens. */
    if (body.size == 0 || memchr(body.data, 0, body.size) != NULL)
        return false;
    p.all = json_array();
    INSIST(p.all != NULL);
    compared = add_documents(&p, body) && !p.skipped && !is_too_deep(body);
    if (compared)
        compare(body, &p);
    json_decref(p.all);
    return compared;
}
