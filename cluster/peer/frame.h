/* What daemons of one store say to each other, as bytes (docs/PROTOCOL.md,
 * "Between daemons"): a hello, in which each side proves that it knows the
 * store's secret, then frames.
 *
 *     frame:  <length:4> <type:1> <number:8> <payload> <crc32c:4>
 *     client: <0x02 "HALP" version:2> <nonce:32>
 *     server: <0x02 "HALP" version:2> <nonce:32> <proof:32>
 *     client: <proof:32>
 *
 * Requests are numbered by the side that connected, and each is answered by a
 * frame of its type and number.
 *
 * Owns:    a reader its bytes; what it lends dies at its next call.
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

#define FRAME_HEAD_SIZE   13
#define FRAME_TAIL_SIZE   4
#define FRAME_PAYLOAD_MAX ((size_t)16 << 20)

enum frame_type {
    FRAME_PUT = 1,    /* points: a record as in the write-ahead log */
    FRAME_HEAD = 2,   /* copies of open rows */
    FRAME_LAST = 3,   /* the newest point of a series */
    FRAME_DELETE = 4, /* a series' points of a range of time */
    FRAME_FLUSH = 5,  /* all open rows into the engine */
    FRAME_PING = 6,
    FRAME_TYPE_LAST = FRAME_PING,
    FRAME_MORE = 0x40,   /* with FRAME_ANSWER: the next frame goes on */
    FRAME_ANSWER = 0x80, /* the type is that of the request */
};

struct frame {
    uint8_t type;
    uint64_t number;
    struct slice payload; /* lent */
};

/* Appends a frame; 'payload' has FRAME_PAYLOAD_MAX bytes at the most. */
void frame_put(struct buf *out, uint8_t type, uint64_t number,
               struct slice payload);

/* Appends a frame of the answer to a request: its status and, with ST_OK,
 * '*body', else the sentence.  True: the body is large, and '*body' is what is
 * left of it for the next frame. */
bool frame_put_answer(struct buf *out, uint8_t type, uint64_t number,
                      enum status status, struct slice *body);

/* Reads the payload of an answer's last frame; '*body' is lent. ST_CORRUPT:
 * malformed, which is not what '*status' says. */
MUST_CHECK enum status frame_read_answer(struct slice payload,
                                         enum status *status,
                                         struct slice *body, struct error *e);

/* A stream of bytes, cut into frames:
 *
 *     room -> (recv) -> added -> next, next, ... false -> room ...
 *
 * A malformed frame is the end: 'error' says so, and next() is false for ever.
 */
struct frame_reader {
    struct buf in;
    size_t at;          /* what was lent already is in front of it */
    uint64_t frames;    /* lent */
    struct error error; /* ST_OK: none */
};

void frame_reader_init(struct frame_reader *r);
void frame_reader_fini(struct frame_reader *r);
/* Where to read to, '*size' bytes, at least 4 KB; NULL: no memory, or it has
 * failed. */
uint8_t *frame_reader_room(struct frame_reader *r, size_t *size);
void frame_reader_added(struct frame_reader *r, size_t size);
/* False: it takes more bytes, or it has failed. */
bool frame_reader_next(struct frame_reader *r, struct frame *out);
/* Has it a part of a frame? */
bool frame_reader_has_part(const struct frame_reader *r);

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

/* Looks at the first bytes of the other side, up to HELLO_MARK_SIZE of them:
 * ST_OK while they may go on well. */
MUST_CHECK enum status hello_check_mark(const struct hello *h, struct slice in,
                                        struct error *e);

/* The client: writes HELLO_ASK_SIZE bytes; reads HELLO_ANSWER_SIZE and writes
 * HELLO_PROOF_SIZE. */
void hello_ask(struct hello *h, uint8_t *out);
MUST_CHECK enum status hello_prove(struct hello *h, struct slice in,
                                   uint8_t *out, struct error *e);

/* The server: reads HELLO_ASK_SIZE bytes and writes HELLO_ANSWER_SIZE; of a
 * version that is not ours only the first HELLO_MARK_SIZE are to be sent.
 * Reads HELLO_PROOF_SIZE. */
MUST_CHECK enum status hello_answer(struct hello *h, struct slice in,
                                    uint8_t *out, struct error *e);
MUST_CHECK enum status hello_check(const struct hello *h, struct slice in,
                                   struct error *e);
