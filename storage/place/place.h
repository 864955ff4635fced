/* Where a store lies, as people write it:
 *
 *     /var/lib/halite                       a folder
 *     memory                                nowhere: it goes with the process
 *     rados:POOL[/NAMESPACE][?KEY=VALUE&..] a pool of a Ceph cluster
 *                                           (storage/rados/ceph.h)
 *
 * A folder that is called like one of the others is written "./memory".
 *
 * Threads: any; a place is a value. */
#pragma once

#include "base/error.h"

enum place_kind { PLACE_FOLDER, PLACE_MEMORY, PLACE_POOL };

struct place {
    enum place_kind kind;
    /* Lent from the text: the folder; of a pool what follows "rados:"; "". */
    const char *at;
};

/* ST_INVALID with a sentence: an empty text, a pool without a name, a key that
 * is not known. */
MUST_CHECK enum status place_parse(const char *text, struct place *out,
                                   struct error *e);
