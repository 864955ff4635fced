#include "tsd/config/memory_settings.h"

#include "base/buf.h"
#include "base/process/log.h"

#define MB ((uint64_t)1 << 20)

/* Shares of the memory, in thousandths.  Those that are 'summed' are held
 * beside each other, and make 700 of 1000.  The rest is for
 * threads, connections, the tables that LevelDB keeps open, and memory that the
 * allocator cannot use.  The write buffer counts twice, since one is filled
 * while another one is written. */
static const struct share {
    const char *name;
    unsigned thousandths;
    uint64_t least; /* bytes, or entries */
    uint64_t entry; /* bytes of one; 0: the setting counts bytes */
    unsigned times; /* how often it counts in the sum; 0: it is part of another
                       one */
} shares[] = {
    { "halite.store.head_bytes", 60, 4 * MB, 0, 1 },
    { "halite.store.write_buffer_bytes", 12, MB, 0, 2 },
    { "halite.store.cache_bytes", 12, MB, 0, 1 },
    { "halite.series.cache_entries", 100, 10000, 160, 1 },
    { "halite.put.cache_bytes", 60, 2 * MB, 0, 1 },
    { "halite.put.cache_entries", 20, 10000, 24, 0 },
    { "halite.uid.cache_entries", 60, 10000, 200, 1 },
    { "halite.queries.bytes", 200, 16 * MB, 0, 1 },
    { "halite.query.bytes", 100, 8 * MB, 0, 0 },
    { "halite.answers.bytes", 70, 4 * MB, 0, 1 },
    { "halite.query.answer_bytes", 35, 2 * MB, 0, 0 },
    { "halite.http.bodies_bytes", 60, 4 * MB, 0, 1 },
    { "halite.http.body_bytes", 20, MB, 0, 0 },
    { "halite.telnet.total_bytes", 20, MB, 0, 1 },
};
#define SHARES_LEN (sizeof shares / sizeof shares[0])

/* From here on the defaults of settings.def stay. */
#define LARGE (UINT64_C(7680) * MB)

void
memory_settings_fit(struct settings *s, uint64_t limit)
{
    char text[32];

    for (size_t i = 0; i < SHARES_LEN && limit < LARGE; i++) {
        const struct share *x = &shares[i];
        uint64_t entry = x->entry == 0 ? 1 : x->entry;
        uint64_t fit = limit / 1000 * x->thousandths / entry;

        if (settings_is_given(s, x->name))
            continue;
        fit = fit < x->least ? x->least : fit;
        if (x->entry == 0 && fit > MB)
            fit -= fit % MB;
        if (fit >= settings_number(s, x->name))
            continue;
        if (x->entry == 0 && fit % MB == 0)
            (void)snprintf(text, sizeof text, "%lluM",
                           (unsigned long long)(fit / MB));
        else
            (void)snprintf(text, sizeof text, "%llu", (unsigned long long)fit);
        settings_set_default(s, x->name, text);
    }
}

/* A connection takes some KB; one whose head is large, up to 40 KB of
 * libmicrohttpd's, until halite.http.head_ms is over.  If all of them did, they
 * would still fit into the part of the memory that is not budgeted. */
#define CONNECTION_BYTES        UINT64_C(16384)
#define CONNECTIONS_THOUSANDTHS 100

size_t
memory_settings_connections(uint64_t limit)
{
    uint64_t bytes = limit / 1000 * CONNECTIONS_THOUSANDTHS;

    return limit < LARGE ? (size_t)(bytes / CONNECTION_BYTES) + 16 : SIZE_MAX;
}

void
memory_settings_report(const struct settings *s, uint64_t limit)
{
    struct buf text = BUF_INIT;
    uint64_t sum = 0;

    for (size_t i = 0; i < SHARES_LEN; i++) {
        const struct share *x = &shares[i];
        uint64_t value = settings_number(s, x->name);

        sum += value * x->times * (x->entry == 0 ? 1 : x->entry);
        if (x->times > 0)
            buf_printf(&text, ", %s=%s", x->name, settings_text(s, x->name));
    }
    log_info("tsd", "%llu MB of memory may be used, %llu MB are budgeted%s",
             (unsigned long long)(limit / MB), (unsigned long long)(sum / MB),
             buf_cstr(&text));
    if (sum > limit / 10 * 9)
        log_warn("tsd",
                 "the memory settings add up to %llu MB, of %llu MB that may "
                 "be used: the kernel may kill the server; lower the memory "
                 "settings that you have set",
                 (unsigned long long)(sum / MB),
                 (unsigned long long)(limit / MB));
    buf_fini(&text);
}
