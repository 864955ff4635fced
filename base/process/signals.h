/* Signals are for the thread that waits for them; all others block them.
 *
 * Threads: any, for itself. */
#pragma once

#include <pthread.h>
#include <signal.h>

/* First thing in a thread. */
static inline void
signals_block(void)
{
    sigset_t all;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, NULL);
}
