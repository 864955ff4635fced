#include "tsd/config/store_place.h"

enum status
store_place_find(const struct settings *s, struct place *out, struct error *e)
{
    return place_parse(settings_text(s, "halite.store"), out, e);
}

const char *
store_place_folder(const struct settings *s)
{
    struct place place;

    return store_place_find(s, &place, NULL) == ST_OK &&
                   place.kind == PLACE_FOLDER
               ? place.at
               : NULL;
}

const char *
store_place_authorities(const struct settings *s)
{
    return settings_has(s, "halite.cluster.ca")
               ? settings_text(s, "halite.cluster.ca")
               : NULL;
}
