/* /api/config: all settings as they are in force; /api/config/filters: the
 * filters and their use. */
#include "tsd/api/api.h"

#include "base/process/log.h"
#include "query/model/filter.h"
#include "web/json/json.h"

/* A password must not be shown, whatever setting holds it. */
static bool
is_secret(const char *key)
{
    for (; *key != '\0'; key++)
        if (strncasecmp(key, "pass", 4) == 0)
            return true;
    return false;
}

static void
put_setting(void *ctx, const char *key, const char *value)
{
    if (is_secret(key))
        value = "********";
    else if (strcmp(key, "halite.log.level") == 0) /* it changes */
        value = log_level_name(log_get_level());
    json_put_text(ctx, key, slice_str(value));
}

/* Clients expect seven: not_key, which OpenTSDB knows but does not list, is not
 * among them. */
static const struct filter_help {
    enum filter_type type;
    const char *description, *examples;
} filters[] = {
    { FILTER_LITERAL_OR,
      "Takes the series whose tag has one of the values, which are parted by "
      "a bar.",
      "host=literal_or(web01|web02)" },
    { FILTER_ILITERAL_OR,
      "Takes the series whose tag has one of the values, in any case.",
      "host=iliteral_or(web01|WEB02)" },
    { FILTER_NOT_LITERAL_OR,
      "Takes the series that have the tag, with none of the values.",
      "host=not_literal_or(web01|web02)" },
    { FILTER_NOT_ILITERAL_OR,
      "Takes the series that have the tag, with none of the values in any "
      "case.",
      "host=not_iliteral_or(web01|WEB02)" },
    { FILTER_WILDCARD,
      "Takes the series whose tag's value matches; a star stands for any "
      "characters.",
      "host=wildcard(web*), host=wildcard(*.example.com)" },
    { FILTER_IWILDCARD, "As wildcard, in any case.", "host=iwildcard(WEB*)" },
    { FILTER_REGEXP,
      "Takes the series in whose tag's value the regular expression is found; "
      "braces must not be in a URI's.",
      "host=regexp(web[0-9]+)" },
};

void
api_config(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct api *a = ctx;
    struct buf *b = http_reply_body(out);

    if (slice_eq_str(api_sub_path(r), "filters")) {
        buf_put_u8(b, '{');
        for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++) {
            const struct filter_help *f = &filters[i];

            json_open(b, filter_type_name(f->type), '{');
            json_put_text(b, "examples", slice_str(f->examples));
            json_put_text(b, "description", slice_str(f->description));
            buf_put_u8(b, '}');
        }
        buf_put_u8(b, '}');
        return;
    }
    buf_put_u8(b, '{');
    settings_each(a->settings, put_setting, b);
    buf_put_u8(b, '}');
}
