/* The lease of this process as a member of a store in a pool, and how others
 * are shut out when theirs has ended.
 *
 *     open: right to fence? -> a name is drawn -> lock, entry -> renewals
 *             `-> renewed each quarter of its duration -> .. -> close
 *             `-> another fenced this process: lost(), for ever
 *
 * A lease is a lock that ends by the clock of an OSD.  By that clock alone a
 * process that stands still between its look and its write would write too
 * late: who takes over fences first (storage/lease/README.md, "Invariants").
 *
 * Owns:    nothing of the connection, which must live longer.
 * Threads: any, but close once.  lost() runs on the lease's thread or the one
 *          of lease_lose(), once, without a lock of this room.
 * Fails:   as ceph_status() says. */
#pragma once

#include "storage/lease/buckets.h"
#include "storage/lease/members.h"

struct lease; /* opaque */

struct lease_options {
    struct member self; /* address, mode, version, frame version */
    unsigned duration_ms;
    /* This process must acknowledge nothing more, and end. */
    void (*lost)(void *ctx, const char *why);
    void *ctx;
};

/* Becomes a member.  ST_IO with the caps that are needed, where the id has no
 * right to blocklist: such a process could not take over from another. */
MUST_CHECK enum status lease_open(struct ceph *c, const struct lease_options *o,
                                  struct lease **out, struct error *e);

/* Ends the lease; the WAL is closed by then.  That and the member's entry go,
 * unless a bucket names it: then its heirs need them, and find it dead at once.
 * '*l' becomes NULL in any case. */
MUST_CHECK enum status lease_close(struct lease **l, struct error *e);

/* This process' own. */
const char *lease_name(const struct lease *l);

/* May this process still act as the owner of its buckets?  By its clock alone:
 * to be asked before each flush, and after what is acknowledged is durable. */
bool lease_is_good(const struct lease *l);

/* For how long it still is this process' at least, by that clock; negative: it
 * has ended.  '*duration_us' (may be NULL) is the length of a whole one. */
int64_t lease_remaining_us(const struct lease *l, int64_t *duration_us);

/* As if the lease were lost: for who learns that this process was fenced
 * (ST_CONFLICT of the WAL, ceph_is_blocklisted()). */
void lease_lose(struct lease *l, const char *why);

/* Changes the mode that others see; they do when this returns ST_OK. */
MUST_CHECK enum status lease_set_mode(struct lease *l, const char *mode,
                                      struct error *e);

/* Written to the entry with later renewals. */
void lease_set_wal_bytes(struct lease *l, uint64_t bytes);

/* Shuts a dead member out: from ST_OK on its WAL can be read as a whole, and it
 * writes to nothing that this process has touched since.  ST_BUSY: it lives.
 * ST_NOT_FOUND: no such member, all of it was taken over.  Each time but the
 * first is free. */
MUST_CHECK enum status lease_fence(struct lease *l, const char *member,
                                   struct error *e);

/* Removes what a dead member left: its WAL, lease and entry.  ST_BUSY: it
 * lives, or a bucket names it.  An absent one is removed already. */
MUST_CHECK enum status lease_forget(struct lease *l, const char *member,
                                    struct error *e);
