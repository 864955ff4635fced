/* See tsd/net/poller.h. */
#include "config.h"

#include "tsd/net/poller.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/obj.h"

enum status
poller_start(struct poller *p, void *(*f)(void *arg), void *arg,
             struct error *e)
{
    struct epoll_event ev = { .events = EPOLLIN, .data.u64 = 0 };
    int err;

    p->epoll = epoll_create1(EPOLL_CLOEXEC);
    p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (p->epoll < 0 || p->wake < 0 ||
        epoll_ctl(p->epoll, EPOLL_CTL_ADD, p->wake, &ev) != 0)
        return error_set(e, ST_IO, "epoll: %s", strerror(errno));
    err = pthread_create(&p->thread, NULL, f, arg);
    return err == 0 ? ST_OK
                    : error_set(e, ST_IO, "cannot start a thread: %s",
                                strerror(err));
}

void
poller_wake(struct poller *p)
{
    uint64_t one = 1;

    (void)!write(p->wake, &one, sizeof one);
}

void
poller_heard(struct poller *p)
{
    uint64_t n;

    (void)!read(p->wake, &n, sizeof n);
}

void
poller_join(struct poller *p)
{
    INSIST(pthread_join(p->thread, NULL) == 0);
}

void
poller_fini(struct poller *p)
{
    if (p->epoll >= 0)
        (void)close(p->epoll);
    if (p->wake >= 0)
        (void)close(p->wake);
    *p = (struct poller)POLLER_INIT;
}
