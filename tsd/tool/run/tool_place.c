#include "tsd/tool/run/tool_place.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time/timezone.h"

#define LOCALTIME "/etc/localtime"

/* How long a folder may be another tool's. */
#define LOCK_WAIT_MS 10000
#define LOCK_LOOK_MS 50

/* "" counts as not named. */
static const char *
environment(const char *name)
{
    const char *value = getenv(name);

    return value == NULL || *value == '\0' ? NULL : value;
}

/* Exactly one of three; ST_NOT_FOUND when there is none. */
static enum status
one_of(const char *data, const char *store, const char *server,
       const char *names, struct tool_place *out, struct error *e)
{
    int named = (data != NULL) + (store != NULL) + (server != NULL);

    *out = (struct tool_place){ data != NULL ? data : store, server };
    if (named > 1)
        return error_set(e, ST_INVALID, "%s exclude another", names);
    return named == 1 ? ST_OK : ST_NOT_FOUND;
}

enum status
tool_place_find(const struct tool_args *a, const struct settings *s,
                struct tool_place *out, struct error *e)
{
    enum status st = one_of(
        tool_args_get(a, "--data"), tool_args_get(a, "--store"),
        tool_args_get(a, "--server"), "--data, --store and --server", out, e);

    if (st == ST_NOT_FOUND)
        st = one_of(environment("HALITE_DATA"), environment("HALITE_STORE"),
                    environment("HALITE_SERVER"),
                    "HALITE_DATA, HALITE_STORE and HALITE_SERVER", out, e);
    if (st != ST_NOT_FOUND)
        return st;
    out->store = s->store;
    return ST_OK;
}

enum status
tool_place_server(const char *dir, char address[FORMAT_NOTE_MAX],
                  struct error *e)
{
    address[0] = '\0';
    for (int ms = 0; format_is_locked(dir); ms += LOCK_LOOK_MS) {
        format_lock_read(dir, address);
        if (address[0] != '\0')
            return ST_OK;
        if (ms > LOCK_WAIT_MS)
            return error_set(
                e, ST_BUSY, "%s is in use by a process that is no server", dir);
        (void)usleep(LOCK_LOOK_MS * 1000);
    }
    address[0] = '\0';
    return ST_OK;
}

static bool
is_zone(const char *name)
{
    const struct timezone *zone;

    return name != NULL && timezone_find(slice_str(name), &zone, NULL) == ST_OK;
}

const char *
tool_zone_name(const struct settings *s)
{
    static const char folder[] = "zoneinfo/";
    static char target[256];
    const char *name = getenv("TZ"), *found;
    ssize_t size;

    if (s->timezone != NULL)
        return s->timezone;
    if (name != NULL && name[0] == ':')
        name++;
    if (name != NULL)
        return is_zone(name) ? name : "UTC";
    size = readlink(LOCALTIME, target, sizeof target - 1);
    if (size <= 0)
        return "UTC";
    target[size] = '\0';
    found = strstr(target, folder);
    found = found == NULL ? NULL : found + sizeof folder - 1;
    return is_zone(found) ? found : "UTC";
}
