/* A shared library that few runs need, loaded at first use: linked, it and the
 * libraries that it needs in turn take most of the time in which a command
 * starts.  One list of calls makes the struct of functions and the symbols:
 *
 *     #define LIBZ_CALLS(CALL) CALL(z, open) CALL(z, close)
 *
 *     struct libz {
 *         LIBZ_CALLS(LIBRARY_MEMBER)
 *     } libz;
 *     static struct library library = {
 *         .purpose = .., LIBRARY_CALLS(LIBZ_CALLS, libz)
 *     };
 *
 * after which z_open() is libz.open().
 *
 * Owns:    a library that was loaded is never unloaded.
 * Threads: any.
 * Fails:   ST_IO: it is not installed, or lacks a symbol. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

#define LIBRARY_FILES 2

#define LIBRARY_MEMBER(prefix, name) __typeof__(prefix##_##name) *name;
#define LIBRARY_SYMBOL(prefix, name) #prefix "_" #name,
/* Initialises the last three members that a user sets, at file scope. */
#define LIBRARY_CALLS(calls, to)                               \
    .symbols = (const char *const[]){ calls(LIBRARY_SYMBOL) }, \
    .functions = &(to), .len = sizeof(to) / sizeof(void *)

/* Static, zero but for what the user says. */
struct library {
    const char *purpose; /* begins the error: "a picture as PNG" */
    const char *package; /* Debian's, for the error */
    const char *file_names[LIBRARY_FILES]; /* the first that will do is taken */
    const char *const *symbols;
    void *functions; /* as many pointers to functions */
    size_t len;
    bool is_loaded; /* library_load() alone */
};

/* Loads it and fills 'functions', once a process; one that failed is tried
 * again. */
MUST_CHECK enum status library_load(struct library *l, struct error *e);

/* Gives the pages of the program and its libraries back, to be read again from
 * the page cache when they are needed: symbols, relocations and constructors
 * are needed at the start alone, and are half of what a server that has nothing
 * to do holds. */
void library_release_pages(void);
