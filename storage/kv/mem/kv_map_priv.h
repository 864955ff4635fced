/*
 * The map of the memory engine: sorted keys, each with its versions, newest
 * first.  A reader names the sequence number up to which it sees.
 *
 *     a pin       a sequence number that a reader still uses
 *     superseded  a version behind a newer one; it goes once every pin is at
 *                 or past the newer one, and a deleted key goes with it
 *
 * A version that a pin sees stays, and so does its node: what a pinned reader
 * stands on cannot vanish between two of its steps.
 *
 * Owns:    nodes and versions.  Keys and values are lent until unpinned.
 * Threads: one writer or many readers; the caller locks.
 */
#ifndef STORAGE_KV_MEM_KV_MAP_PRIV_H
#define STORAGE_KV_MEM_KV_MAP_PRIV_H

#include "base/slice.h"

#define KV_MAP_LEVELS 12 /* one in four nodes reaches the next level */

struct kv_version {
    uint64_t seq;
    struct kv_version *older;
    size_t size;
    bool deleted;
    uint8_t data[];
};

struct kv_node {
    struct kv_version *newest;
    uint32_t key_size;
    uint32_t levels;
    struct kv_node *next[]; /* 'levels' of them; behind them the key */
};

struct kv_pin {
    uint64_t seq;
    struct kv_pin *older, *newer;
};

struct kv_stale {
    struct kv_node *node;
    uint64_t seq; /* of the version that superseded others */
};

struct kv_map {
    struct kv_node *heads[KV_MAP_LEVELS];
    uint64_t random;
    struct kv_pin *oldest_pin, *newest_pin;
    /* A ring, in the order of 'seq'; empty when there is no pin. */
    struct kv_stale *stale;
    size_t stale_at, stale_len, stale_cap;
    size_t nodes, versions, bytes, pins;
};

void kv_map_init(struct kv_map *m);
void kv_map_fini(struct kv_map *m);

/* A copy of the value, which a later kv_map_apply() takes over; NULL when there
 * is no memory. */
struct kv_version *kv_version_new(struct slice value);

/* Puts, or deletes when 'v' is NULL.  'seq' never descends; operations with the
 * same one are one batch. */
void kv_map_apply(struct kv_map *m, uint64_t seq, struct slice key,
                  struct kv_version *v);

static inline struct slice
kv_node_key(const struct kv_node *n)
{
    return (struct slice){ (const uint8_t *)(n->next + n->levels),
                           n->key_size };
}

/* The newest version at or before 'seq'; NULL when there is none or it says
 * that the key is deleted. */
const struct kv_version *kv_node_version(const struct kv_node *n, uint64_t seq);

/* The first node whose key is >= 'key', or NULL. */
struct kv_node *kv_map_seek(const struct kv_map *m, struct slice key);

/* 'after' NULL: the pin is the newest; else it is at the same number as that
 * one. */
void kv_map_pin(struct kv_map *m, struct kv_pin *pin, uint64_t seq,
                struct kv_pin *after);
void kv_map_unpin(struct kv_map *m, struct kv_pin *pin);

/* About how many bytes the keys and values in ['from', 'to') have. */
uint64_t kv_map_estimate(const struct kv_map *m, struct slice from,
                         struct slice to);

#endif
