#include "cluster/assign.h"

#include <string.h>

#include "base/hash.h"
#include "base/slice.h"

static bool
takes(const struct member *m, const char *mode)
{
    return m->live && strcmp(m->mode, mode) == 0;
}

static const struct member *
largest(const struct members *m, const char *mode, unsigned bucket)
{
    const struct member *found = NULL;
    uint64_t best = 0;

    for (size_t i = 0; i < m->len; i++) {
        uint64_t hash = hash_slice(slice_str(m->list[i].name), bucket);

        if (!takes(&m->list[i], mode) || (found != NULL && hash <= best))
            continue;
        found = &m->list[i];
        best = hash;
    }
    return found;
}

const struct member *
assign_bucket(const struct members *m, unsigned bucket)
{
    const struct member *found = largest(m, "rw", bucket);

    return found != NULL ? found : largest(m, "tool", bucket);
}
