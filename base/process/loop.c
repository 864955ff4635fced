#include "base/process/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/process/clock.h"
#include "base/process/log.h"

#define EVENTS_MAX 64
#define LINGER_MS  20

static void
free_dead(struct loop *l)
{
    struct loop_conn *c = l->dead, *next;

    l->dead = NULL;
    for (; c != NULL; c = next) {
        next = c->next_dead;
        free(c);
    }
}

static void *
loop_run(void *arg)
{
    struct loop *l = arg;
    struct epoll_event events[EVENTS_MAX];
    int64_t ticked = clock_monotonic_us();

    while (!atomic_load(&l->stopping) ||
           (l->calls->lingers && loop_next(l, NULL) != NULL &&
            clock_monotonic_us() < l->stop_us)) {
        unsigned ms = atomic_load(&l->stopping) ? LINGER_MS
                      : l->wait_ms > 0          ? l->wait_ms
                                                : l->tick_ms;
        int n = epoll_wait(l->epoll, events, EVENTS_MAX, (int)ms);
        int64_t now;

        INSIST(n >= 0 || errno == EINTR);
        if (l->calls->begin != NULL)
            l->calls->begin(l->ctx);
        for (int i = 0; i < n; i++) {
            const struct epoll_event *ev = &events[i];

            if (ev->data.u64 == 0)
                (void)eventfd_read(l->wake_fd, &(eventfd_t){ 0 });
            l->calls->event(l->ctx, ev->data.u64, ev->events);
        }
        if (l->calls->end != NULL)
            l->calls->end(l->ctx);
        now = clock_monotonic_us();
        if (now - ticked >= (int64_t)l->tick_ms * 1000) {
            if (l->calls->tick != NULL)
                l->calls->tick(l->ctx, now);
            ticked = now;
        }
        free_dead(l);
    }
    if (l->calls->stop != NULL)
        l->calls->stop(l->ctx);
    free_dead(l);
    return NULL;
}

enum status
loop_init(struct loop *l, const struct loop_calls *calls, void *ctx,
          unsigned tick_ms, struct error *e)
{
    struct epoll_event ev = { .events = EPOLLIN, .data.u64 = 0 };

    *l = (struct loop){ .calls = calls, .ctx = ctx, .tick_ms = tick_ms };
    lock_init(&l->lock);
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (l->epoll < 0 || l->wake_fd < 0 ||
        epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->wake_fd, &ev) != 0)
        return error_set(e, ST_IO, "epoll: %m");
    return ST_OK;
}

enum status
loop_start(struct loop *l, struct error *e)
{
    return thread_start(&l->thread, loop_run, l, "sockets", e);
}

void
loop_wake(struct loop *l)
{
    (void)eventfd_write(l->wake_fd, 1);
}

void
loop_ask_to_stop(struct loop *l, unsigned linger_ms)
{
    l->stop_us = clock_monotonic_us() + (int64_t)linger_ms * 1000;
    atomic_store(&l->stopping, true);
    if (l->thread.runs)
        loop_wake(l);
}

void
loop_join(struct loop *l)
{
    thread_join(&l->thread);
}

void
loop_stop(struct loop *l)
{
    loop_ask_to_stop(l, 0);
    loop_join(l);
}

void
loop_fini(struct loop *l)
{
    free_dead(l);
    if (l->epoll >= 0)
        (void)close(l->epoll);
    if (l->wake_fd >= 0)
        (void)close(l->wake_fd);
    l->epoll = l->wake_fd = -1;
    lock_fini(&l->lock);
}

bool
loop_add(struct loop *l, struct loop_conn *c, struct watch *w, uint32_t events)
{
    struct epoll_event ev = { .events = events, .data.u64 = w->data };
    bool done;

    w->events = events;
    lock_take(&l->lock);
    done = epoll_ctl(l->epoll, EPOLL_CTL_ADD, w->fd, &ev) == 0;
    if (done) {
        c->prev = NULL;
        c->next = l->youngest;
        if (c->next != NULL)
            c->next->prev = c;
        else
            l->oldest = c;
        l->youngest = c;
    }
    lock_drop(&l->lock);
    return done;
}

void
loop_watch(struct loop *l, struct watch *w, uint32_t events)
{
    struct epoll_event ev = { .events = events, .data.u64 = w->data };
    int op = w->events == 0 ? EPOLL_CTL_ADD
             : events == 0  ? EPOLL_CTL_DEL
                            : EPOLL_CTL_MOD;

    if (events == w->events)
        return;
    /* Fails only for want of memory, or of fs.epoll.max_user_watches: the next
     * call tries it again, or a tick finds it idle. */
    if (epoll_ctl(l->epoll, op, w->fd, &ev) == 0 || events == 0)
        w->events = events;
    else
        log_warn("loop", "cannot watch a socket: %m");
}

void
loop_end(struct loop *l, struct loop_conn *c)
{
    lock_take(&l->lock);
    if (c->prev != NULL)
        c->prev->next = c->next;
    else
        l->youngest = c->next;
    if (c->next != NULL)
        c->next->prev = c->prev;
    else
        l->oldest = c->prev;
    lock_drop(&l->lock);
    c->dead = true;
    c->next_dead = l->dead;
    l->dead = c;
}

void
loop_close(int fd)
{
    char rest[4096];

    (void)shutdown(fd, SHUT_WR);
    for (int i = 0; i < 64 && recv(fd, rest, sizeof rest, MSG_DONTWAIT) > 0;
         i++)
        ;
    (void)close(fd);
}

struct loop_conn *
loop_next(struct loop *l, const struct loop_conn *c)
{
    struct loop_conn *next;

    lock_take(&l->lock);
    next = c == NULL ? l->youngest : c->next;
    lock_drop(&l->lock);
    return next;
}

struct loop_conn *
loop_oldest(struct loop *l)
{
    struct loop_conn *c;

    lock_take(&l->lock);
    c = l->oldest;
    lock_drop(&l->lock);
    return c;
}
