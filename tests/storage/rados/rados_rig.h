/* A namespace of a real cluster for a test, empty when it begins and when it
 * ends.  HALITE_TEST_RADOS is the cluster's ceph.conf, which has a pool "tsdb"
 * (tests/rados/cluster.sh); without it these programs are skipped.
 *
 *     struct rados_rig rig = rados_rig_new("");
 *     ceph_open(rig.at, ..)
 *     rados_rig_free(&rig); */
#pragma once

#include "storage/rados/ceph_op.h"
#include "tests/harness.h"

#include <unistd.h>

struct rados_rig {
    char at[512];       /* of the test's connection */
    char other[512];    /* of another one, as of another process */
    struct ceph *admin; /* a third one, open */
};

static inline const char *
rados_rig_conf(void)
{
    return getenv("HALITE_TEST_RADOS");
}

static inline enum status
rados_rig_remove(void *ctx, const char *object, struct error *e)
{
    return ceph_remove(ctx, object, e);
}

/* A connection of its own to a namespace: that of the test may be blocklisted.
 */
static inline struct ceph *
rados_rig_admin(const char *at)
{
    char own[5000];
    struct ceph *c;
    struct error e = { 0 };

    (void)snprintf(own, sizeof own, "%s&connection=admin", at);
    ck_assert_msg(ceph_open(own, &c, &e) == ST_OK, "%s", e.text);
    return c;
}

/* Removes all objects of its namespace. */
static inline void
rados_rig_clear(struct ceph *c)
{
    struct error e = { 0 };

    ck_assert_msg(ceph_each_object(c, rados_rig_remove, c, &e) == ST_OK, "%s",
                  e.text);
}

/* 'options' begin with '&', or are empty. */
static inline struct rados_rig
rados_rig_new(const char *options)
{
    struct rados_rig rig;

    (void)snprintf(rig.at, sizeof rig.at, "tsdb/test-%ld?conf=%s%s",
                   (long)getpid(), rados_rig_conf(), options);
    (void)snprintf(rig.other, sizeof rig.other,
                   "tsdb/test-%ld?conf=%s%s&connection=2", (long)getpid(),
                   rados_rig_conf(), options);
    rig.admin = rados_rig_admin(rig.at);
    rados_rig_clear(rig.admin);
    return rig;
}

static inline void
rados_rig_free(struct rados_rig *rig)
{
    rados_rig_clear(rig->admin);
    ceph_close(&rig->admin);
}

/* For 'make check': 77 is a test that could not run. */
#define RADOS_TEST_MAIN(name, ...)                                        \
    SUITE(rados_suite)                                                    \
    {                                                                     \
        const struct harness_case cases_[] = { __VA_ARGS__ };             \
                                                                          \
        if (rados_rig_conf() == NULL) {                                   \
            (void)puts("HALITE_TEST_RADOS names no cluster's ceph.conf"); \
            return 77;                                                    \
        }                                                                 \
        return harness_run((name), CK_FORK, NULL, NULL, cases_,           \
                           sizeof cases_ / sizeof cases_[0]);             \
    }
