/* 'halite tsd': settings, signals, and a daemon between them. */
#include "tsd/commands/commands.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/process/clock.h"
#include "base/process/counters.h"
#include "base/process/library.h"
#include "base/process/log.h"
#include "base/process/memory.h"
#include "base/mem.h"
#include "tsd/daemon.h"
#include "tsd/config/memory_settings.h"
#include "tsd/config/options.h"
#include "tsd/service.h"

#define QUIET_MS           10000
#define GIVE_BACK_EVERY_MS 600000

static void
raise_file_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        log_warn("tsd", "cannot raise the limit of open files");
}

/* Blocked in all threads, so that they arrive at the descriptor alone. */
static int
open_signals(void)
{
    sigset_t set;

    (void)signal(SIGPIPE, SIG_IGN);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

static void
leave_at_once(int number)
{
    _exit(1);
}

/* From here on a second signal ends the process: the WAL has it all. */
static void
allow_second_signal(void)
{
    struct sigaction act = { .sa_handler = leave_at_once };
    sigset_t set;

    (void)sigaction(SIGTERM, &act, NULL);
    (void)sigaction(SIGINT, &act, NULL);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* A settings_each() of what the file says now; 'ctx' is what is in force. */
static void
tell_if_changed(void *ctx, const char *key, const char *value)
{
    const char *old = settings_text(ctx, key);

    if (strcmp(key, "halite.log.level") != 0 &&
        (old == NULL || strcmp(old, value) != 0))
        log_warn("tsd", "%s was changed; it counts after a restart",
                 log_quote(slice_str(key)));
}

/* The same of what is in force; 'ctx' is what the file says now. */
static void
tell_if_removed(void *ctx, const char *key, const char *value)
{
    if (settings_text(ctx, key) == NULL)
        tell_if_changed(ctx, key, value);
}

static void
tsd_hang_up(const struct options *o, struct daemon *d)
{
    struct options fresh;
    struct error e;

    (void)daemon_reload(d);
    if (o->config_path == NULL)
        return;
    if (options_parse_again(o, &fresh, &e) == ST_OK) {
        log_set_level((enum log_level)fresh.settings->log_level);
        log_info("tsd", "log level read again from %s", o->config_path);
        settings_each(fresh.settings, tell_if_changed, o->settings);
        settings_each(o->settings, tell_if_removed, fresh.settings);
    } else {
        log_error("tsd", "settings not read again: %s", e.text);
    }
    options_fini(&fresh);
}

/* Memory that answers took is kept for the next ones while there are some; what
 * the start took goes back at once. */
struct kept_memory {
    uint64_t queries;
    int64_t due_ms; /* then it goes back */
};

static void
give_back_memory(struct kept_memory *k)
{
    uint64_t queries = counter_get(CNT_QUERY_SUCCESS);
    int64_t now_ms = clock_monotonic_us() / 1000;

    if (queries != k->queries) {
        k->queries = queries;
        k->due_ms = now_ms + QUIET_MS;
    } else if (now_ms >= k->due_ms) {
        mem_give_back();
        library_release_pages();
        k->due_ms = now_ms + GIVE_BACK_EVERY_MS;
    }
}

/* Returns when a signal or a client tells the daemon to stop. */
static void
wait_for_end(const struct options *o, struct daemon *d, struct service *service,
             int signal_fd, int stop_fd)
{
    struct pollfd fds[] = {
        { .fd = signal_fd, .events = POLLIN },
        { .fd = stop_fd, .events = POLLIN },
        { .events = POLLIN },
    };
    struct signalfd_siginfo info;
    struct kept_memory kept = { .queries = 0 };

    for (;;) {
        int wait_ms = service_wait_ms(service); /* -1: for ever */

        if (wait_ms < 0 || wait_ms > QUIET_MS / 2)
            wait_ms = QUIET_MS / 2;
        give_back_memory(&kept);
        fds[2].fd = service->probe_fd;
        if (poll(fds, 3, wait_ms) < 0) {
            if (errno == EINTR)
                continue;
            return;
        }
        service_watch(service);
        if (fds[1].revents != 0) {
            log_info("tsd", "stopping: a client asked for it");
            return;
        }
        if (fds[0].revents == 0)
            continue;
        if (read(signal_fd, &info, sizeof info) != (ssize_t)sizeof info)
            return;
        if (info.ssi_signo != SIGHUP) {
            log_info("tsd", "stopping: signal %u", info.ssi_signo);
            return;
        }
        service_reloading(service);
        tsd_hang_up(o, d);
        service_ready(service, daemon_address(d));
    }
}

static int
tsd_serve(const struct options *o)
{
    int signal_fd = open_signals();
    int stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct daemon *d = NULL;
    struct service service;
    struct error e;
    enum status st;
    int rc = 1;

    service_open(&service);
    log_set_level((enum log_level)o->settings->log_level);
    mem_keep_freed(memory_limit());
    memory_settings_report(o->settings, memory_limit());
    raise_file_limit();
    if (signal_fd < 0 || stop_fd < 0) {
        (void)fprintf(stderr, "halite tsd: no file descriptors\n");
        goto out;
    }
    settings_warn_of_accepted(o->settings);
    st = daemon_start(o->settings, stop_fd, &d, &e);
    if (st != ST_OK) {
        (void)fprintf(stderr, "halite tsd: %s\n", e.text);
        rc = st == ST_INVALID ? 2 : 1;
        goto out;
    }
    log_info("tsd", "halite %s listening on %s", PACKAGE_VERSION,
             daemon_address(d));
    if (daemon_tls_address(d) != NULL)
        log_info("tsd", "TLS on %s", daemon_tls_address(d));
    service_ready(&service, daemon_address(d));
    wait_for_end(o, d, &service, signal_fd, stop_fd);
    service_stopping(&service);
    allow_second_signal();
    if (daemon_stop(&d, &e) != ST_OK) {
        log_error("tsd", "stopped badly: %s", e.text);
        goto out;
    }
    log_info("tsd", "stopped");
    rc = 0;
out:
    service_close(&service);
    if (signal_fd >= 0)
        (void)close(signal_fd);
    if (stop_fd >= 0)
        (void)close(stop_fd);
    return rc;
}

int
cmd_tsd(int argc, char **argv, bool as_tsdb)
{
    struct options o;
    struct error e;
    int rc = 0;

    if (options_parse(argc, argv, as_tsdb, &o, &e) != ST_OK) {
        (void)fprintf(stderr, "halite tsd: %s\n", e.text);
        options_fini(&o);
        return 2;
    }
    switch (o.action) {
    case OPTIONS_RUN:
        rc = tsd_serve(&o);
        break;
    case OPTIONS_HELP:
        options_print_help(stdout);
        break;
    case OPTIONS_VERSION:
        rc = cmd_version(argc, argv, as_tsdb);
        break;
    case OPTIONS_HELP_SETTINGS:
        settings_print(stdout, false);
        break;
    case OPTIONS_MARKDOWN:
        settings_print(stdout, true);
        break;
    }
    options_fini(&o);
    return rc;
}
