/* readdir() of the program stands before libc's for libraries, too, under both
 * names that it has: which one a library calls depends on how it was built. */
#undef _FILE_OFFSET_BITS
#undef _TIME_BITS
#include "storage/kv/leveldb/level_list.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/obj.h"
#include "base/process/log.h"

#define TRY_US    100000
#define TELL_EACH 100 /* tries */

static _Thread_local bool must_be_whole;

void
level_lists_begin(void)
{
    must_be_whole = true;
}

void
level_lists_end(void)
{
    must_be_whole = false;
}

/* By libc's function of that name, whose entries are not looked at. */
static void *
read_entry(DIR *d, const char *name)
{
    union {
        void *symbol;
        void *(*call)(DIR *d);
    } libc = { .symbol = dlsym(RTLD_NEXT, name) };
    int before = errno;
    void *entry;

    INSIST(libc.symbol != NULL);
    errno = 0;
    entry = libc.call(d);
    for (unsigned n = 0; entry == NULL && errno != 0 && must_be_whole; n++) {
        if (n % TELL_EACH == 0)
            log_error("storage",
                      "a folder cannot be listed: %s; it is tried again, since "
                      "a part of the list would lose data",
                      strerror(errno));
        (void)usleep(TRY_US);
        errno = 0;
        entry = libc.call(d);
    }
    if (errno == 0)
        errno = before;
    return entry;
}

struct dirent *
readdir(DIR *d)
{
    return read_entry(d, "readdir");
}

struct dirent64 *
readdir64(DIR *d)
{
    return read_entry(d, "readdir64");
}
