#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/obj.h"
#include "base/varint.h"

void
buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){ .max = max };
}

void
buf_init_within(struct buf *b, size_t max, struct budget *budget)
{
    *b = (struct buf){ .max = max, .budget = budget_ref(budget) };
}

void
buf_init_after(struct buf *b, size_t max, size_t free_bytes,
               struct budget *budget)
{
    buf_init_within(b, max, budget);
    b->free_bytes = (uint32_t)free_bytes;
}

static size_t
counted(const struct buf *b, size_t cap)
{
    return cap <= b->free_bytes ? 0 : cap;
}

size_t
buf_counted(const struct buf *b)
{
    return b->budget == NULL ? 0 : counted(b, b->cap);
}

void
buf_leave_budget(struct buf *b)
{
    budget_return(b->budget, counted(b, b->cap));
    budget_unref(&b->budget);
}

void
buf_fini(struct buf *b)
{
    free(b->data);
    buf_leave_budget(b);
    *b = (struct buf){ .max = b->max };
}

void
buf_clear(struct buf *b)
{
    b->size = 0;
    b->failed = false;
}

static bool
buf_fail(struct buf *b, enum buf_fault why)
{
    b->failed = true;
    b->fault = (uint8_t)why;
    return false;
}

static bool
resize(struct buf *b, size_t cap)
{
    size_t from = counted(b, b->cap), to = counted(b, cap);
    uint8_t *p;

    if (to > from && !budget_take(b->budget, to - from))
        return buf_fail(b, BUF_NO_BUDGET);
    p = mem_try_resize(b->data, cap);
    if (p == NULL) {
        if (to > from)
            budget_return(b->budget, to - from);
        return buf_fail(b, BUF_NO_MEMORY);
    }
    if (to < from)
        budget_return(b->budget, from - to);
    b->data = p;
    b->cap = cap;
    return true;
}

static bool
grow(struct buf *b, size_t need)
{
    size_t cap = b->cap < 64 ? 64 : b->cap;

    if (b->max != 0 && need > b->max)
        return buf_fail(b, BUF_TOO_LARGE);
    while (cap < need)
        if (__builtin_mul_overflow(cap, 2, &cap))
            return buf_fail(b, BUF_TOO_LARGE);
    if (b->max != 0 && cap > b->max)
        cap = b->max;
    if (resize(b, cap))
        return true;
    if (b->fault == BUF_NO_MEMORY)
        return false;
    /* The budget may have what is needed, if not twice as much. */
    b->failed = false;
    return resize(b, need + (cap - need) / 8);
}

/* A quarter more than needed is not worth a copy. */
void
buf_shrink(struct buf *b)
{
    struct buf before = *b;

    if (b->size == 0 || b->cap <= 4096 || b->cap / 5 * 4 <= b->size)
        return;
    if (!resize(b, b->size)) {
        b->failed = before.failed;
        b->fault = before.fault;
    }
}

uint8_t *
buf_reserve_more(struct buf *b, size_t size)
{
    size_t need;

    if (b->failed)
        return NULL;
    if (__builtin_add_overflow(b->size, size, &need))
        (void)buf_fail(b, BUF_TOO_LARGE);
    else if ((need <= b->cap && b->data != NULL) || grow(b, need))
        return b->data + b->size;
    return NULL;
}

void
buf_make_room(struct buf *b, size_t size)
{
    INSIST(b->max == 0 && b->budget == NULL && !b->failed);
    if (b->data != NULL && size <= b->cap - b->size)
        return;
    b->data = (uint8_t *)mem_resize(b->data, b->size + size, 1);
    b->cap = b->size + size;
}

void
buf_put(struct buf *b, const void *data, size_t size)
{
    uint8_t *p;

    if (size == 0)
        return;
    p = buf_reserve(b, size);
    if (p != NULL) {
        memcpy(p, data, size);
        b->size += size;
    }
}

void
buf_put_slice(struct buf *b, struct slice s)
{
    buf_put(b, s.data, s.size);
}

void
buf_put_str(struct buf *b, const char *s)
{
    buf_put(b, s, strlen(s));
}

/* A NUL follows the text, not counted, where the cap leaves room for it. */
void
buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    buf_vprintf(b, fmt, ap);
    va_end(ap);
}

void
buf_vprintf(struct buf *b, const char *fmt, va_list args)
{
    char small[256];
    va_list ap;
    size_t size, nul = 1;
    int n;
    uint8_t *p;

    va_copy(ap, args);
    n = vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    if (n < 0) {
        b->failed = true;
        return;
    }
    size = (size_t)n;
    if (size < sizeof small && b->max != 0 && size == b->max - b->size)
        nul = 0;
    p = buf_reserve(b, size + nul);
    if (p == NULL)
        return;
    if (size < sizeof small)
        memcpy(p, small, size + nul);
    else
        (void)vsnprintf((char *)p, size + 1, fmt, args);
    b->size += size;
}

void
buf_put_u8(struct buf *b, uint8_t v)
{
    buf_put(b, &v, 1);
}

void
buf_put_u16(struct buf *b, uint16_t v)
{
    buf_put_uint(b, v, 2);
}

void
buf_put_u32(struct buf *b, uint32_t v)
{
    buf_put_uint(b, v, 4);
}

void
buf_put_u64(struct buf *b, uint64_t v)
{
    buf_put_uint(b, v, 8);
}

void
buf_put_uint(struct buf *b, uint64_t v, unsigned width)
{
    uint8_t *p = buf_reserve(b, width);

    if (p == NULL)
        return;
    for (unsigned i = 0; i < width; i++)
        p[i] = (uint8_t)(v >> (8 * (width - 1 - i)));
    b->size += width;
}

void
buf_put_varint(struct buf *b, uint64_t v)
{
    uint8_t bytes[VARINT_MAX];

    buf_put(b, bytes, (size_t)(varint_put(bytes, v) - bytes));
}

void
buf_put_zigzag(struct buf *b, int64_t v)
{
    buf_put_varint(b, varint_zigzag(v));
}

void
buf_put_sized(struct buf *b, struct slice s)
{
    buf_put_varint(b, s.size);
    buf_put_slice(b, s);
}

const char *
buf_cstr(struct buf *b)
{
    uint8_t *p = buf_reserve(b, 1);

    if (p == NULL)
        return "";
    *p = '\0';
    return (const char *)b->data;
}
