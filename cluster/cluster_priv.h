/* The insides of a cluster, for cluster*.c alone. */
#pragma once

#include <stdatomic.h>

#include "base/process/lock.h"
#include "base/process/thread.h"
#include "cluster/cluster.h"
#include "cluster/remote.h"

#define CLUSTER_MAGIC FOURCC('C', 'L', 'S', 'T')

/* Kinds of events (storage/lease/events.h); those of uid/ lie above. */
#define EVENT_OWNERS 1 /* the bucket map has changed; no payload */

enum cluster_state {
    CLUSTER_JOINED, /* owns nothing, takes nothing */
    CLUSTER_SERVING,
    CLUSTER_LEAVING, /* gives, takes nothing */
    CLUSTER_STOPPING,
};

struct cluster {
    uint32_t magic;
    struct cluster_options options;
    struct ceph *ceph;
    struct format format;
    uint8_t secret[FRAME_SECRET_SIZE];
    struct lease *lease;
    struct lock events_lock; /* a leaf, but for those of storage/lease */
    struct events *events GUARDED_BY(events_lock); /* NULL: not any more */
    struct channel_tls *tls;                       /* NULL: none */
    struct remote *remote;
    struct store *store;

    struct thread thread;
    unsigned owned; /* as it told last; the thread's */
    int64_t
        twin_us; /* since when; 0: there is none, -1: it is told; the same */
    struct lock lock;
    struct cond wake; /* look at once; or 'state' has changed */
    struct cond done; /* a look has ended */
    bool look GUARDED_BY(lock);
    enum cluster_state state GUARDED_BY(lock);
    uint64_t looks GUARDED_BY(lock); /* that have ended */
    /* As the last of them began. */
    enum cluster_state looked GUARDED_BY(lock);
    struct error error GUARDED_BY(lock); /* of the last look; ST_OK: none */
    struct cluster_view view GUARDED_BY(lock);
};

/* The thread. */
void *cluster_main(void *cluster);
