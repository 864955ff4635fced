#include "tsd/tool/tool_place.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time/timezone.h"

#define LOCALTIME "/etc/localtime"

/* "" counts as not named. */
static const char *
environment(const char *name)
{
    const char *value = getenv(name);

    return value == NULL || *value == '\0' ? NULL : value;
}

enum status
tool_place_find(const struct tool_args *a, const struct settings *s,
                struct tool_place *out, struct error *e)
{
    *out = (struct tool_place){ tool_args_get(a, "--data"),
                                tool_args_get(a, "--server") };
    if (out->dir != NULL && out->server != NULL)
        return error_set(e, ST_INVALID, "--data and --server exclude another");
    if (out->dir != NULL || out->server != NULL)
        return ST_OK;
    *out = (struct tool_place){ environment("HALITE_DATA"),
                                environment("HALITE_SERVER") };
    if (out->dir != NULL && out->server != NULL)
        return error_set(e, ST_INVALID,
                         "HALITE_DATA and HALITE_SERVER exclude another");
    if (out->dir == NULL && out->server == NULL)
        out->dir = settings_text(s, "halite.data");
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

    if (settings_has(s, "tsd.core.timezone"))
        return settings_text(s, "tsd.core.timezone");
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
