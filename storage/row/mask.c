/* A mask is a row of fields, each a big-endian number and the values that it
 * may have; what is longer than eight bytes is several fields.
 *
 * The hint goes from left to right as long as the key's own numbers are
 * allowed.  At the first field where one is not, one of two things holds:
 *
 *     a larger value is allowed there: take the smallest such one;
 *     none is: go back left to the first field that can still grow, grow it.
 *
 * All fields behind the one that grew get their smallest values, which lie
 * ready in 'min'.  Nothing is allocated, and a set costs one binary search. */
#include "storage/row/mask.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/obj.h"
#include "base/sort.h"
#include "storage/row/key.h"

#define MASK_MAGIC     FOURCC('M', 'A', 'S', 'K')
#define MASK_SET_MAGIC FOURCC('M', 'S', 'E', 'T')

struct field {
    size_t at; /* offset in the key */
    unsigned width;
    uint64_t lo, hi, step;   /* (hi - lo) % step is 0 */
    const uint64_t *numbers; /* NULL, or a set: ascending, no value twice */
    size_t len;              /* of them */
    uint64_t *own;           /* the same, on the heap; or NULL */
};

struct mask {
    uint32_t magic;
    struct arena *arena; /* NULL: the heap */
    bool failed;         /* the arena had no room */
    bool never;          /* some field allows nothing */
    struct field *fields;
    size_t len, cap;
    uint8_t min[ROW_KEY_MAX]; /* the smallest match, unless 'never' */
    size_t size;
    /* For matches: the bits of fields with one value, which are as in 'min',
     * and the fields that have some of their values. */
    uint8_t fixed[ROW_KEY_MAX];
    uint16_t chosen[ROW_KEY_MAX];
    size_t chosen_len;
};

struct mask_set {
    uint32_t magic;
    struct arena *arena; /* NULL: the heap */
    bool failed;
    struct mask **masks;
    size_t len, cap;
};

/* -- building ------------------------------------------------------------- */

struct mask *
mask_new(void)
{
    struct mask *m = mem_new(sizeof *m);

    m->magic = MASK_MAGIC;
    return m;
}

struct mask *
mask_new_in(struct arena *a)
{
    struct mask *m = arena_array(a, 1, sizeof *m);

    if (m == NULL)
        return NULL;
    m->magic = MASK_MAGIC;
    m->arena = a;
    return m;
}

void
mask_free(struct mask **m)
{
    struct mask *old = OBJ_TAKE(m, MASK_MAGIC);

    if (old == NULL)
        return;
    if (old->arena != NULL) {
        OBJ_CLEAR(old);
        return;
    }
    for (size_t i = 0; i < old->len; i++)
        free(old->fields[i].own);
    free(old->fields);
    OBJ_FREE(old);
}

static uint64_t
largest(unsigned width)
{
    INSIST(width >= 1 && width <= 8);
    return UINT64_MAX >> (64 - 8 * width);
}

static void
add(struct mask *m, struct field f)
{
    struct field *fields;

    OBJ_CHECK(m, MASK_MAGIC);
    INSIST(m->size + f.width <= ROW_KEY_MAX);
    fields = m->arena == NULL
                 ? mem_grow(m->fields, m->len, &m->cap, sizeof *m->fields)
                 : arena_grow(m->arena, m->fields, m->len, &m->cap,
                              sizeof *m->fields);
    if (fields == NULL) {
        m->failed = true;
        return;
    }
    m->fields = fields;
    f.at = m->size;
    if (f.lo == f.hi)
        memset(m->fixed + m->size, 0xff, f.width);
    else if (f.lo > 0 || f.hi < largest(f.width) || f.step > 1 ||
             f.numbers != NULL)
        m->chosen[m->chosen_len++] = (uint16_t)m->len;
    m->fields[m->len++] = f;
    key_put_uint(m->min + m->size, f.lo, f.width);
    m->size += f.width;
}

static unsigned
mask_field(size_t size)
{
    return size < 8 ? (unsigned)size : 8;
}

