/* Requests to store points that failed as a whole, so that no point of theirs
 * was looked at: a body that is not JSON, an unknown encoding, a missing right,
 * a wrong path. Most clients never read an answer, so each is counted, and the
 * first of a kind is logged with its client and the reason.
 *
 * Threads: any. */
#pragma once

#include "base/process/log_throttle.h"
#include "web/http.h"

enum put_failure {
    PUT_FAILED_BODY,
    PUT_FAILED_ENCODING,
    PUT_FAILED_SIZE,
    PUT_FAILED_FORBIDDEN,
    PUT_FAILED_PATH,
    PUT_FAILED_UNAVAILABLE,
};
#define PUT_FAILURES 6

/* Zeroed memory is ready for use. */
struct put_failures {
    struct log_throttle log[PUT_FAILURES];
};

/* http_failed() of the server; 'ctx' is a struct put_failures. Requests that
 * would not have stored points are ignored. */
http_failed put_failures_report;
