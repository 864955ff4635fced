/* See cluster/peer/requests.h. */
#include "cluster/peer/requests.h"

#include <stdlib.h>

#include "base/mem.h"

#define LONG_AT_ONCE 1 /* of those that take long */

void
requests_init(struct requests *q, unsigned workers, size_t max_bytes)
{
    *q = (struct requests){ .workers = workers, .max_bytes = max_bytes };
    lock_init(&q->lock);
    cond_init(&q->changed);
    q->last = &q->first;
}

void
requests_fini(struct requests *q)
{
    while (q->first != NULL) {
        struct request *r = q->first;

        q->first = r->next;
        free(r);
    }
    cond_fini(&q->changed);
    lock_fini(&q->lock);
}

void
requests_add(struct requests *q, const struct frame *f)
{
    struct request *r = mem_new(sizeof *r + f->payload.size);

    *r = (struct request){ .number = f->number, .type = f->type };
    if (f->payload.size > 0)
        memcpy(r + 1, f->payload.data, f->payload.size);
    r->payload = slice_of(r + 1, f->payload.size);
    lock_take(&q->lock);
    while (q->len >= REQUESTS_MAX ||
           (q->len > 0 && q->bytes + f->payload.size > q->max_bytes))
        cond_wait(&q->changed, &q->lock);
    *q->last = r;
    q->last = &r->next;
    q->len++;
    q->bytes += f->payload.size;
    cond_broadcast(&q->changed);
    lock_drop(&q->lock);
}

static bool
takes_long(const struct request *r)
{
    return r->type == FRAME_DELETE || r->type == FRAME_FLUSH;
}

static bool
may_begin(const struct requests *q, const struct request *r) REQUIRES(q->lock)
{
    return r->type == FRAME_HEAD ||
           (q->others_running < q->workers - 1 &&
            (!takes_long(r) || q->long_running < LONG_AT_ONCE));
}

static void
count_running(struct requests *q, const struct request *r, unsigned by)
    REQUIRES(q->lock)
{
    if (r->type != FRAME_HEAD)
        q->others_running += by;
    if (takes_long(r))
        q->long_running += by;
}

/* NULL: none may begin. */
static struct request *
take_now(struct requests *q) REQUIRES(q->lock)
{
    struct request **at = &q->first, *r;

    while (*at != NULL && !may_begin(q, *at))
        at = &(*at)->next;
    r = *at;
    if (r == NULL)
        return NULL;
    *at = r->next;
    if (r->next == NULL)
        q->last = at;
    q->len--;
    q->bytes -= r->payload.size;
    count_running(q, r, 1);
    cond_broadcast(&q->changed);
    return r;
}

struct request *
requests_take(struct requests *q)
{
    struct request *r = NULL;

    lock_take(&q->lock);
    while (!q->ended && (r = take_now(q)) == NULL)
        cond_wait(&q->changed, &q->lock);
    lock_drop(&q->lock);
    return r;
}

void
requests_done(struct requests *q, struct request *r)
{
    lock_take(&q->lock);
    count_running(q, r, -1u);
    if (q->first != NULL)
        cond_broadcast(&q->changed);
    lock_drop(&q->lock);
    free(r);
}

void
requests_end(struct requests *q)
{
    lock_take(&q->lock);
    q->ended = true;
    cond_broadcast(&q->changed);
    lock_drop(&q->lock);
}
