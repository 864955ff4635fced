/* LevelDB is C++, where a failed allocation is an exception, which would end
 * the process in the middle of something: it waits instead until requests have
 * given memory back. */
#include "config.h"

#include "storage/kv_priv.h"

#include <dlfcn.h>
#include <unistd.h>

/* C++'s std::set_new_handler(), as the compilers of Linux name it. */
#define SET_NEW_HANDLER "_ZSt15set_new_handlerPFvvE"
#define NO_MEMORY_US    10000

typedef void new_handler(void);

/* Called when there is no memory; then it is tried again. */
static void
wait_for_memory(void)
{
    (void)usleep(NO_MEMORY_US);
}

void
kv_make_patient(void)
{
    union {
        void *found;
        new_handler *(*set)(new_handler *);
    } f = { .found = dlsym(RTLD_DEFAULT, SET_NEW_HANDLER) };

    if (f.found != NULL)
        (void)f.set(wait_for_memory);
}
