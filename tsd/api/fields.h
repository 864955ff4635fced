/* The members of a request, which stand in the query string or in a JSON body:
 * a table names each, and one reader serves all requests.
 *
 *     static const struct field fields[] = {
 *         { "retention", "retention", FIELD_INT,
 *           offsetof(struct x, retention), FIELD_IF_SET, BIT, NULL },
 *     };
 *
 * JSON is read as leniently as Jackson does for OpenTSDB: numbers as texts,
 * texts as numbers, the empty text as 0; null counts as absent.
 *
 * Owns:    texts are copied to the request's arena.
 * Threads: any; these are functions of their arguments.
 * Fails:   ST_INVALID when a member has the wrong type, ST_LIMIT past the
 *          arena.  An absent member leaves its output alone. */
#pragma once

#include "tsd/api/api.h"

enum field_type {
    FIELD_TEXT,   /* struct slice */
    FIELD_INT,    /* int64_t of 32 bits; fractions are cut off */
    FIELD_WHOLE,  /* int64_t; fractions are cut off */
    FIELD_BOOL,   /* bool; as a parameter true when it is there */
    FIELD_SWITCH, /* bool: is the text "true", in any case? */
    FIELD_DOUBLE, /* double; a parameter has the 24 bits of Java's float */
    FIELD_PAIRS,  /* struct text_pairs; an object of texts or null */
    FIELD_LIST,   /* struct field_list; a parameter is split at commas */
    FIELD_OTHER,  /* known, but read by the caller */
};

enum field_flag {
    FIELD_NEEDED = 1,   /* a parameter must be there and not empty */
    FIELD_NULLABLE = 2, /* null is a value: annotation_is_null() */
    FIELD_IF_SET = 4,   /* the empty text and 0 count as absent */
    FIELD_NULL_IS_0 = 8,
    FIELD_ANY_CASE = 16, /* of the name in JSON */
    FIELD_DETAILS = 32,  /* a bad parameter is quoted in the details */
};

struct field {
    const char *param, *json; /* NULL: not there */
    enum field_type type;
    size_t offset;
    unsigned flags;
    unsigned bit; /* set in 'seen' when it has a value */
    /* The sentence for a bad parameter, or a list in JSON; NULL: the usual. */
    const char *fault;
};

struct field_table {
    const struct field *fields;
    size_t len;
};

/* The tables of requests that tsd/api/openapi/openapi.def refers to. */
extern const struct field_table annotation_fields, annotation_range_fields,
    last_fields, lookup_fields, lookup_body_fields, meta_series_fields,
    meta_uid_fields, search_fields, tree_branch_fields, tree_fields,
    tree_rule_fields, tree_rules_fields, tree_tsuids_fields;

struct field_list {
    struct slice *texts;
    size_t len;
    bool has;
};

#define FIELDS(table) (table), sizeof(table) / sizeof(table)[0]

/* Reads the body, or the parameters when it is empty.  False: it replied. */
bool fields_read(const struct http_request *r, const struct field *fields,
                 size_t len, void *out, unsigned *seen,
                 struct http_reply *reply);
bool fields_read_params(const struct http_request *r,
                        const struct field *fields, size_t len, void *out,
                        unsigned *seen, struct http_reply *reply);
MUST_CHECK enum status fields_read_json(const struct json_t *json,
                                        const struct field *fields, size_t len,
                                        struct arena *a, void *out,
                                        unsigned *seen, struct error *e);
/* ST_INVALID when the object has a member that is not in the table. */
MUST_CHECK enum status fields_only(const struct json_t *json,
                                   const struct field *fields, size_t len,
                                   struct error *e);
/* A text, a number or a boolean as a text; null counts as absent. */
MUST_CHECK enum status field_read_text(const struct json_t *value,
                                       const char *name, struct arena *a,
                                       struct slice *out, struct error *e);

/* Java's split(","): what is empty at the end does not count, but the empty
 * text is one empty element.  False: no memory. */
bool field_split(struct slice list, struct arena *a, struct field_list *out);

void field_put_pairs(struct buf *b, const char *name, const struct tag *pairs,
                     size_t len);
/* Writes nothing when the text is null. */
void field_put_if(struct buf *b, const char *name, struct slice text);
