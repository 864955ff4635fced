/* The insides of a block (docs/FORMAT.md, "Block"): its header, with the
 * block summary, and its columns, bottom to top:
 *
 *     coded     the high parts of numbers, by tables (block_coded_priv.h)
 *     numbers   unsigned 64-bit numbers, small ones short
 *     ints      signed 64-bit integers, as numbers: by difference, or by their
 *               distance to the smallest
 *     floats    doubles that are no decimals: by XOR, or as they are
 *               (block_columns.h)
 *
 * Encoders choose by what an estimate says is shortest.  They append to a buf,
 * whose failure sticks.  Decoders read what a cursor gives and fail it on
 * invalid bytes, or for want of memory (no_memory), after writing no more than
 * 'len' elements.
 *
 * Threads: any; functions of their arguments. */
#pragma once

#include "base/varint.h"
#include "storage/block/bits.h"
#include "storage/block/block.h"
#include "storage/block/block_columns.h"

#define BLOCK_VERSION 1
/* Instead of the version: how many zeros follow the block, as a varint, then
 * the block and they. */
#define BLOCK_PADDED 2
/* Of a row of several hours (row_value.h). */
#define ROW_OF_HOURS 3
/* The version of a block without a checksum: the row that has it has one. */
#define BLOCK_WITHOUT_CRC 4
/* The version of a block that is all of a row; of how many hours follows. */
#define BLOCK_OF_ROW 5
/* Instead of a block of an hour in a row's value: the block is stored in a part
 * of the row (storage/block/row_parts.h).  Nothing follows. */
#define BLOCK_ELSEWHERE 6
#define BLOCK_MIN_SIZE  6 /* without BLOCK_CRC_SIZE */

enum block_flag {
    FLAG_UNIT = 0x03,      /* times are in 1, 10, 100 or 1000 ms */
    FLAG_IRREGULAR = 0x04, /* a column of times follows */
    FLAG_KINDS = 0x18,     /* KINDS_... */
    KINDS_INT = 0x00,
    KINDS_FLOAT = 0x08,
    KINDS_MIXED = 0x10,
    FLAG_CONSTANT = 0x20, /* all values are the first: no column */
    FLAG_PLAIN = 0x40,    /* the block summary is of doubles, 8 bytes each */
    FLAG_UNKNOWN = 0x80,
};

enum block_scale {
    SCALE_DIGITS = 0x7f,     /* decimals: values are integers / 10^this */
    SCALE_EXCEPTIONS = 0x80, /* but for some, which are written out */
    SCALE_NONE = 0xff,       /* no decimals */
};

/* What stands in front of the columns, and what follows from it. */
struct block_header {
    uint8_t version;
    uint8_t hours; /* that it is of */
    uint8_t flags;
    uint8_t scale; /* 0 where all are integers */
    uint32_t count;
    uint64_t first, span; /* the first time, and the last less it, in units */
    /* The block summary of the column that is written: the integers, or
     * decimals before division.  Not set with FLAG_PLAIN. */
    int64_t v_first, v_last, v_min, v_max, v_sum;
    struct summary summary;
};

void block_header_put(const struct block_header *h, struct buf *out);

/* Checks and takes off the CRC, reads the header.  The cursor stands at the
 * columns afterwards, and ends where they must end. */
MUST_CHECK enum status block_header_get(struct slice block, uint32_t base,
                                        struct cursor *c,
                                        struct block_header *h,
                                        struct error *e);

/* Takes padding off. */
void block_unpad(struct slice *block);

static inline int64_t
block_unit_ms(const struct block_header *h)
{
    static const int64_t units[] = { 1, 10, 100, 1000 };

    return units[h->flags & FLAG_UNIT];
}

static inline unsigned
block_kinds(const struct block_header *h)
{
    return h->flags & FLAG_KINDS;
}

/* The values are integers in one column, as they are or as decimals. */
static inline bool
block_is_whole(const struct block_header *h)
{
    return block_kinds(h) == KINDS_INT || h->scale != SCALE_NONE;
}

/* -- columns -------------------------------------------------------------- */

/* How a column of numbers is written; the byte in front of it is 'codec', with
 * the parameter in its low bits. */
