/* A growing byte buffer, with an optional cap.  Failures stick: once it could
 * not grow, 'failed' stays set, later appends do nothing, and the size stays
 * what it was, so a writer checks once, at its end.
 *
 * buf_cstr(), and buf_printf() of long texts, need room for a NUL within the
 * cap.
 *
 * Owns:    its bytes.  buf_slice() lends them until the next append.
 * Threads: owner. */
#pragma once

#include <stdarg.h>

#include "base/budget.h"
#include "base/error.h"
#include "base/slice.h"

/* Why a buffer failed. */
enum buf_fault {
    BUF_NO_MEMORY, /* the system had none; also: who set 'failed' by hand */
    BUF_TOO_LARGE, /* it would have grown past 'max' */
    BUF_NO_BUDGET, /* the budget had less than it needed */
};

struct buf {
    uint8_t *data;
    size_t size;
    size_t cap;
    size_t max;            /* never grows past this; 0: no limit */
    struct budget *budget; /* that 'cap' counts in, or NULL; referenced */
    uint32_t free_bytes;   /* a 'cap' up to this does not count there */
    bool failed;
    uint8_t fault; /* of enum buf_fault, when it failed */
};

#define BUF_INIT \
    {            \
        0        \
    }

void buf_init(struct buf *b, size_t max);
/* The buffer fails, too, when the budget has less than it needs. */
void buf_init_within(struct buf *b, size_t max, struct budget *budget);
/* Initialises a buffer that counts in the budget only while it is larger than
 * 'free_bytes', so that small answers work while large ones have exhausted the
 * budget. */
void buf_init_after(struct buf *b, size_t max, size_t free_bytes,
                    struct budget *budget);
/* Returns the bytes of the budget that the buffer holds. */
size_t buf_counted(const struct buf *b);
/* Frees the unused part of the buffer's memory, if that part is large. */
void buf_shrink(struct buf *b);
/* The buffer keeps its memory, but no longer counts it in its budget. */
void buf_leave_budget(struct buf *b);
void buf_fini(struct buf *b);

/* Size 0 and no failure; the memory is kept. */
void buf_clear(struct buf *b);

/* buf_reserve() when the bytes at hand do not do. */
uint8_t *buf_reserve_more(struct buf *b, size_t size);

/* Makes room for 'size' more bytes and returns where they go, or NULL. The
 * caller writes there and then adds what it wrote to b->size. */
static inline uint8_t *
buf_reserve(struct buf *b, size_t size)
{
    if (b->failed || b->data == NULL || size > b->cap - b->size)
        return buf_reserve_more(b, size);
    return b->data + b->size;
}

/* Room for 'size' bytes more, for certain: it waits for memory, as mem_new()
 * does.  For what is small and means something else when it is cut short, such
 * as a key; the buffer has no cap. */
void buf_make_room(struct buf *b, size_t size);

void buf_put(struct buf *b, const void *data, size_t size);
void buf_put_slice(struct buf *b, struct slice s);
void buf_put_str(struct buf *b, const char *s);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
void buf_vprintf(struct buf *b, const char *fmt, va_list args)
    PRINTF_LIKE(2, 0);

/* Big-endian. */
void buf_put_u8(struct buf *b, uint8_t v);
void buf_put_u16(struct buf *b, uint16_t v);
void buf_put_u32(struct buf *b, uint32_t v);
void buf_put_u64(struct buf *b, uint64_t v);
/* The low 'width' bytes of 'v', big-endian. */
void buf_put_uint(struct buf *b, uint64_t v, unsigned width);

/* Seven bits a byte, low first; the high bit says that more follow. */
void buf_put_varint(struct buf *b, uint64_t v);
/* Small magnitudes of either sign stay short: 0,-1,1,-2 become 0,1,2,3. */
void buf_put_zigzag(struct buf *b, int64_t v);
/* The size as a varint, then the bytes: cursor_sized() reads them. */
void buf_put_sized(struct buf *b, struct slice s);

static inline struct slice
buf_slice(const struct buf *b)
{
    return (struct slice){ b->data, b->size };
}

/* A NUL behind the bytes, not counted in the size; "" when it failed. */
const char *buf_cstr(struct buf *b);
