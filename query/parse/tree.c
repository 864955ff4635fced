/* See query/parse/tree.h. */
#include "config.h"

#include "query/parse/tree.h"

/* Names of one object are compared with one another: more are Jansson's. */
#define MEMBERS_MAX 32
/* An integer of so many digits is one of 64 bits. */
#define DIGITS_MAX 18
#define DEPTH_MAX  64
#define VALUES_MAX 40000

/* -- plain texts ----------------------------------------------------------- */

struct plain {
    struct tree *t;
    const uint8_t *at, *end;
    struct tree_value *open; /* the array or object that is filled */
    size_t depth, values;
};

static void
skip_space(struct plain *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' ||
                              *p->at == '\t' || *p->at == '\r'))
        p->at++;
}

static bool
take(struct plain *p, char c)
{
    skip_space(p);
    if (p->at == p->end || *p->at != (uint8_t)c)
        return false;
    p->at++;
    return true;
}

static bool
take_string(struct plain *p, struct slice *out)
{
    const uint8_t *from;

    if (!take(p, '"'))
        return false;
    for (from = p->at; p->at < p->end && *p->at != '"'; p->at++)
        if (*p->at < 0x20 || *p->at >= 0x80 || *p->at == '\\')
            return false;
    if (p->at == p->end)
        return false;
    *out = slice_of(from, (size_t)(p->at - from));
    p->at++;
    return true;
}

static bool
take_integer(struct plain *p, int64_t *out)
{
    bool negative = *p->at == '-';
    const uint8_t *from = p->at += negative;
    int64_t v = 0;

    while (p->at < p->end && *p->at >= '0' && *p->at <= '9' &&
           p->at - from < DIGITS_MAX)
        v = v * 10 + (*p->at++ - '0');
    if (p->at == from || (*from == '0' && p->at - from > 1))
        return false;
    if (p->at < p->end && (*p->at == '.' || *p->at == 'e' || *p->at == 'E' ||
                           (*p->at >= '0' && *p->at <= '9')))
        return false;
    *out = negative ? -v : v;
    return true;
}

static bool
take_word(struct plain *p, struct tree_value *v)
{
    static const char *const words[] = { "null", "false", "true" };

    for (size_t i = 0; i < 3; i++) {
        size_t n = strlen(words[i]), left = (size_t)(p->end - p->at);

        if (left < n || memcmp(p->at, words[i], n) != 0)
            continue;
        if (left > n && ((p->at[n] | 0x20) >= 'a' && (p->at[n] | 0x20) <= 'z'))
            return false;
        p->at += n;
        v->kind = (enum tree_kind)i;
        return true;
    }
    return false;
}

/* The values of 'open' come from here on. */
static bool
open_value(struct plain *p, struct tree_value *v, enum tree_kind kind)
{
    p->at++;
    v->kind = kind;
    p->open = v;
    return ++p->depth <= DEPTH_MAX;
}

static bool
take_value(struct plain *p, struct tree_value *v)
{
    skip_space(p);
    if (p->at == p->end)
        return false;
    switch (*p->at) {
    case '{':
        return open_value(p, v, TREE_OBJECT);
    case '[':
        return open_value(p, v, TREE_ARRAY);
    case '"':
        v->kind = TREE_STRING;
        return take_string(p, &v->text);
    case 'n':
    case 'f':
    case 't':
        return take_word(p, v);
    default:
        v->kind = TREE_INTEGER;
        return take_integer(p, &v->integer);
    }
}

static bool
is_known(const struct tree_value *object, struct slice key)
{
    for (const struct tree_value *v = object->first; v != NULL; v = v->next)
        if (slice_eq(v->key, key))
            return true;
    return false;
}

static struct tree_value *
new_value(struct tree *t, struct tree_value *parent)
{
    struct tree_value *v = arena_array(t->arena, 1, sizeof *v);

    if (v != NULL)
        v->parent = parent;
    return v;
}

/* Members and elements, until the root is closed.  'last' is the last one of
 * the open value. */