enum numbers_codec {
    NUMBERS_EQUAL = 0x00,  /* all the same */
    NUMBERS_SPARSE = 0x01, /* few that are not 0: where, and what */
    NUMBERS_PACKED = 0x40, /* | width - 1 */
    NUMBERS_RICE = 0x80,   /* | how many low bits are written as they are */
    NUMBERS_CODED = 0xc0,  /* | the same, then <table:1> */
    NUMBERS_MASK = 0xc0,
};

struct numbers_plan {
    enum numbers_codec codec;
    unsigned parameter;
    uint64_t bits;  /* about so many */
    unsigned table; /* with NUMBERS_CODED */
};

struct numbers_plan block_numbers_plan(const uint64_t *u, size_t len);
/* Coded, if that is shorter. */
struct numbers_plan block_numbers_best(const uint64_t *u, size_t len,
                                       struct numbers_plan plan);

/* Destroys the numbers. */
void block_numbers_encode(uint64_t *u, size_t len, struct numbers_plan plan,
                          struct buf *out);
void block_numbers_decode(struct cursor *c, uint64_t *out, size_t len);

/* What follows the bytes of codec and table. */
void block_coded_encode(const uint64_t *u, size_t len, struct numbers_plan plan,
                        struct buf *out);
void block_coded_decode(struct cursor *c, uint64_t *out, size_t len,
                        unsigned low, unsigned table);
/* Without low bits; the numbers are steps, zigzag, and where they lead to from
 * 'start' on comes out. */
void block_coded_decode_steps(struct cursor *c, uint64_t *out, size_t len,
                              unsigned table, uint64_t start);

/* -- inner loops of decoding ----------------------------------------------- */

/* A function with it is compiled for x86 with AVX2 and BMI2, as all have since
 * 2015, and may run where block_has_avx2(). */
#if defined(__x86_64__)
#define BLOCK_AVX2 __attribute__((__target__("avx2,bmi,bmi2,popcnt")))
#else
#define BLOCK_AVX2
#endif
bool block_has_avx2(void);

/* Ones among bits: how many, where the last one ends, and all distances, one
 * over the other. */
struct ones {
    size_t found;
    uint64_t end, seen;
};

struct block_loops {
    /* How many zeros stand before each one, of 'len' ones if there are. */
    struct ones (*ones)(const uint8_t *p, size_t size, uint64_t *out,
                        size_t len);
    /* What is in 'out' moves up by 'width' (1..56) bits, and the packed numbers
     * go below: those for which eight bytes can be loaded.  Returns how many.
     */
    size_t (*below)(const uint8_t *p, size_t size, uint64_t *out, size_t len,
                    unsigned width);
    /* From the second on 'v' has steps less 'reference', zigzag if 'folded':
     * becomes where they lead to from the first, but the first 'skip' become
     * anything. */
    void (*sum)(uint64_t *v, size_t len, size_t skip, uint64_t reference,
                bool folded);
    /* Integers become doubles, divided by 'power'; false: one is larger than
     * DECIMAL_MAX. */
    bool (*divide)(union number *v, size_t len, double power);
};

/* Those that suit this processor, and their twins for any. */
const struct block_loops *block_loops(void);
extern const struct block_loops block_loops_plain;

/* -- columns of integers --------------------------------------------------- */

/* What both sides know of a column of integers from elsewhere. */
struct ints_known {
    int64_t first; /* the first of the column */
    int64_t min;   /* not larger than any, best the smallest */
    size_t skip;   /* so many are not wanted: they may come out as anything */
};

/* 'scratch' has room for 'len' numbers. */
void block_ints_encode(const int64_t *v, size_t len, struct ints_known known,
                       uint64_t *scratch, struct buf *out);
void block_ints_decode(struct cursor *c, int64_t *out, size_t len,
                       struct ints_known known);

/* -- decimals -------------------------------------------------------------- */

/* Added and taken off again, it leaves the nearest integer, up to 2^51. */
#define DECIMAL_NEAREST 0x1.8p52

/* The scale that suits most doubles; false when too many have none. */
bool block_decimal_scale(const struct points *p, unsigned *scale);
