#include "tsd/auth/authorize.h"

#include "base/process/counters.h"
#include "base/process/log.h"
#include "base/address.h"

/* Authorization: the last one, and how many. */
struct auth_fields {
    struct slice value;
    size_t len;
};

static void
count_credentials(void *ctx, struct slice name, struct slice value)
{
    struct auth_fields *fields = ctx;

    if (!slice_eq_nocase(name, slice_str("Authorization")))
        return;
    fields->value = value;
    fields->len++;
}

static void
authorize_reject(struct http_reply *out, unsigned status, const char *message,
                 const char *details)
{
    http_reply_error(out, status, message, details);
    http_reply_status(out, status); /* that of a page too */
}

static void
ask_for_credentials(const struct http_request *r, struct http_reply *out,
                    bool tried)
{
    counter_add(CNT_UNKNOWN_HTTP, 1);
    authorize_reject(out, 401, "Unauthorized",
                     tried ? "These credentials are not good"
                           : "This needs a password or a token");
    if (http_header(r, "X-Requested-With") != NULL)
        return; /* a script: a browser's own dialogue would be in its way */
    http_reply_header(out, "WWW-Authenticate",
                      "Basic realm=\"Halite\", charset=\"UTF-8\"");
    http_reply_header(out, "WWW-Authenticate", "Bearer realm=\"Halite\"");
}

/* Requests of administrators are logged, with the name. */
static enum http_verdict
let_in(const struct http_request *r, unsigned required,
       const struct auth_identity *who, struct http_reply *out)
{
    if ((required & ~who->rights) != 0) {
        counter_add(CNT_FORBIDDEN_HTTP, 1);
        log_debug("auth", "%s (%s) may not: %s", who->name, http_peer(r),
                  log_quote(slice_str(http_url(r))));
        authorize_reject(
            out, 403, "Forbidden",
            (required & HTTP_ADMIN) != 0    ? "This needs the role admin"
            : (required & HTTP_WRITES) != 0 ? "This needs the role write"
                                            : "This needs the role read");
        return HTTP_DENIED;
    }
    if ((required & HTTP_ADMIN) != 0)
        log_info("auth", "%s (%s): %s", who->name, http_peer(r),
                 log_quote(slice_str(http_url(r))));
    return HTTP_ALLOWED;
}

enum http_verdict
authorize_http(void *ctx, const struct http_request *r, unsigned required,
               bool may_block, unsigned *rights, struct http_reply *out)
{
    struct auth *a = ctx;
    struct auth_fields fields = { 0 };
    struct auth_identity who;

    http_each_header(r, count_credentials, &fields);
    if (fields.len == 0) {
        auth_anonymous(a, &who);
        *rights = who.rights;
        if ((required & ~*rights) == 0)
            return HTTP_ALLOWED;
        ask_for_credentials(r, out, false);
        return HTTP_DENIED;
    }
    switch (fields.len > 1 ? AUTH_WRONG
                           : auth_header(a, fields.value, http_peer_key(r),
                                         may_block, &who)) {
    case AUTH_OK:
        *rights = who.rights;
        return let_in(r, required, &who, out);
    case AUTH_SLOW:
        return HTTP_SLOW;
    case AUTH_TOO_MANY:
        counter_add(CNT_UNKNOWN_HTTP, 1);
        authorize_reject(out, 429, "Too many wrong passwords",
                         "Please try again later");
        http_reply_header(out, "Retry-After", "10");
        return HTTP_DENIED;
    case AUTH_WRONG:
    default:
        ask_for_credentials(r, out, true);
        return HTTP_DENIED;
    }
}

enum auth_verdict
authorize_telnet(void *auth, const struct sockaddr *peer, struct slice name,
                 struct slice secret, bool may_block, struct auth_identity *who)
{
    struct auth *a = auth;
    struct auth_identity found;
    enum auth_verdict v =
        name.size == 0 ? auth_token(a, secret, &found)
                       : auth_password(a, name, secret, address_key(peer),
                                       may_block, &found);

    if (v == AUTH_SLOW)
        return v;
    if (v == AUTH_OK)
        *who = found;
    else if (secret.size == 0)
        auth_anonymous(a, who);
    return v;
}

void
authorize_renew(void *auth, struct auth_identity *who)
{
    struct auth_identity now;

    if (auth_renew(auth, who->generation, who->fingerprint, &now))
        *who = now;
}
