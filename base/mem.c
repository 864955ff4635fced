/* See base/mem.h. */
#include "config.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#include "base/obj.h"

void *
mem_new(size_t size)
{
    return mem_new_array(1, size);
}

void *
mem_new_array(size_t len, size_t size)
{
    void *p = calloc(len == 0 ? 1 : len, size == 0 ? 1 : size);

    INSIST(p != NULL);
    return p;
}

void *
mem_resize(void *p, size_t len, size_t size)
{
    size_t bytes;
    void *q;

    INSIST(!__builtin_mul_overflow(len, size, &bytes));
    q = realloc(p, bytes == 0 ? 1 : bytes);
    INSIST(q != NULL);
    return q;
}

char *
mem_strdup(const char *s)
{
    return mem_strndup(s, strlen(s));
}

char *
mem_strndup(const void *s, size_t size)
{
    char *p = mem_new(size + 1);

    memcpy(p, s, size);
    return p;
}
