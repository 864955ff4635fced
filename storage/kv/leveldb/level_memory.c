/* See storage/kv/leveldb/level_memory.h. */
#include "storage/kv/leveldb/level_memory.h"

#include <dlfcn.h>
#include <stddef.h>
#include <unistd.h>

/* C++'s std::set_new_handler(), as the compilers of Linux name it. */
#define SET_NEW_HANDLER "_ZSt15set_new_handlerPFvvE"
#define NO_MEMORY_US    10000

typedef void new_handler(void);

/* C++ calls it when an allocation fails, and then tries again. */
static void
wait_for_memory(void)
{
    (void)usleep(NO_MEMORY_US);
}

void
level_memory_wait(void)
{
    union {
        void *found;
        new_handler *(*set)(new_handler *);
    } f = { .found = dlsym(RTLD_DEFAULT, SET_NEW_HANDLER) };

    if (f.found != NULL)
        (void)f.set(wait_for_memory);
}
