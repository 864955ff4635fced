/* A pull reader over the body of /api/put: one point at a time, its parts as
 * they stand in the body, nothing copied and nothing allocated.  The whole body
 * can thus be checked before the first point is stored, and memory does not
 * grow with it.
 *
 * A body may contain several documents: objects and arrays that follow each
 * other, with or without blanks, line ends or a comma between them.  Shippers
 * of logs (Vector, Fluent Bit, Logstash) send one object per line.
 *
 * It takes what OpenTSDB's parser takes: unknown members are skipped, of equal
 * names the last wins, NaN and Infinity are numbers.  Text after the last
 * document is ignored only if it contains neither '{' nor '['.  It is strict in
 * the rest.  Bytes that are no UTF-8, lone surrogates and numbers out of range
 * are no faults of the syntax; they are found when the point is looked at.
 *
 * Owns:    nothing; it borrows the body.
 * Bounds:  values may be nested 64 deep.
 * Threads: owner. */
#pragma once

#include "tsd/put/json_cursor.h"
#include "tsd/put/put_tags.h"

/* A point of a JSON body: the bytes as they stand there. */
struct put_json_point {
    struct slice metric; /* between the quotes, or a literal; data NULL: null */
    struct slice tags;   /* with the braces; data NULL: null or absent */
    struct slice value;  /* between the quotes, or a literal; data NULL: null */
    int64_t time;        /* 0: null or absent */
    bool absent;         /* null stands where a point should */
    union {
        /* Of a rollup, as 'metric'. */
        struct {
            struct slice interval, aggregator, group_by;
        };
        /* Of a histogram. */
        struct {
            struct slice buckets; /* as 'tags': see put_json_bucket() */
            int64_t id, underflow, overflow;
        };
        /* Of many points of a series. */
        struct {
            struct slice kind;          /* of the series, as 'metric' */
            struct slice times, values; /* as 'tags': see put_json_item() */
        };
    };
};

/* Which members a point has beside the usual four. */
enum put_json_kind {
    PUT_JSON_POINTS,
    PUT_JSON_ROLLUPS,
    PUT_JSON_HISTOGRAMS,
    PUT_JSON_SERIES, /* import's and scan's */
};

/* The position of the reader. */
enum put_json_state {
    PUT_JSON_AT_OBJECT,      /* at a document that is one point */
    PUT_JSON_AT_ARRAY,       /* after the bracket that opens an array */
    PUT_JSON_IN_ARRAY,       /* after a comma of that array */
    PUT_JSON_AFTER_DOCUMENT, /* after an object or array */
};

struct put_json {
    struct json_cursor in;
    struct slice last_tags; /* the next point's are often the same */
    enum put_json_state state;
    enum put_json_kind kind; /* set it behind put_json_open() */
};

/* False when the body is neither an object nor an array (or is empty). */
bool put_json_open(struct put_json *r, struct slice body);

/* The next point; false at the end or at a fault. */
bool put_json_next(struct put_json *r, struct put_json_point *out);

/* What is wrong, and where: "... at byte 17". ST_OK when nothing is. */
enum status put_json_status(const struct put_json *r, struct error *e);

/* Appends the text of a string's inside, escapes resolved; what has no UTF-8
 * form becomes U+FFFD.  At most three times as long as 'raw'. */
void put_json_unescape(struct slice raw, struct buf *out);
/* The same, returned as it lies in 'text' until that moves; of NULL, NULL. */
struct slice put_json_text(struct slice raw, struct buf *text);

/* Reads a point's tags, which put_json_next() checked; 'text' keeps the bytes
 * that the tags refer to. */
void put_json_tags(struct slice raw, struct put_tags *tags, struct buf *text);

/* Takes the next of a histogram's buckets, which put_json_next() checked, from
 * '*left': its bounds, "0,10", and its count, 0 for null.  False at the end. */
bool put_json_bucket(struct slice *left, struct buf *bounds, int64_t *count);

/* Takes the next element of 'times' or 'values', which put_json_next() checked,
 * from '*left': its bytes as 'value' has them.  False at the end. */
bool put_json_item(struct slice *left, struct slice *raw);
