/* See tsd/gate.h. */
#include "config.h"

#include "tsd/gate.h"

#include <netinet/in.h>
#include <strings.h>

#include "base/counters.h"
#include "base/log.h"

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
refuse(struct http_reply *out, unsigned status, const char *message,
       const char *details)
{
    http_reply_error(out, status, message, details);
    http_reply_status(out, status); /* that of a page too */
}

static void
ask_for_credentials(struct http_reply *out, bool tried)
{
    counter_add(CNT_UNKNOWN_HTTP, 1);
    refuse(out, 401, "Unauthorized",
           tried ? "These credentials are not good"
                 : "This needs a password or a token");
    http_reply_header(out, "WWW-Authenticate",
                      "Basic realm=\"Halite\", charset=\"UTF-8\"");
    http_reply_header(out, "WWW-Authenticate", "Bearer realm=\"Halite\"");
}

/* The address without its port. */
static struct slice
peer_address(const struct http_request *r)
{
    const char *peer = http_peer(r), *colon = strrchr(peer, ':');

    return slice_of(peer,
                    colon == NULL ? strlen(peer) : (size_t)(colon - peer));
}

static const char *
role_of(unsigned needs)
{
    return (needs & HTTP_ADMIN) != 0    ? "This needs the role admin"
           : (needs & HTTP_WRITES) != 0 ? "This needs the role write"
                                        : "This needs the role read";
}

/* What an administrator did is told, with his name. */
static bool
let_in(const struct http_request *r, unsigned needs,
       const struct auth_identity *who, struct http_reply *out)
{
    if ((needs & ~who->rights) != 0) {
        counter_add(CNT_FORBIDDEN_HTTP, 1);
        log_debug("auth", "%s (%s) may not: %s", who->name, http_peer(r),
                  log_quote(slice_str(http_url(r))));
        refuse(out, 403, "Forbidden", role_of(needs));
        return false;
    }
    if ((needs & HTTP_ADMIN) != 0)
        log_info("auth", "%s (%s): %s", who->name, http_peer(r),
                 log_quote(slice_str(http_url(r))));
    return true;
}

bool
gate_http(void *ctx, const struct http_request *r, unsigned needs,
          unsigned *rights, struct http_reply *out)
{
    struct auth *a = ctx;
    struct claims claims = { 0 };
    struct auth_identity who;

    http_each_header(r, count_claim, &claims);
    if (claims.len == 0) {
        *rights = auth_anyone(a);
        if ((needs & ~*rights) == 0)
            return true;
        ask_for_credentials(out, false);
        return false;
    }
    switch (claims.len > 1 ? AUTH_WRONG
                           : auth_header(a, slice_str(claims.value),
                                         peer_address(r), &who)) {
    case AUTH_OK:
        *rights = who.rights;
        return let_in(r, needs, &who, out);
    case AUTH_TOO_MANY:
        counter_add(CNT_UNKNOWN_HTTP, 1);
        refuse(out, 429, "Too many wrong passwords", "Please try again later");
        http_reply_header(out, "Retry-After", "10");
        return false;
    case AUTH_WRONG:
    default:
        ask_for_credentials(out, true);
        return false;
    }
}

/* -- telnet ---------------------------------------------------------------- */

static struct slice
address_bytes(const struct sockaddr *peer)
{
    const struct sockaddr_in *v4 = (const void *)peer;
    const struct sockaddr_in6 *v6 = (const void *)peer;

    if (peer->sa_family == AF_INET)
        return slice_of(&v4->sin_addr, sizeof v4->sin_addr);
    if (peer->sa_family == AF_INET6)
        return slice_of(&v6->sin6_addr, sizeof v6->sin6_addr);
    return slice_str("");
}

static void
to_who(const struct auth_identity *from, struct telnet_who *who)
{
    _Static_assert(sizeof who->mark == sizeof from->mark, "marks differ");
    who->rights = from->rights;
    who->known = from->name[0] != '\0';
    who->epoch = from->epoch;
    memcpy(who->mark, from->mark, sizeof who->mark);
}

bool
gate_telnet(void *ctx, const struct sockaddr *peer, struct slice name,
            struct slice secret, struct telnet_who *who)
{
    struct auth *a = ctx;
    struct auth_identity is;
    enum auth_verdict v =
        name.size == 0
            ? auth_token(a, secret, &is)
            : auth_password(a, name, secret, address_bytes(peer), &is);

    if (v != AUTH_OK && secret.size == 0)
        auth_nobody(a, &is);
    if (v == AUTH_OK || secret.size == 0)
        to_who(&is, who);
    return v == AUTH_OK;
}

void
gate_renew(void *ctx, struct telnet_who *who)
{
    struct auth *a = ctx;
    struct auth_identity is;

    if (auth_renew(a, who->epoch, who->mark, &is))
        to_who(&is, who);
}
