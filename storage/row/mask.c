/* A mask answers with two walks over its fields.
 *
 * The hint goes from left to right as long as the key's own bytes are allowed.
 * At the first field where they are not, one of two things holds:
 *
 *     a larger value is allowed there: take the smallest such one;
 *     none is: go back left to the first field that can still grow, grow it.
 *
 * All fields behind the one that grew get their smallest values, which lie
 * ready in 'min'.  Nothing is allocated, and a set costs one binary search. */
#include "config.h"

#include "storage/row/mask.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/obj.h"
#include "storage/row/key.h"

#define MASK_MAGIC     FOURCC('M', 'A', 'S', 'K')
#define MASK_SET_MAGIC FOURCC('M', 'S', 'E', 'T')

enum kind {
    FIELD_FIXED,   /* 'bytes' */
    FIELD_ANY,     /* nothing; those behind it are looked at one by one */
    FIELD_STEPS,   /* 'lo', 'hi', 'step'; (hi - lo) % step is 0 */
    FIELD_NUMBERS, /* 'numbers', a set */
};

struct field {
    enum kind kind;
    size_t at; /* offset in the key */
    size_t width;
    uint64_t lo, hi, step;
    uint8_t *bytes;
    uint64_t *numbers; /* ascending, no value twice */
    size_t len;        /* of them */
};

struct mask {
    uint32_t magic;
    bool never; /* some field allows nothing */
    bool like;  /* it is one chunk, and borrows the rest from another mask */
    struct field *fields;
    size_t len, cap;
    uint8_t *min; /* the smallest key that matches, unless 'never' */
    size_t size;
    size_t bytes_cap; /* of 'min', 'care' and 'want' */
    /* Of what is fixed, all at once: the bits of a key that count, and what
     * they are.  Zeros follow, to whole words. */
    uint8_t *care, *want;
};

#define WORD sizeof(uint64_t)

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
    if (*m == NULL)
        return;
    OBJ_CHECK(*m, MASK_MAGIC);
    for (size_t i = 0; i < (*m)->len && !(*m)->like; i++) {
        free((*m)->fields[i].bytes);
        free((*m)->fields[i].numbers);
    }
    if (!(*m)->like) {
        free((*m)->fields);
        free((*m)->min);
        free((*m)->care);
        free((*m)->want);
    }
    OBJ_CLEAR(*m);
    free(*m);
    *m = NULL;
}

static size_t
plain_size(size_t size)
{
    return (size + WORD - 1) / WORD * WORD;
}

/* Room for another field, and zeros behind it to the end of a word. */
static void
make_room(struct mask *m, size_t width)
{
    if (m->len == m->cap) {
        m->cap = m->cap == 0 ? 24 : m->cap * 2;
        m->fields = mem_resize(m->fields, m->cap, sizeof *m->fields);
    }
    if (m->size + width + WORD > m->bytes_cap) {
        size_t old = m->bytes_cap, more;

        m->bytes_cap = m->size + width + (old < 96 ? 96 : old);
        more = m->bytes_cap - old;
        m->min = mem_resize(m->min, m->bytes_cap, 1);
        m->care = mem_resize(m->care, m->bytes_cap, 1);
        m->want = mem_resize(m->want, m->bytes_cap, 1);
        memset(m->care + old, 0, more);
        memset(m->want + old, 0, more);
    }
}

/* Adds the field 'f' at the end; 'min' is its smallest value, NULL for zeros.
 */
static void
add(struct mask *m, struct field f, const uint8_t *min)
{
    OBJ_CHECK(m, MASK_MAGIC);
    INSIST(f.width > 0);
    f.at = m->size;
    make_room(m, f.width);
    m->fields[m->len++] = f;
    /* Its part of what is compared by words. */
    if (f.kind == FIELD_FIXED) {
        memset(m->care + m->size, 0xff, f.width);
        memcpy(m->want + m->size, f.bytes, f.width);
    }
    if (min == NULL)
        memset(m->min + m->size, 0, f.width);
    else
        memcpy(m->min + m->size, min, f.width);
    m->size += f.width;
}

static uint8_t *
copy(const uint8_t *bytes, size_t size)
{
    return (uint8_t *)mem_strndup(bytes, size);
}

void
mask_add_fixed(struct mask *m, struct slice bytes)
{
    struct field f = { .kind = FIELD_FIXED, .width = bytes.size };

    if (bytes.size == 0)
        return;
    f.bytes = copy(bytes.data, bytes.size);
    add(m, f, f.bytes);
}

void
mask_add_any(struct mask *m, size_t width)
{
    if (width > 0)
        add(m, (struct field){ .kind = FIELD_ANY, .width = width }, NULL);
}

