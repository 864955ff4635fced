#include "tsd/config/store_place.h"

enum status
store_place_find(const struct settings *s, struct place *out, struct error *e)
{
    if (settings_has(s, "halite.store"))
        return place_parse(settings_text(s, "halite.store"), out, e);
    *out =
        settings_bool(s, "halite.memory")
            ? (struct place){ PLACE_MEMORY, "" }
            : (struct place){ PLACE_FOLDER, settings_text(s, "halite.data") };
    return ST_OK;
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
