/* /api/search: 'lookup' is served by api_lookup.c. OpenTSDB hands the other
 * types of searches to a plugin. Without one it reads the request and answers
 * that searching is not enabled, and so does this server. */
#include "tsd/api/api.h"

#include "tsd/api/fields.h"

static const char *const types[] = { "tsmeta", "tsmeta_summary", "tsuids",
                                     "uidmeta", "annotation" };

struct search_request {
    struct slice query;
    int64_t limit, start;
};

static const struct field of_search[] = {
#define AT(member) offsetof(struct search_request, member)
    { "query", "query", FIELD_TEXT, AT(query), FIELD_NEEDED, 0, NULL },
    { "limit", "limit", FIELD_INT, AT(limit), 0, 0,
      "Unable to convert 'limit' to a valid number" },
    { "start_index", "startIndex", FIELD_INT, AT(start), 0, 0,
      "Unable to convert 'start_index' to a valid number" },
#undef AT
};

const struct field_table search_fields = { FIELDS(of_search) };

static bool
is_type(struct slice type)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (slice_eq_str(type, types[i]))
            return true;
    return false;
}

void
api_search(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const char *at = http_path(r) + strlen("/api/search");
    struct search_request request;
    struct slice type;
    char details[200];
    unsigned seen;

    if (http_method(r) == HTTP_PUT || http_method(r) == HTTP_DELETE) {
        http_reply_error(out, 400,
                         http_method(r) == HTTP_PUT
                             ? "Unsupported method: PUT"
                             : "Unsupported method: DELETE",
                         NULL);
        return;
    }
    if (!api_is_current(ctx, out))
        return;
    at += *at == '/';
    type = slice_of(at, strcspn(at, "/"));
    if (slice_eq_str(type, "lookup")) {
        api_lookup(ctx, r, out);
    } else if (type.size == 0) {
        http_reply_error(out, 400, "Invalid search query type supplied",
                         "Type provided was null or empty");
    } else if (!is_type(type)) {
        (void)snprintf(details, sizeof details, "Unknown type: %.*s",
                       SLICE_ARG(type));
        http_reply_error(out, 400, "Invalid search query type supplied",
                         details);
    } else if (fields_read(r, FIELDS(of_search), &request, &seen, out)) {
        http_reply_error(out, 400, "Searching is not enabled",
                         "Searching has not been enabled on this TSD");
    }
}
