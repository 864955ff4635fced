#include "cluster/assign.h"

#include <string.h>

#include "base/hash.h"
#include "base/slice.h"

static bool
takes(const struct member *m, const char *mode)
{
    return m->live && strcmp(m->mode, mode) == 0;
}

static bool
is_before(const struct member *m, const struct member *other)
{
    return m->started_ms < other->started_ms ||
           (m->started_ms == other->started_ms &&
            strcmp(m->name, other->name) < 0);
}

/* No other process can reach a command: one has all buckets, others wait for
 * its end.  It gives none to them before. */
static const struct member *
first_tool(const struct members *m)
{
    const struct member *found = NULL;

    for (size_t i = 0; i < m->len; i++)
        if (takes(&m->list[i], "tool") &&
            (found == NULL || is_before(&m->list[i], found)))
            found = &m->list[i];
    return found;
}

const struct member *
assign_bucket(const struct members *m, unsigned bucket)
{
    const struct member *found = NULL;
    uint64_t best = 0;

    for (size_t i = 0; i < m->len; i++) {
        uint64_t hash = hash_slice(slice_str(m->list[i].name), bucket);

        if (!takes(&m->list[i], "rw") || (found != NULL && hash <= best))
            continue;
        found = &m->list[i];
        best = hash;
    }
    return found != NULL ? found : first_tool(m);
}
