/* What daemons of one store say to each other, as bytes (docs/PROTOCOL.md,
 * "Between daemons"): a hello, in which each side proves that it knows the
 * store's secret, then one request after the other, each with its answer.
 *
 *     client:  <0x02 "HALP" version:2> <nonce:32>
 *     server:  <0x02 "HALP" version:2> <nonce:32> <proof:32>
 *     client:  <proof:32>
 *     request: <length:4> <type:1> <payload> <crc32c:4>
 *     answer:  <length:4> <status:1> <payload> <crc32c:4>
 *
 * Threads: owner.
 * Fails:   ST_CORRUPT: malformed; ST_CONFLICT: another version; ST_INVALID:
 *          another secret. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#define FRAME_MARK        0x02 /* the first byte of a connection */
#define FRAME_VERSION     3
#define FRAME_SECRET_SIZE 32

/* -- frames ---------------------------------------------------------------- */

#define FRAME_HEAD_SIZE   5
#define FRAME_TAIL_SIZE   4
#define FRAME_REQUEST_MAX ((size_t)64 << 20) /* of a request's payload */

enum frame_type {
    FRAME_PUT = 1,    /* points: records as in the write-ahead log */
    FRAME_HEAD = 2,   /* copies of open rows */
    FRAME_LAST = 3,   /* the newest point of a series */
    FRAME_DELETE = 4, /* a series' points of a range of time */
    FRAME_FLUSH = 5,  /* all open rows into the engine */
    FRAME_TYPE_LAST = FRAME_FLUSH,
};

/* A frame is written in place: begin, append the payload to 'out', end.  'out'
 * is empty before.  'kind' is the type of a request, or the code of an answer's
 * status. */
void frame_begin(struct buf *out);
void frame_end(struct buf *out, uint8_t kind);

/* Reads the first FRAME_HEAD_SIZE bytes of a frame.  ST_LIMIT: the payload has
 * more than 'max' bytes. */
MUST_CHECK enum status frame_read_head(struct slice head, size_t max,
                                       uint8_t *kind, size_t *size,
                                       struct error *e);

/* Returns the payload of a whole frame.  ST_CORRUPT: the checksum differs. */
MUST_CHECK enum status frame_read(struct slice frame, struct slice *payload,
                                  struct error *e);

/* Statuses have numbers of their own on the wire, since the enum may change. */
uint8_t frame_code(enum status status);
MUST_CHECK enum status frame_status(uint8_t code, enum status *out,
                                    struct error *e);

/* -- PUT ------------------------------------------------------------------- */

/* The payload of a PUT is a list of records, each with its size, as
 * buf_put_sized() writes them.  The payload of its answer is the sentence of
 * the commit, empty if the status is ST_OK, and the ranges of records that
 * failed otherwise. */
struct frame_failure {
    uint32_t first, len; /* records, counted from 0 */
    enum status status;
    struct slice text;
};
void frame_put_failure(struct buf *out, const struct frame_failure *f);
/* False at the end of the list; '*e' says if it is malformed. */
struct cursor;
bool frame_next_failure(struct cursor *c, struct frame_failure *out,
                        struct error *e);

/* -- hello ----------------------------------------------------------------- */

#define HELLO_NONCE_SIZE  32
#define HELLO_PROOF_SIZE  32
#define HELLO_MARK_SIZE   7 /* the same in every version */
#define HELLO_ASK_SIZE    (HELLO_MARK_SIZE + HELLO_NONCE_SIZE)
#define HELLO_ANSWER_SIZE (HELLO_ASK_SIZE + HELLO_PROOF_SIZE)

struct hello {
    const uint8_t *secret; /* FRAME_SECRET_SIZE bytes, lent */
    uint16_t version;      /* FRAME_VERSION, but in tests */
    uint8_t client_nonce[HELLO_NONCE_SIZE];
    uint8_t server_nonce[HELLO_NONCE_SIZE];
};

void hello_init(struct hello *h, const uint8_t *secret);

/* Writes the first bytes of either side. */
void hello_mark(const struct hello *h, uint8_t *out);
/* Looks at the first bytes of the other side, up to HELLO_MARK_SIZE of them:
 * ST_OK while they may go on well. */
MUST_CHECK enum status hello_check_mark(const struct hello *h, struct slice in,
                                        struct error *e);

/* The client: writes HELLO_ASK_SIZE bytes; reads HELLO_ANSWER_SIZE and writes
 * HELLO_PROOF_SIZE. */
void hello_ask(struct hello *h, uint8_t *out);
MUST_CHECK enum status hello_prove(struct hello *h, struct slice in,
                                   uint8_t *out, struct error *e);

/* The server: reads HELLO_ASK_SIZE bytes and writes HELLO_ANSWER_SIZE; reads
 * HELLO_PROOF_SIZE. */
MUST_CHECK enum status hello_answer(struct hello *h, struct slice in,
                                    uint8_t *out, struct error *e);
MUST_CHECK enum status hello_check(const struct hello *h, struct slice in,
                                   struct error *e);
