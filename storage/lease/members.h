/* The members of a store in a pool: each daemon that has it open, and those
 * that ended without taking their leave (docs/FORMAT.md, "Objects of a pool").
 *
 * Owns:    struct members its list.
 * Threads: any.
 * Fails:   as ceph_status() says; ST_CORRUPT: an entry is malformed. */
#pragma once

#include "storage/rados/ceph.h"

#define MEMBER_NAME_SIZE 17 /* 16 hexadecimal digits, drawn at random */

/* The mode of one that has given or flushed all that it owned, and writes
 * nothing any more. */
#define MEMBER_ENDED "ended"

struct member {
    char name[MEMBER_NAME_SIZE];
    char address[128]; /* HOST:PORT, where other members reach it */
    char rados[128];   /* of its connection to the cluster: what is fenced */
    char mode[16];     /* as of tsd.mode: "rw", "ro"; "tool", "leaving";
                          MEMBER_ENDED */
    char version[32];  /* of the program */
    unsigned frame_version; /* of what members say to each other */
    bool tls;               /* its address takes TLS alone */
    int64_t started_ms;
    uint64_t wal_bytes; /* when it last said so */
    bool live;          /* it holds its lease, now; not part of the entry */
};

struct members {
    struct member *list; /* by name */
    size_t len;
};

/* All of them; asks for the lease of each. */
MUST_CHECK enum status members_read(struct ceph *c, struct members *out,
                                    struct error *e);
void members_fini(struct members *m);
/* NULL: it is none. */
const struct member *members_find(const struct members *m, const char *name);

/* Another one that lives and has the same address, or NULL: a configuration
 * that was copied, or within seconds of its death the one before. */
const struct member *members_twin(const struct members *m,
                                  const struct member *one);

/* One entry.  ST_NOT_FOUND. */
MUST_CHECK enum status member_read(struct ceph *c, const char *name,
                                   struct member *out, struct error *e);
MUST_CHECK enum status member_write(struct ceph *c, const struct member *m,
                                    struct error *e);
MUST_CHECK enum status member_remove(struct ceph *c, const char *name,
                                     struct error *e);

/* Of its lease. */
#define MEMBER_LOCK "lease"
void member_lease_object(const char *name, char out[32]);
/* 'live': the member holds it; 'held': it, or who fenced it. */
MUST_CHECK enum status member_lock_read(struct ceph *c, const char *name,
                                        bool *live, bool *held,
                                        struct error *e);
