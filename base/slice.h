/* Borrowed bytes: a pointer and a size, owned by someone else.
 * Threads: a value, passed by value. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct slice {
    const uint8_t *data;
    size_t size;
};

/* A string literal, or any string that outlives the slice. */
static inline struct slice
slice_str(const char *s)
{
    return (struct slice){ (const uint8_t *)s, strlen(s) };
}

static inline struct slice
slice_of(const void *data, size_t size)
{
    return (struct slice){ (const uint8_t *)data, size };
}

/* <0, 0, >0 in the order of unsigned bytes; a prefix sorts first. */
static inline int
slice_cmp(struct slice a, struct slice b)
{
    size_t n = a.size < b.size ? a.size : b.size;
    int c = n == 0 ? 0 : memcmp(a.data, b.data, n);

    return c != 0 ? c : (a.size > b.size) - (a.size < b.size);
}

static inline bool
slice_eq(struct slice a, struct slice b)
{
    return a.size == b.size &&
           (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool
slice_eq_str(struct slice a, const char *s)
{
    return slice_eq(a, slice_str(s));
}

/* Letters of ASCII count in either case. */
static inline bool
slice_eq_nocase(struct slice a, struct slice b)
{
    for (size_t i = 0; i < a.size && i < b.size; i++) {
        uint8_t x = a.data[i] | 0x20;

        if (a.data[i] != b.data[i] &&
            (x != (b.data[i] | 0x20) || x < 'a' || x > 'z'))
            return false;
    }
    return a.size == b.size;
}

static inline bool
slice_starts(struct slice a, struct slice prefix)
{
    return a.size >= prefix.size &&
           (prefix.size == 0 || memcmp(a.data, prefix.data, prefix.size) == 0);
}

/* Cuts '*s' behind the first 'c', or at its end; returns what was before it. */
static inline struct slice
slice_cut(struct slice *s, char c)
{
    const uint8_t *at = s->size == 0 ? NULL : memchr(s->data, c, s->size);
    size_t size = at == NULL ? s->size : (size_t)(at - s->data);
    size_t skip = at == NULL ? size : size + 1;
    struct slice head = { s->data, size };

    if (skip > 0)
        *s = (struct slice){ s->data + skip, s->size - skip };
    return head;
}

/* Without the bytes 'c' at its beginning. */
static inline struct slice
slice_skip(struct slice s, char c)
{
    while (s.size > 0 && s.data[0] == (uint8_t)c)
        s = (struct slice){ s.data + 1, s.size - 1 };
    return s;
}

/* Without what C calls space at both ends. */
static inline struct slice
slice_trim(struct slice s)
{
    while (s.size > 0 && memchr(" \t\n\v\f\r", s.data[0], 6) != NULL)
        s = (struct slice){ s.data + 1, s.size - 1 };
    while (s.size > 0 && memchr(" \t\n\v\f\r", s.data[s.size - 1], 6) != NULL)
        s.size--;
    return s;
}

/* For qsort() of slices. */
static inline int
slice_compare(const void *a, const void *b)
{
    return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

/* Sorts them, each once; returns how many are left. */
static inline size_t
slices_sort_unique(struct slice *v, size_t len)
{
    size_t n = 0;

    if (len > 0)
        qsort(v, len, sizeof *v, slice_compare);
    for (size_t i = 0; i < len; i++)
        if (n == 0 || !slice_eq(v[n - 1], v[i]))
            v[n++] = v[i];
    return n;
}

/* Of slices in ascending order the one that is equal; NULL: none is. */
static inline const struct slice *
slices_find(const struct slice *v, size_t len, struct slice wanted)
{
    return len == 0 ? NULL : bsearch(&wanted, v, len, sizeof *v, slice_compare);
}

/* For "%.*s". */
#define SLICE_ARG(s) (int)(s).size, (const char *)(s).data
