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
#include "storage/row/key.h"

#define MASK_MAGIC     FOURCC('M', 'A', 'S', 'K')
#define MASK_SET_MAGIC FOURCC('M', 'S', 'E', 'T')

struct field {
    size_t at; /* offset in the key */
    unsigned width;
    uint64_t lo, hi, step; /* (hi - lo) % step is 0 */
    uint64_t *numbers;     /* NULL, or a set: ascending, no value twice */
    size_t len;            /* of them */
};

struct mask {
    uint32_t magic;
    bool never; /* some field allows nothing */
    struct field *fields;
    size_t len, cap;
    uint8_t min[ROW_KEY_MAX]; /* the smallest match, unless 'never' */
    size_t size;
};

struct mask_set {
    uint32_t magic;
    struct mask **masks;
    size_t len;
};

/* -- building ------------------------------------------------------------- */

struct mask *
mask_new(void)
{
    struct mask *m = mem_new(sizeof *m);

    m->magic = MASK_MAGIC;
    return m;
}

void
mask_free(struct mask **m)
{
    struct mask *old = OBJ_TAKE(m, MASK_MAGIC);

    if (old == NULL)
        return;
    for (size_t i = 0; i < old->len; i++)
        free(old->fields[i].numbers);
    free(old->fields);
    OBJ_FREE(old);
}

static void
add(struct mask *m, struct field f)
{
    OBJ_CHECK(m, MASK_MAGIC);
    INSIST(m->size + f.width <= ROW_KEY_MAX);
    f.at = m->size;
    m->fields = mem_grow(m->fields, m->len, &m->cap, sizeof *m->fields);
    m->fields[m->len++] = f;
    key_put_uint(m->min + m->size, f.lo, f.width);
    m->size += f.width;
}

static uint64_t
largest(unsigned width)
{
    INSIST(width >= 1 && width <= 8);
    return UINT64_MAX >> (64 - 8 * width);
}

static unsigned
part(size_t size)
{
    return size < 8 ? (unsigned)size : 8;
}

void
mask_add_fixed(struct mask *m, struct slice bytes)
{
    for (size_t at = 0; at < bytes.size; at += 8) {
        unsigned width = part(bytes.size - at);
        uint64_t v = key_get_uint(bytes.data + at, width);

        mask_add_steps(m, v, v, 1, width);
    }
}

void
mask_add_any(struct mask *m, size_t width)
{
    for (size_t at = 0; at < width; at += 8)
        mask_add_steps(m, 0, UINT64_MAX, 1, part(width - at));
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

static int
compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

void
mask_add_set(struct mask *m, const uint64_t *numbers, size_t len,
             unsigned width)
{
    struct field f = { .width = width, .hi = largest(width), .step = 1 };
    bool ascends = true;

    if (len == 0) {
        m->never = true;
        add(m, f);
        return;
    }
    f.numbers = mem_new_array(len, sizeof *f.numbers);
    memcpy(f.numbers, numbers, len * sizeof *numbers);
    for (size_t i = 1; i < len; i++)
        ascends &= numbers[i - 1] < numbers[i];
    if (!ascends)
        qsort(f.numbers, len, sizeof *f.numbers, compare_numbers);
    for (size_t i = 0; i < len; i++)
        if (i == 0 || f.numbers[i] != f.numbers[f.len - 1])
            f.numbers[f.len++] = f.numbers[i];
    f.lo = f.numbers[0];
    f.hi = f.numbers[f.len - 1];
    add(m, f);
}

/* -- one field ------------------------------------------------------------ */

/* The first of the ascending numbers that is >= v, which one of them is. */
static uint64_t
find_number(const uint64_t *numbers, size_t len, uint64_t v)
{
    while (len > 1) {
        size_t half = len / 2;

        numbers += numbers[half - 1] < v ? half : 0;
        len -= half;
    }
    return *numbers;
}

/* The smallest number >= v that the field allows, in '*out'; false: none. */
static inline bool
field_from(const struct field *f, uint64_t v, uint64_t *out)
{
    if (v > f->hi)
        return false;
    if (v <= f->lo)
        *out = f->lo;
    else if (f->numbers != NULL)
        *out = find_number(f->numbers, f->len, v);
    else if (f->step == 1) /* as most: spared a division */
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

bool
mask_match(const struct mask *m, struct slice key)
{
    OBJ_CHECK(m, MASK_MAGIC);
    if (key.size != m->size || m->never)
        return false;
    for (size_t i = 0; i < m->len; i++)
        if (!allows(&m->fields[i], key.data))
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

void
mask_set_give(struct mask_set *s, struct mask **m)
{
    OBJ_CHECK(s, MASK_SET_MAGIC);
    OBJ_CHECK(*m, MASK_MAGIC);
    INSIST((*m)->size > 0);
    s->masks = mem_resize(s->masks, s->len + 1, sizeof(struct mask *));
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