void
mask_add_steps(struct mask *m, uint64_t lo, uint64_t hi, uint64_t step,
               unsigned width)
{
    struct field f = { .kind = FIELD_STEPS, .width = width };
    uint8_t min[8] = { 0 };
    uint64_t max;

    INSIST(width >= 1 && width <= 8 && step >= 1);
    max = UINT64_MAX >> (64 - 8 * width);
    if (hi > max)
        hi = max;
    if (lo > hi) {
        m->never = true;
        lo = hi;
    }
    f.lo = lo;
    f.hi = lo + (hi - lo) / step * step;
    f.step = step;
    key_put_uint(min, lo, width);
    add(m, f, min);
}

static int
compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void
fill_numbers(struct field *f, const uint8_t *values, size_t len)
{
    bool ascends = true;

    f->kind = FIELD_NUMBERS;
    f->numbers = mem_new_array(len, sizeof *f->numbers);
    for (size_t i = 0; i < len; i++) {
        f->numbers[i] = key_get_uint(values + i * f->width, (unsigned)f->width);
        ascends &= i == 0 || f->numbers[i - 1] < f->numbers[i];
    }
    f->len = len;
    if (ascends)
        return;
    qsort(f->numbers, len, sizeof *f->numbers, compare_numbers);
    f->len = 1;
    for (size_t i = 1; i < len; i++)
        if (f->numbers[i] != f->numbers[f->len - 1])
            f->numbers[f->len++] = f->numbers[i];
}

void
mask_add_set(struct mask *m, const uint8_t *values, size_t len, size_t width)
{
    struct field f = { .kind = FIELD_ANY, .width = width };
    uint8_t min[8] = { 0 };

    INSIST(width >= 1 && width <= 8);
    m->never |= len == 0;
    if (len > 0) {
        fill_numbers(&f, values, len);
        key_put_uint(min, f.numbers[0], (unsigned)width);
    }
    add(m, f, min);
}

size_t
mask_key_size(const struct mask *m)
{
    OBJ_CHECK(m, MASK_MAGIC);
    return m->size;
}

/* -- one field ------------------------------------------------------------ */

/* The first of the ascending numbers that is >= v; 'len' when there is none. */
static size_t
find_number(const uint64_t *numbers, size_t len, uint64_t v)
{
    const uint64_t *at = numbers;

    while (len > 1) {
        size_t half = len / 2;

        at += at[half - 1] < v ? half : 0;
        len -= half;
    }
    return (size_t)(at - numbers) + (len == 1 && *at < v);
}

static bool
allows(const struct field *f, const uint8_t *v)
{
    uint64_t n;
    size_t i;

    switch (f->kind) {
    case FIELD_FIXED:
        return memcmp(v, f->bytes, f->width) == 0;
    case FIELD_ANY:
        return true;
    case FIELD_STEPS:
        n = key_get_uint(v, (unsigned)f->width);
        return n >= f->lo && n <= f->hi && (n - f->lo) % f->step == 0;
    case FIELD_NUMBERS:
        n = key_get_uint(v, (unsigned)f->width);
        i = find_number(f->numbers, f->len, n);
        return i < f->len && f->numbers[i] == n;
    }
    return false;
}

/* v + 1; false when it is all 0xff. */
static bool
add_one(uint8_t *v, size_t width)
{
    while (width-- > 0)
        if (++v[width] != 0)
            return true;
    return false;
}

static bool
raise_steps(const struct field *f, uint8_t *v)
{
    uint64_t n = key_get_uint(v, (unsigned)f->width);

    if (n >= f->hi)
        return false;
    n = n < f->lo ? f->lo : n + f->step - (n - f->lo) % f->step;
    key_put_uint(v, n, (unsigned)f->width);
    return true;
}

static bool
raise_numbers(const struct field *f, uint8_t *v)
{
    uint64_t n = key_get_uint(v, (unsigned)f->width);
    size_t i =
        n == UINT64_MAX ? f->len : find_number(f->numbers, f->len, n + 1);

    if (i == f->len)
        return false;
    key_put_uint(v, f->numbers[i], (unsigned)f->width);
    return true;
}

/* Puts the smallest allowed value > v in its place; false: there is none, and
 * v is not what it was. */
static bool
raise(const struct field *f, uint8_t *v)
{
    switch (f->kind) {
    case FIELD_FIXED:
        if (memcmp(v, f->bytes, f->width) >= 0)
            return false;
        memcpy(v, f->bytes, f->width);
        return true;
    case FIELD_ANY:
        return add_one(v, f->width);
    case FIELD_STEPS:
        return raise_steps(f, v);
    case FIELD_NUMBERS:
        return raise_numbers(f, v);
    }
    return false;
}

