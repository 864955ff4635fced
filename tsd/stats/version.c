/* See tsd/stats/version.h.  The members are OpenTSDB's.  No time or place of
 * the build is kept: equal sources give equal programs. */
#include "tsd/stats/version.h"

static const struct version_field fields[] = {
    { "short_revision", "v" PACKAGE_VERSION },
    { "full_revision", "v" PACKAGE_VERSION },
    { "version", PACKAGE_VERSION },
    { "timestamp", "0" },
    { "repo_status", "MINT" },
    { "user", "halite" },
    { "host", "localhost" },
    { "repo", "halite" },
    { "branch", "main" },
};

const char *
version_text(void)
{
    return "halite " PACKAGE_VERSION " built at revision v" PACKAGE_VERSION
           " (MINT)\n"
           "Built on an unknown date by halite@localhost:halite\n";
}

const struct version_field *
version_field_at(size_t i)
{
    return i < sizeof fields / sizeof fields[0] ? &fields[i] : NULL;
}
