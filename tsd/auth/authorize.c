/* See tsd/auth/authorize.h. */
#include "config.h"

#include "tsd/auth/authorize.h"

#include <strings.h>

#include "base/counters.h"
#include "base/log.h"
#include "base/peer.h"

/* -- HTTP ------------------------------------------------------------------ */

struct claims {
    const char *value;
    size_t len;
};

static void
count_claim(void *ctx, const char *name, const char *value)
{
    struct claims *claims = ctx;

    if (strcasecmp(name, "Authorization") != 0)
        return;
    claims->value = value;
    claims->len++;
}

static void
reject(struct http_reply *out, unsigned status, const char *message,
       const char *details)
{
    http_reply_error(out, status, message, details);
    http_reply_status(out, status); /* that of a page too */
}

static void
ask_for_credentials(struct http_reply *out, bool tried)
{
    counter_add(CNT_UNKNOWN_HTTP, 1);
    reject(out, 401, "Unauthorized",
           tried ? "These credentials are not good"
                 : "This needs a password or a token");
    http_reply_header(out, "WWW-Authenticate",
                      "Basic realm=\"Halite\", charset=\"UTF-8\"");
    http_reply_header(out, "WWW-Authenticate", "Bearer realm=\"Halite\"");
}

static const char *
role_of(unsigned needs)
{
    return (needs & HTTP_ADMIN) != 0    ? "This needs the role admin"
           : (needs & HTTP_WRITES) != 0 ? "This needs the role write"
                                        : "This needs the role read";
}

/* What an administrator did is told, with his name. */
static enum http_verdict
let_in(const struct http_request *r, unsigned needs,
       const struct auth_identity *who, struct http_reply *out)
{
    if ((needs & ~who->rights) != 0) {
        counter_add(CNT_FORBIDDEN_HTTP, 1);
        log_debug("auth", "%s (%s) may not: %s", who->name, http_peer(r),
                  log_quote(slice_str(http_url(r))));
        reject(out, 403, "Forbidden", role_of(needs));
        return HTTP_DENIED;
    }
    if ((needs & HTTP_ADMIN) != 0)
        log_info("auth", "%s (%s): %s", who->name, http_peer(r),
                 log_quote(slice_str(http_url(r))));
    return HTTP_ALLOWED;
}

static void
gate_too_many(struct http_reply *out, const char *message)
{
    counter_add(CNT_UNKNOWN_HTTP, 1);
    reject(out, 429, message, "Please try again later");
    http_reply_header(out, "Retry-After", "10");
}

enum http_verdict
gate_http(void *ctx, const struct http_request *r, unsigned needs,
          bool may_block, unsigned *rights, struct http_reply *out)
{
    struct auth *a = ctx;
    struct claims claims = { 0 };
    struct auth_identity who;

    http_each_header(r, count_claim, &claims);
    if (claims.len == 0) {
        *rights = auth_anyone(a);
        if ((needs & ~*rights) == 0)
            return HTTP_ALLOWED;
        ask_for_credentials(out, false);
        return HTTP_DENIED;
    }
    switch (claims.len > 1 ? AUTH_WRONG
                           : auth_header(a, slice_str(claims.value),
                                         http_peer_key(r), may_block, &who)) {
    case AUTH_OK:
        *rights = who.rights;
        return let_in(r, needs, &who, out);
    case AUTH_SLOW:
        return HTTP_SLOW;
    case AUTH_TOO_MANY:
        gate_too_many(out, "Too many wrong passwords");
        return HTTP_DENIED;
    case AUTH_WRONG:
    default:
        ask_for_credentials(out, true);
        return HTTP_DENIED;
    }
}

/* -- telnet ---------------------------------------------------------------- */

static void
to_who(const struct auth_identity *from, struct telnet_who *who)
{
    _Static_assert(sizeof who->mark == sizeof from->mark, "marks differ");
    who->rights = from->rights;
    who->known = from->name[0] != '\0';
    who->epoch = from->epoch;
    memcpy(who->mark, from->mark, sizeof who->mark);
}

enum telnet_verdict
gate_telnet(void *ctx, const struct sockaddr *peer, struct slice name,
            struct slice secret, bool may_block, struct telnet_who *who)
{
    struct auth *a = ctx;
    struct auth_identity is;
    enum auth_verdict v =
        name.size == 0
            ? auth_token(a, secret, &is)
            : auth_password(a, name, secret, peer_key(peer), may_block, &is);

    if (v == AUTH_SLOW)
        return TELNET_SLOW;
    if (v != AUTH_OK && secret.size == 0)
        auth_nobody(a, &is);
    if (v == AUTH_OK || secret.size == 0)
        to_who(&is, who);
    return v == AUTH_OK ? TELNET_LOGGED_IN : TELNET_DENIED;
}

void
gate_renew(void *ctx, struct telnet_who *who)
{
    struct auth *a = ctx;
    struct auth_identity is;

    if (auth_renew(a, who->epoch, who->mark, &is))
        to_who(&is, who);
}
