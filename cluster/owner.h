/* What a daemon does for its peers with its store: the handlers of a peer
 * server (cluster/peer/peer_server.h).  Points go into sessions of the store, a
 * connection each; what else is asked is answered for the buckets that are the
 * store's, and ST_MOVED for others.
 *
 * Threads: as peer_server.h says. */
#pragma once

#include "cluster/peer/peer_server.h"

struct store;

/* The store must outlive the server. */
struct peer_handlers owner_handlers(struct store *s);
