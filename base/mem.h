/* Small fixed allocations.  When there is no memory they wait, ten seconds at
 * most, for what requests hold and give back, and then abort: no honest
 * recovery exists.  What a client can make large comes from an arena or a buf.
 *
 * Threads: any. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* For a program that answers request after request: what free() gets is kept
 * for the next one, up to 32 MB a heap, instead of going to the kernel and
 * coming back as zeroed pages.  A process that may use less than 4 GB, 'limit'
 * bytes, keeps less and has fewer heaps.  Once, before there are threads. */
void mem_keep_freed(uint64_t limit);
/* What is kept goes to the kernel. */
void mem_give_back(void);

/* Zeroed; the caller free()s it. */
void *mem_new(size_t size) __attribute__((__malloc__, __returns_nonnull__));

/* Zeroed array of 'len' elements; aborts too when the product overflows. */
void *mem_new_array(size_t len, size_t size)
    __attribute__((__malloc__, __returns_nonnull__));

/* As realloc(); the added bytes are not set. */
void *mem_resize(void *p, size_t len, size_t size)
    __attribute__((__returns_nonnull__));

/* malloc(), calloc(), realloc(): they do not wait. */
void *mem_try(size_t size) __attribute__((__malloc__));
void *mem_try_array(size_t len, size_t size) __attribute__((__malloc__));
void *mem_try_resize(void *p, size_t size);

/* How often one of these had no memory since the process began: while this
 * changes, what else fails may have failed for that reason.  Who allocates
 * otherwise notes it. */
unsigned long mem_failures(void);
void mem_note_failure(void);

/* Room for one more element behind 'len' of them: the array itself, or
 * mem_resize() to twice as much. */
void *mem_grow(void *array, size_t len, size_t *cap, size_t size)
    __attribute__((__returns_nonnull__));

char *mem_strdup(const char *s) __attribute__((__malloc__));

/* 'size' bytes and a NUL behind them; of none 's' may be NULL. */
char *mem_strndup(const void *s, size_t size) __attribute__((__malloc__));
