/* What /api/put, /api/rollup and /api/histogram reply: the switches of the
 * request, the counts, and with ?details each rejected point.
 *
 * Threads: one at a time. */
#pragma once

#include "base/buf.h"
#include "web/http.h"

struct put_reply {
    struct http_reply *reply;
    bool details, summary, sync;
    int64_t sync_timeout;
    size_t total, stored;
    bool broken;       /* the store failed, not the client */
    struct buf errors; /* ?details: the elements of a JSON array */
};

/* Reads the switches.  False: it replied. */
bool put_reply_init(struct put_reply *p, const struct http_request *r,
                    struct http_reply *reply);
void put_reply_fini(struct put_reply *p);

/* 400; returns false. */
bool put_reply_reject(struct put_reply *p, const char *message,
                      const char *details);

/* Starts an element of 'errors'; the point follows, then put_reply_why().
 * NULL when no details are wanted, or there are too many. */
struct buf *put_reply_point(struct put_reply *p);
void put_reply_why(struct put_reply *p, struct slice why);

/* The reply to a body that was read to its end. */
void put_reply_end(struct put_reply *p);