void
mask_add_fixed(struct mask *m, struct slice bytes)
{
    for (size_t at = 0; at < bytes.size; at += 8) {
        unsigned width = mask_field(bytes.size - at);
        uint64_t v = key_get_uint(bytes.data + at, width);

        mask_add_steps(m, v, v, 1, width);
    }
}

void
mask_add_any(struct mask *m, size_t width)
{
    for (size_t at = 0; at < width; at += 8)
        mask_add_steps(m, 0, UINT64_MAX, 1, mask_field(width - at));
}

void
mask_add_steps(struct mask *m, uint64_t lo, uint64_t hi, uint64_t step,
               unsigned width)
{
    uint64_t max = largest(width);

    INSIST(step >= 1);
    hi = hi < max ? hi : max;
    if (lo > hi) {
        m->never = true;
        lo = hi;
    }
    add(m, (struct field){ .width = width,
                           .lo = lo,
                           .hi = lo + (hi - lo) / step * step,
                           .step = step });
}

/* 'own': the same, which the field frees; or NULL. */
static void
add_set(struct mask *m, const uint64_t *numbers, size_t len, unsigned width,
        uint64_t *own)
{
    struct field f = {
        .width = width, .hi = largest(width), .step = 1, .own = own
    };

    if (len == 0) {
        m->never = true;
    } else {
        f.numbers = numbers;
        f.len = len;
        f.lo = numbers[0];
        f.hi = numbers[len - 1];
    }
    add(m, f);
}

void
mask_add_set(struct mask *m, const uint64_t *numbers, size_t len,
             unsigned width)
{
    uint64_t *copy = m->arena == NULL
                         ? mem_new_array(len, sizeof *copy)
                         : arena_array_raw(m->arena, len, sizeof *copy);

    if (copy == NULL) {
        m->failed = true;
        return;
    }
    if (len > 0)
        memcpy(copy, numbers, len * sizeof *numbers);
    len = sort_unique_u64(copy, len);
    add_set(m, copy, len, width, m->arena == NULL ? copy : NULL);
}

void
mask_lend_set(struct mask *m, const uint64_t *numbers, size_t len,
              unsigned width)
{
    add_set(m, numbers, len, width, NULL);
}

/* -- one field ------------------------------------------------------------ */

/* The smallest number >= v that the field allows, in '*out'; false: none. */
static inline bool
field_from(const struct field *f, uint64_t v, uint64_t *out)
{
    if (v > f->hi)
        return false;
    if (v <= f->lo)
        *out = f->lo;
    else if (f->numbers != NULL) {
        size_t len = f->len;
        const uint64_t *numbers = f->numbers;

        /* The first of the ascending numbers that is >= v, which one of them
         * is. */
        while (len > 1) {
            size_t half = len / 2;

            numbers += numbers[half - 1] < v ? half : 0;
            len -= half;
        }
        *out = *numbers;
    } else if (f->step == 1) /* as most: spared a division */
        *out = v;
    else
        *out = v + (f->step - 1) - (v - f->lo - 1) % f->step;
    return true;
}

static inline bool
allows(const struct field *f, const uint8_t *key)
{
    uint64_t v = key_get_uint(key + f->at, f->width), from;

    return field_from(f, v, &from) && from == v;
}

/* Puts the smallest allowed value that is larger in its place, if any is. */
static bool
raise(const struct field *f, uint8_t *key)
{
    uint64_t v = key_get_uint(key + f->at, f->width);

    if (v == UINT64_MAX || !field_from(f, v + 1, &v))
        return false;
    key_put_uint(key + f->at, v, f->width);
    return true;
}

/* -- keys ----------------------------------------------------------------- */