/* -- keys ----------------------------------------------------------------- */

/* Are the key's fixed bytes what they must be? */
static bool
plain_match(const struct mask *m, const uint8_t *key)
{
    uint64_t k, care, want, wrong = 0;
    size_t i = 0;

    for (; m->size - i >= WORD; i += WORD) {
        memcpy(&k, key + i, WORD);
        memcpy(&care, m->care + i, WORD);
        memcpy(&want, m->want + i, WORD);
        wrong |= (k & care) ^ want;
    }
    for (; i < m->size; i++)
        wrong |= (key[i] & m->care[i]) ^ m->want[i];
    return wrong == 0;
}

bool
mask_match(const struct mask *m, struct slice key)
{
    OBJ_CHECK(m, MASK_MAGIC);
    if (key.size != m->size || m->never || !plain_match(m, key.data))
        return false;
    for (size_t i = 0; i < m->len; i++)
        if (m->fields[i].kind > FIELD_ANY &&
            !allows(&m->fields[i], key.data + m->fields[i].at))
            return false;
    return true;
}

bool
mask_hint(const struct mask *m, struct slice key, uint8_t *out)
{
    size_t n, i = 0, end;

    OBJ_CHECK(m, MASK_MAGIC);
    n = key.size < m->size ? key.size : m->size;
    if (m->never)
        return false;
    /* A shorter key is as good as one that ends in zeros: nothing of our size
     * lies between the two. */
    if (n > 0)
        memcpy(out, key.data, n);
    if (n < m->size)
        memset(out + n, 0, m->size - n);
    while (i < m->len && allows(&m->fields[i], out + m->fields[i].at))
        i++;
    /* A longer key sorts behind its beginning, so that must grow. */
    if (i == m->len && key.size <= m->size)
        return true;
    i = i == m->len ? i : i + 1;
    for (;;) {
        if (i == 0)
            return false;
        i--;
        if (raise(&m->fields[i], out + m->fields[i].at))
            break;
    }
    end = m->fields[i].at + m->fields[i].width;
    memcpy(out + end, m->min + end, m->size - end);
    return true;
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
    INSIST((*m)->size > 0 && (*m)->size <= ROW_KEY_MAX);
    s->masks = mem_resize(s->masks, s->len + 1, sizeof(struct mask *));
    s->masks[s->len++] = *m;
    *m = NULL;
}

/* Copies into a chunk of memory that has room. */
static void *
move_in(uint8_t **at, const void *from, size_t size)
{
    uint8_t *to = *at;

    memcpy(to, from, size);
    *at += size;
    return to;
}

/* Fields, then what is of bytes. */
static struct mask *
mask_like(const struct mask *like, size_t at, uint8_t byte)
{
    size_t fields = like->len * sizeof *like->fields;
    size_t plain = plain_size(like->size);
    struct mask *m = mem_new(sizeof *m + fields + plain + 2 * like->size);
    uint8_t *end = (uint8_t *)(m + 1);

    *m = *like;
    m->like = true;
    m->fields = move_in(&end, like->fields, fields);
    m->want = move_in(&end, like->want, plain);
    m->min = move_in(&end, like->min, like->size);
    m->want[at] = m->min[at] = byte;
    for (size_t i = 0; i < m->len; i++) {
        struct field *f = &m->fields[i];

        if (at < f->at || at >= f->at + f->width)
            continue;
        INSIST(f->kind == FIELD_FIXED);
        f->bytes = move_in(&end, f->bytes, f->width);
        f->bytes[at - f->at] = byte;
    }
    return m;
}

struct mask_set *
mask_set_like(const struct mask_set *like, size_t at, uint8_t byte)
{
    struct mask_set *s = mask_set_new();

    OBJ_CHECK(like, MASK_SET_MAGIC);
    s->masks = mem_new_array(like->len, sizeof(struct mask *));
    for (; s->len < like->len; s->len++) {
        INSIST(at < like->masks[s->len]->size);
        s->masks[s->len] = mask_like(like->masks[s->len], at, byte);
    }
    return s;
}

void
mask_set_free(struct mask_set **s)
{
    if (*s == NULL)
        return;
    OBJ_CHECK(*s, MASK_SET_MAGIC);
    for (size_t i = 0; i < (*s)->len; i++)
        mask_free(&(*s)->masks[i]);
    free((*s)->masks);
    OBJ_CLEAR(*s);
    free(*s);
    *s = NULL;
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
        size_t size = s->masks[i]->size;

        if (!mask_hint(s->masks[i], key, hint) ||
            (best.size > 0 && slice_cmp(slice_of(hint, size), best) >= 0))
            continue;
        memcpy(out, hint, size);
        best.size = size;
    }
    return best.size;
}
