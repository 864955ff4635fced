/* The insides of a lease, and how a test does without a fence. */
#pragma once

#include <stdatomic.h>

#include "base/process/lock.h"
#include "base/process/thread.h"
#include "storage/lease/lease.h"

#define LEASE_MAGIC FOURCC('L', 'E', 'A', 'S')

/* For tests that show what a fence is for. */
enum lease_without {
    LEASE_WITHOUT_CLOCK = 1,     /* it is always good */
    LEASE_WITHOUT_EPOCH = 2,     /* fencing leaves the WAL as it is */
    LEASE_WITHOUT_BLOCKLIST = 4, /* and the connection */
};

struct lease {
    uint32_t magic;
    struct ceph *c;
    struct member self; /* 'wal_bytes', 'mode': see entry_lock */
    struct lock
        entry_lock; /* held while they change, and the entry with them */
    unsigned duration_ms;
    void (*lost)(void *ctx, const char *why);
    void *ctx;
    unsigned without; /* enum lease_without */
    struct thread thread;
    /* Until when the cluster holds it for this process, at least, by a clock
     * that goes on while the machine sleeps (lease.c). */
    atomic_int_fast64_t until_us;
    atomic_bool is_lost;
    atomic_uint_fast64_t wal_bytes;

    struct lock lock;
    struct cond tick;
    bool stopping GUARDED_BY(lock);
    /* Members that this process has fenced. */
    char (*fenced)[MEMBER_NAME_SIZE] GUARDED_BY(lock);
    size_t fenced_len GUARDED_BY(lock);
    size_t fenced_cap GUARDED_BY(lock);
};
