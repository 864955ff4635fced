#include "base/process/library.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/process/lock.h"

static struct lock library_lock = LOCK_INIT; /* every library's is_loaded */

/* C knows no cast of an object's address to a function's, hence memcpy(). */
static bool
find_all(void *handle, const struct library *l)
{
    char *to = l->functions;

    for (size_t i = 0; i < l->len; i++) {
        void *address = dlsym(handle, l->symbols[i]);

        if (address == NULL)
            return false;
        memcpy(to + i * sizeof address, &address, sizeof address);
    }
    return true;
}

/* The error is that of the first file: others are its substitutes. */
enum status
library_load(struct library *l, struct error *e)
{
    struct error why = { 0 };
    bool is_loaded;

    lock_take(&library_lock);
    for (size_t i = 0;
         !l->is_loaded && i < LIBRARY_FILES && l->file_names[i] != NULL; i++) {
        void *handle = dlopen(l->file_names[i], RTLD_NOW | RTLD_LOCAL);

        if (handle != NULL && find_all(handle, l)) {
            l->is_loaded = true;
        } else {
            (void)error_set(i == 0 ? &why : NULL, ST_IO,
                            "%s needs Debian's package %s: %s", l->purpose,
                            l->package, dlerror());
            memset(l->functions, 0, l->len * sizeof(void *));
            if (handle != NULL)
                (void)dlclose(handle);
            l->is_loaded = false;
        }
    }
    is_loaded = l->is_loaded;
    lock_drop(&library_lock);
    return is_loaded ? ST_OK : error_set(e, why.status, "%s", why.text);
}

/* Segments that are never written are as they are in the file. */
static int
release_pages(struct dl_phdr_info *info, size_t size, void *ctx)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    (void)size;
    (void)ctx;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + p->p_vaddr, to = from + p->p_memsz;

        from -= from % page;
        if (p->p_type == PT_LOAD && (p->p_flags & PF_W) == 0)
            (void)madvise((void *)from, to - from, MADV_DONTNEED);
    }
    return 0;
}

void
library_release_pages(void)
{
    (void)dl_iterate_phdr(release_pages, NULL);
}
