/* readdir() of the program stands before libc's for libraries, too. */
#include "storage/kv/leveldb/level_list.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
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

static struct dirent *
read_entry(DIR *d)
{
    union {
        void *symbol;
        struct dirent *(*call)(DIR *d);
    } libc = { .symbol = dlsym(RTLD_NEXT, "readdir") };

    INSIST(libc.symbol != NULL);
    return libc.call(d);
}

struct dirent *
readdir(DIR *d)
{
    int before = errno;
    struct dirent *entry;

    errno = 0;
    entry = read_entry(d);
    for (unsigned n = 0; entry == NULL && errno != 0 && must_be_whole; n++) {
        if (n % TELL_EACH == 0)
            log_error("storage",
                      "a folder cannot be listed: %s; it is tried again, since "
                      "a part of the list would lose data",
                      strerror(errno));
        (void)usleep(TRY_US);
        errno = 0;
        entry = read_entry(d);
    }
    if (errno == 0)
        errno = before;
    return entry;
}