static bool
take_tree(struct plain *p, struct tree_value *root)
{
    struct tree_value *last = NULL;

    if (!take_value(p, root))
        return false;
    while (p->open != NULL) {
        struct tree_value *open = p->open, *v;
        bool object = open->kind == TREE_OBJECT;

        if (take(p, object ? '}' : ']')) {
            last = open;
            p->open = open->parent;
            p->depth--;
            continue;
        }
        if (open->len > 0 && !take(p, ','))
            return false;
        v = new_value(p->t, open);
        if (v == NULL || ++p->values > VALUES_MAX)
            return false;
        if (object && (open->len == MEMBERS_MAX || !take_string(p, &v->key) ||
                       is_known(open, v->key) || !take(p, ':')))
            return false;
        if (open->len++ == 0)
            open->first = v;
        else
            last->next = v;
        last = v;
        if (!take_value(p, v))
            return false;
        if (p->open == v)
            last = NULL;
    }
    return true;
}

bool
tree_load_plain(struct tree *t, struct slice body)
{
    struct plain p = { .t = t, .at = body.data, .end = body.data + body.size };

    *t = (struct tree){ .arena = arena_new(0) };
    t->root = new_value(t, NULL);
    if (t->root == NULL || !take_tree(&p, t->root))
        return false;
    skip_space(&p);
    return p.at == p.end;
}

/* -- Jansson's ------------------------------------------------------------- */

static void
copy_value(struct tree_value *v, const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_NULL:
        v->kind = TREE_NULL;
        break;
    case JSON_FALSE:
        v->kind = TREE_FALSE;
        break;
    case JSON_TRUE:
        v->kind = TREE_TRUE;
        break;
    case JSON_INTEGER:
        v->kind = TREE_INTEGER;
        v->integer = json_integer_value(json);
        break;
    case JSON_REAL:
        v->kind = TREE_REAL;
        v->real = json_real_value(json);
        break;
    case JSON_STRING:
        v->kind = TREE_STRING;
        v->text = slice_of(json_string_value(json), json_string_length(json));
        break;
    case JSON_ARRAY:
        v->kind = TREE_ARRAY;
        break;
    case JSON_OBJECT:
        v->kind = TREE_OBJECT;
        break;
    }
}

/* Makes the values of 'v', and puts those among them that have values of their
 * own in front of 'todo', by their parents. */
static bool
copy_values(struct tree *t, struct tree_value *v, struct tree_value **todo)
{
    struct tree_value **to = &v->first;
    bool object = v->kind == TREE_OBJECT;
    void *at = object ? json_object_iter(v->json) : NULL;
    size_t len = object ? json_object_size(v->json) : json_array_size(v->json);

    for (v->len = 0; v->len < len; v->len++) {
        struct tree_value *one = new_value(t, NULL);

        if (one == NULL)
            return false;
        one->json = object ? json_object_iter_value(at)
                           : json_array_get(v->json, v->len);
        if (object) {
            one->key = slice_of(json_object_iter_key(at),
                                json_object_iter_key_len(at));
            at = json_object_iter_next(v->json, at);
        }
        copy_value(one, one->json);
        if (one->kind == TREE_ARRAY || one->kind == TREE_OBJECT) {
            one->parent = *todo;
            *todo = one;
        }
        *to = one;
        to = &one->next;
    }
    return true;
}

bool
tree_load(struct tree *t, struct slice body, json_error_t *why)
{
    size_t flags = JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY | JSON_ALLOW_NUL;
    struct tree_value *todo;
    bool good = true;

    *t = (struct tree){ .arena = arena_new(0) };
    t->json = json_loadb((const char *)body.data, body.size, flags, why);
    if (t->json == NULL)
        return false;
    t->root = todo = new_value(t, NULL);
    if (todo == NULL)
        return false;
    todo->json = t->json;
    copy_value(todo, t->json);
    while (todo != NULL && good) {
        struct tree_value *v = todo;

        todo = v->parent;
        if (v->kind == TREE_ARRAY || v->kind == TREE_OBJECT)
            good = copy_values(t, v, &todo);
    }
    return good;
}

void
tree_unload(struct tree *t)
{
    json_decref(t->json);
    arena_free(&t->arena);
    *t = (struct tree){ 0 };
}

struct tree_value *
tree_member(const struct tree_value *object, const char *name)
{
    struct tree_value *v = object->kind == TREE_OBJECT ? object->first : NULL;

    while (v != NULL && !slice_eq_str(v->key, name))
        v = v->next;
    return v;
}
