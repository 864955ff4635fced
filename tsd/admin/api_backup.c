/* /api/backup: a copy of the store, made while it is at work. */
#include <stdlib.h>

#include "base/process/log.h"
#include "base/mem.h"
#include "tsd/api/api.h"
#include "tsd/admin/backup.h"

#define ANSWER_BYTES 512

static void
make(const struct api *a, const struct http_request *r, const char *to,
     struct http_reply *out)
{
    struct backup b = { .to = { PLACE_FOLDER, to }, .cancel = api_cancel(r) };
    struct error e;

    /* Once the copy is there, nothing may keep the answer away. */
    if (buf_reserve(http_reply_body(out), ANSWER_BYTES) == NULL) {
        http_reply_error(out, 503, "The server is short of memory", NULL);
        return;
    }
    log_info("backup", "to %s, for %s", log_quote(slice_str(to)), http_peer(r));
    if (backup_make(a->store, &b, &e) != ST_OK) {
        log_warn("backup", "to %s failed: %s", log_quote(slice_str(to)),
                 e.text);
        http_reply_failure(out, &e);
        return;
    }
    log_info("backup", "to %s is done: %llu points", log_quote(slice_str(to)),
             (unsigned long long)b.counts.points);
    buf_printf(
        http_reply_body(out),
        "{\"names\":%llu,\"series\":%llu,\"rows\":%llu,\"points\":%llu,"
        "\"histograms\":%llu,\"annotations\":%llu}",
        (unsigned long long)b.counts.names, (unsigned long long)b.counts.series,
        (unsigned long long)b.counts.rows, (unsigned long long)b.counts.points,
        (unsigned long long)b.counts.histograms,
        (unsigned long long)b.counts.notes);
}

void
api_backup(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct api *a = ctx;
    struct slice to;
    char *path;

    if (!http_is_trusted(r, HTTP_TO_ADMINISTER) &&
        !a->settings->backup_remote) {
        http_reply_not_local(out, "Only this machine may make backups",
                             "halite.backup.remote=true lets others do it");
        return;
    }
    if (!api_need_param(r, "to", &to, out))
        return;
    if (to.data[0] != '/' || memchr(to.data, '\0', to.size) != NULL) {
        http_reply_error(out, 400, "\"to\" must be an absolute path", NULL);
        return;
    }
    if (atomic_exchange(a->backup_busy, true)) {
        http_reply_error(out, 503, "Another backup is under way", NULL);
        return;
    }
    path = mem_strndup(to.data, to.size);
    make(a, r, path, out);
    free(path);
    atomic_store(a->backup_busy, false);
}