/* Eight bytes at once. */
static inline bool
is_fixed_as(const struct mask *m, const uint8_t *key)
{
    uint64_t k, min, fixed;
    size_t at = 0;

    for (; at + 8 <= m->size; at += 8) {
        memcpy(&k, key + at, 8);
        memcpy(&min, m->min + at, 8);
        memcpy(&fixed, m->fixed + at, 8);
        if (((k ^ min) & fixed) != 0)
            return false;
    }
    for (; at < m->size; at++)
        if (((key[at] ^ m->min[at]) & m->fixed[at]) != 0)
            return false;
    return true;
}

bool
mask_match(const struct mask *m, struct slice key)
{
    OBJ_CHECK(m, MASK_MAGIC);
    if (key.size != m->size || m->never || !is_fixed_as(m, key.data))
        return false;
    for (size_t i = 0; i < m->chosen_len; i++)
        if (!allows(&m->fields[m->chosen[i]], key.data))
            return false;
    return true;
}

size_t
mask_hint(const struct mask *m, struct slice key, uint8_t *out)
{
    size_t n, i = 0, end;

    OBJ_CHECK(m, MASK_MAGIC);
    n = key.size < m->size ? key.size : m->size;
    if (m->never)
        return 0;
    /* A shorter key is as good as one that ends in zeros: nothing of our size
     * lies between the two. */
    if (n > 0)
        memcpy(out, key.data, n);
    if (n < m->size)
        memset(out + n, 0, m->size - n);
    while (i < m->len && allows(&m->fields[i], out))
        i++;
    /* A longer key sorts behind its beginning, so that must grow. */
    if (i == m->len && key.size <= m->size)
        return m->size;
    i = i == m->len ? i : i + 1;
    do {
        if (i-- == 0)
            return 0;
    } while (!raise(&m->fields[i], out));
    end = m->fields[i].at + m->fields[i].width;
    memcpy(out + end, m->min + end, m->size - end);
    return m->size;
}

/* -- several masks -------------------------------------------------------- */

struct mask_set *
mask_set_new(void)
{
    struct mask_set *s = mem_new(sizeof *s);

    s->magic = MASK_SET_MAGIC;
    return s;
}

struct mask_set *
mask_set_new_in(struct arena *a)
{
    struct mask_set *s = arena_array(a, 1, sizeof *s);

    if (s == NULL)
        return NULL;
    s->magic = MASK_SET_MAGIC;
    s->arena = a;
    return s;
}

bool
mask_set_failed(const struct mask_set *s)
{
    OBJ_CHECK(s, MASK_SET_MAGIC);
    return s->failed;
}

void
mask_set_give(struct mask_set *s, struct mask **m)
{
    struct mask **masks;

    OBJ_CHECK(s, MASK_SET_MAGIC);
    if (*m == NULL || (*m)->failed) {
        s->failed = true;
        mask_free(m);
        return;
    }
    OBJ_CHECK(*m, MASK_MAGIC);
    INSIST((*m)->size > 0);
    masks = s->arena == NULL
                ? mem_grow(s->masks, s->len, &s->cap, sizeof(struct mask *))
                : arena_grow(s->arena, s->masks, s->len, &s->cap,
                             sizeof(struct mask *));
    if (masks == NULL) {
        s->failed = true;
        mask_free(m);
        return;
    }
    s->masks = masks;
    s->masks[s->len++] = *m;
    *m = NULL;
}

void
mask_set_free(struct mask_set **s)
{
    struct mask_set *old = OBJ_TAKE(s, MASK_SET_MAGIC);

    if (old == NULL)
        return;
    for (size_t i = 0; i < old->len; i++)
        mask_free(&old->masks[i]);
    if (old->arena != NULL) {
        OBJ_CLEAR(old);
        return;
    }
    free(old->masks);
    OBJ_FREE(old);
}

bool
mask_set_match(const struct mask_set *s, struct slice key)
{
    OBJ_CHECK(s, MASK_SET_MAGIC);
    for (size_t i = 0; i < s->len; i++)
        if (mask_match(s->masks[i], key))
            return true;
    return false;
}

