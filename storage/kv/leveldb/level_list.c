/* readdir() of the program stands before libc's for libraries, too, under both
 * names that it has: which one a library calls depends on how it was built. */
#undef _FILE_OFFSET_BITS
#undef _TIME_BITS
#include "storage/kv/leveldb/level_list.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/obj.h"

#define NO_LOG "18446744073709551615.log"

static _Thread_local bool must_be_whole;
static _Thread_local int failure; /* errno of the first list that failed */

void
level_lists_begin(void)
{
    must_be_whole = true;
    failure = 0;
}

enum status
level_lists_end(const char *dir, struct error *e)
{
    must_be_whole = false;
    return failure == 0
               ? ST_OK
               : error_set(e, ST_IO, "list %s: %s", dir, strerror(failure));
}

/* By libc's function of that name, whose entries are not looked at. */
static void *
read_entry(DIR *d, const char *name, void *no_log)
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
    if (entry == NULL && errno != 0 && must_be_whole && failure == 0) {
        failure = errno;
        entry = no_log;
    }
    if (errno == 0)
        errno = before;
    return entry;
}

struct dirent *
readdir(DIR *d)
{
    static struct dirent no_log = { .d_name = NO_LOG };

    return read_entry(d, "readdir", &no_log);
}

struct dirent64 *
readdir64(DIR *d)
{
    static struct dirent64 no_log = { .d_name = NO_LOG };

    return read_entry(d, "readdir64", &no_log);
}
