/* Writes all files below a folder to the disk and drops them from the page
 * cache, so that whoever reads them next waits for the disk; what other
 * programs have in the cache stays.
 *
 *     forget FOLDER... */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

#include "bench/client.h"

static int
forget(const char *path, const struct stat *st, int type, struct FTW *where)
{
    int fd;

    if (type != FTW_F)
        return 0;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        client_die(path);
    (void)fdatasync(fd);
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    (void)close(fd);
    return 0;
}

int
main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (nftw(argv[i], forget, 16, FTW_PHYS) != 0)
            client_die(argv[i]);
    return 0;
}