size_t
mask_set_hint(const struct mask_set *s, struct slice key, uint8_t *out)
{
    uint8_t hint[ROW_KEY_MAX];
    struct slice best = { out, 0 };

    OBJ_CHECK(s, MASK_SET_MAGIC);
    for (size_t i = 0; i < s->len; i++) {
        size_t size = mask_hint(s->masks[i], key, hint);

        if (size == 0 ||
            (best.size > 0 && slice_cmp(slice_of(hint, size), best) >= 0))
            continue;
        memcpy(out, hint, size);
        best.size = size;
    }
    return best.size;
}

/* -- as bytes -------------------------------------------------------------- */

/* A set is { masks { fields, never { width, lo, hi, step, len, numbers } } },
 * all varints; len 0: it has no set, and lo, hi and step count.  Numbers are
 * the differences to those before them. */

static void
write_field(const struct field *f, struct buf *out)
{
    uint64_t last = 0;

    buf_put_varint(out, f->width);
    buf_put_varint(out, f->len);
    if (f->len == 0) {
        buf_put_varint(out, f->lo);
        buf_put_varint(out, f->hi);
        buf_put_varint(out, f->step);
    }
    for (size_t i = 0; i < f->len; i++) {
        buf_put_varint(out, f->numbers[i] - last);
        last = f->numbers[i];
    }
}

void
mask_set_write(const struct mask_set *s, struct buf *out)
{
    OBJ_CHECK(s, MASK_SET_MAGIC);
    buf_put_varint(out, s->len);
    for (size_t i = 0; i < s->len; i++) {
        const struct mask *m = s->masks[i];

        buf_put_varint(out, m->len);
        buf_put_varint(out, m->never);
        for (size_t k = 0; k < m->len; k++)
            write_field(&m->fields[k], out);
    }
}

/* A number takes a byte at least, which bounds the memory for them. */
static void
read_numbers(struct cursor *c, struct mask *m, size_t len, unsigned width)
{
    uint64_t *numbers = mem_new_array(len, sizeof *numbers);
    uint64_t last = 0;

    for (size_t i = 0; i < len; i++) {
        uint64_t more = cursor_varint(c);

        if (more > largest(width) - last || (more == 0 && i > 0))
            c->failed = true;
        if (c->failed)
            break;
        last += more;
        numbers[i] = last;
    }
    if (!c->failed)
        mask_add_set(m, numbers, len, width);
    free(numbers);
}

static void
read_field(struct cursor *c, struct mask *m)
{
    uint64_t width = cursor_varint(c), len = cursor_varint(c);
    uint64_t lo, hi, step;

    if (c->failed || width < 1 || width > 8 || m->size + width > ROW_KEY_MAX ||
        len > cursor_left(c)) {
        c->failed = true;
        return;
    }
    if (len > 0) {
        read_numbers(c, m, (size_t)len, (unsigned)width);
        return;
    }
    lo = cursor_varint(c);
    hi = cursor_varint(c);
    step = cursor_varint(c);
    if (lo > hi || hi > largest((unsigned)width) || step == 0)
        c->failed = true;
    if (!c->failed)
        mask_add_steps(m, lo, hi, step, (unsigned)width);
}

static struct mask *
read_mask(struct cursor *c)
{
    struct mask *m = mask_new();
    uint64_t fields = cursor_varint(c), never = cursor_varint(c);

    if (fields == 0 || fields > ROW_KEY_MAX || never > 1)
        c->failed = true;
    for (uint64_t i = 0; i < fields && !c->failed; i++)
        read_field(c, m);
    m->never = never == 1;
    if (c->failed)
        mask_free(&m);
    return m;
}

struct mask_set *
mask_set_read(struct cursor *c, size_t *left)
{
    struct mask_set *s = mask_set_new();
    uint64_t len = cursor_varint(c);

    if (len > *left)
        c->failed = true;
    else
        *left -= (size_t)len;
    for (uint64_t i = 0; i < len && !c->failed; i++) {
        struct mask *m = read_mask(c);

        if (m != NULL)
            mask_set_give(s, &m);
    }
    if (c->failed)
        mask_set_free(&s);
    return s;
}
