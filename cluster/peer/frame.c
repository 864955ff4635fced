/* See cluster/peer/frame.h. */
#include "cluster/peer/frame.h"

#include <gnutls/crypto.h>

#include "base/crc32c.h"
#include "base/cursor.h"
#include "base/obj.h"

#define ROOM_BYTES ((size_t)64 << 10)
#define PART_BYTES ((size_t)256 << 10) /* of an answer, in a frame */
#define KEEP_BYTES ((size_t)1 << 20)   /* of an empty reader's memory */

/* -- frames ---------------------------------------------------------------- */

static bool
is_type(uint8_t type)
{
    uint8_t of = type & (uint8_t) ~(FRAME_ANSWER | FRAME_MORE);

    return of >= 1 && of <= FRAME_TYPE_LAST &&
           ((type & FRAME_MORE) == 0 || (type & FRAME_ANSWER) != 0);
}

/* A frame whose payload is 'first' and 'rest'. */
static void
put_frame(struct buf *out, uint8_t type, uint64_t number, struct slice first,
          struct slice rest)
{
    size_t at = out->size, size = first.size + rest.size;

    INSIST(is_type(type) && size <= FRAME_PAYLOAD_MAX);
    if (buf_reserve(out, FRAME_HEAD_SIZE + size + FRAME_TAIL_SIZE) == NULL)
        return;
    buf_put_u32(out, (uint32_t)size);
    buf_put_u8(out, type);
    buf_put_u64(out, number);
    buf_put_slice(out, first);
    buf_put_slice(out, rest);
    buf_put_u32(out, crc32c(slice_of(out->data + at, out->size - at)));
}

void
frame_put(struct buf *out, uint8_t type, uint64_t number, struct slice payload)
{
    put_frame(out, type, number, payload, slice_of(NULL, 0));
}

/* What statuses are on the wire: its own numbers, since the enum may grow in
 * its midst. */
static const struct {
    enum status status;
    uint8_t code;
} codes[] = {
    { ST_OK, 0 },      { ST_NOT_FOUND, 1 }, { ST_INVALID, 2 },
    { ST_LIMIT, 3 },   { ST_BUSY, 4 },      { ST_CONFLICT, 5 },
    { ST_IO, 6 },      { ST_CORRUPT, 7 },   { ST_TIMEOUT, 8 },
    { ST_EXPIRED, 9 }, { ST_MOVED, 10 },
};

#define CODES_LEN (sizeof codes / sizeof codes[0])

static uint8_t
code_of(enum status status)
{
    size_t i = 0;

    while (i < CODES_LEN && codes[i].status != status)
        i++;
    INSIST(i < CODES_LEN);
    return codes[i].code;
}

bool
frame_put_answer(struct buf *out, uint8_t type, uint64_t number,
                 enum status status, struct slice *body)
{
    uint8_t code = code_of(status), answer = type | FRAME_ANSWER;

    if (body->size <= PART_BYTES) {
        put_frame(out, answer, number, slice_of(&code, 1), *body);
        return false;
    }
    frame_put(out, answer | FRAME_MORE, number,
              slice_of(body->data, PART_BYTES));
    *body = slice_of(body->data + PART_BYTES, body->size - PART_BYTES);
    return true;
}

enum status
frame_read_answer(struct slice payload, enum status *status, struct slice *body,
                  struct error *e)
{
    struct cursor c = cursor_of(payload);
    uint8_t code = cursor_u8(&c);
    size_t i = 0;

    while (i < CODES_LEN && codes[i].code != code)
        i++;
    if (c.failed || i == CODES_LEN)
        return error_set(e, ST_CORRUPT, "malformed answer: status %u",
                         (unsigned)code);
    *status = codes[i].status;
    *body = cursor_bytes(&c, cursor_left(&c));
    return ST_OK;
}

void
frame_reader_init(struct frame_reader *r)
{
    *r = (struct frame_reader){ 0 };
}

void
frame_reader_fini(struct frame_reader *r)
{
    buf_fini(&r->in);
}

uint8_t *
frame_reader_room(struct frame_reader *r, size_t *size)
{
    size_t left = r->in.size - r->at;
    uint8_t *room;

    if (r->error.status != ST_OK)
        return NULL;
    if (left == 0 && r->in.cap > KEEP_BYTES)
        buf_fini(&r->in);
    else if (r->at > 0)
        memmove(r->in.data, r->in.data + r->at, left);
    r->in.size = left;
    r->at = 0;
    room = buf_reserve(&r->in, ROOM_BYTES);
    if (room == NULL)
        (void)error_set(&r->error, ST_BUSY, "no memory for a frame");
    *size = r->in.cap - r->in.size;
    return room;
}

void
frame_reader_added(struct frame_reader *r, size_t size)
{
    INSIST(size <= r->in.cap - r->in.size);
    r->in.size += size;
}

bool
frame_reader_next(struct frame_reader *r, struct frame *out)
{
    struct slice all = { NULL, 0 };
    struct cursor c;
    size_t size;

    if (r->error.status != ST_OK || r->in.size - r->at < FRAME_HEAD_SIZE)
        return false;
    all = slice_of(r->in.data + r->at, r->in.size - r->at);
    c = cursor_of(all);
    size = cursor_u32(&c);
    out->type = cursor_u8(&c);
    out->number = cursor_u64(&c);
    if (size > FRAME_PAYLOAD_MAX || !is_type(out->type)) {
        (void)error_set(&r->error, ST_CORRUPT,
                        "malformed frame: type %u, %zu bytes",
                        (unsigned)out->type, size);
        return false;
    }
    if (cursor_left(&c) < size + FRAME_TAIL_SIZE)
        return false;
    out->payload = cursor_bytes(&c, size);
    all.size = FRAME_HEAD_SIZE + size;
    if (cursor_u32(&c) != crc32c(all)) {
        (void)error_set(&r->error, ST_CORRUPT,
                        "damaged frame: type %u, %zu bytes: wrong checksum",
                        (unsigned)out->type, size);
        return false;
    }
    r->at += all.size + FRAME_TAIL_SIZE;
    r->frames++;
    return true;
}

bool
frame_reader_has_part(const struct frame_reader *r)
{
    return r->in.size > r->at;
}

/* -- hello ----------------------------------------------------------------- */

/* The same for both sides: mark, version. */
static void
put_mark(const struct hello *h, uint8_t *out)
{
    out[0] = FRAME_MARK;
    memcpy(out + 1, "HALP", 4);
    out[5] = (uint8_t)(h->version >> 8);
    out[6] = (uint8_t)h->version;
}

/* Who proves is in it, so that no side can send the other's proof back. */
static void
make_proof(const struct hello *h, const char *side, uint8_t *out)
{
    uint8_t mark[HELLO_MARK_SIZE];
    gnutls_hmac_hd_t hmac;

    put_mark(h, mark);
    INSIST(gnutls_hmac_init(&hmac, GNUTLS_MAC_SHA256, h->secret,
                            FRAME_SECRET_SIZE) == 0);
    INSIST(gnutls_hmac(hmac, side, 6) == 0);
    INSIST(gnutls_hmac(hmac, mark, sizeof mark) == 0);
    INSIST(gnutls_hmac(hmac, h->client_nonce, HELLO_NONCE_SIZE) == 0);
    INSIST(gnutls_hmac(hmac, h->server_nonce, HELLO_NONCE_SIZE) == 0);
    gnutls_hmac_deinit(hmac, out);
}

static enum status
check_proof(const struct hello *h, const char *side, const uint8_t *proof,
            struct error *e)
{
    uint8_t want[HELLO_PROOF_SIZE];

    make_proof(h, side, want);
    if (gnutls_memcmp(want, proof, sizeof want) == 0)
        return ST_OK;
    return error_set(e, ST_INVALID,
                     "the %s has another secret: it is not a daemon of this "
                     "store",
                     side);
}

void
hello_init(struct hello *h, const uint8_t *secret)
{
    *h = (struct hello){ .secret = secret, .version = FRAME_VERSION };
}

enum status
hello_check_mark(const struct hello *h, struct slice in, struct error *e)
{
    uint8_t mark[HELLO_MARK_SIZE];
    size_t n = in.size < 5 ? in.size : 5;
    unsigned version;

    put_mark(h, mark);
    if (n > 0 && memcmp(in.data, mark, n) != 0)
        return error_set(e, ST_CORRUPT, "that is no Halite daemon: %s",
                         n == 5 ? "the connection begins otherwise"
                                : "its first byte is another one");
    if (in.size < HELLO_MARK_SIZE)
        return ST_OK;
    version = (unsigned)in.data[5] << 8 | in.data[6];
    if (version == h->version)
        return ST_OK;
    return error_set(e, ST_CONFLICT,
                     "the peer speaks version %u of frames, this daemon "
                     "version %u: run the same release on both",
                     version, (unsigned)h->version);
}

void
hello_ask(struct hello *h, uint8_t *out)
{
    INSIST(gnutls_rnd(GNUTLS_RND_NONCE, h->client_nonce, HELLO_NONCE_SIZE) ==
           0);
    put_mark(h, out);
    memcpy(out + HELLO_MARK_SIZE, h->client_nonce, HELLO_NONCE_SIZE);
}

enum status
hello_prove(struct hello *h, struct slice in, uint8_t *out, struct error *e)
{
    enum status st = hello_check_mark(h, in, e);

    INSIST(in.size == HELLO_ANSWER_SIZE);
    if (st != ST_OK)
        return st;
    memcpy(h->server_nonce, in.data + HELLO_MARK_SIZE, HELLO_NONCE_SIZE);
    st = check_proof(h, "server", in.data + HELLO_ASK_SIZE, e);
    if (st == ST_OK)
        make_proof(h, "client", out);
    return st;
}

enum status
hello_answer(struct hello *h, struct slice in, uint8_t *out, struct error *e)
{
    enum status st = hello_check_mark(h, in, e);

    INSIST(in.size == HELLO_ASK_SIZE);
    put_mark(h, out);
    if (st != ST_OK)
        return st;
    memcpy(h->client_nonce, in.data + HELLO_MARK_SIZE, HELLO_NONCE_SIZE);
    INSIST(gnutls_rnd(GNUTLS_RND_NONCE, h->server_nonce, HELLO_NONCE_SIZE) ==
           0);
    memcpy(out + HELLO_MARK_SIZE, h->server_nonce, HELLO_NONCE_SIZE);
    make_proof(h, "server", out + HELLO_ASK_SIZE);
    return ST_OK;
}

enum status
hello_check(const struct hello *h, struct slice in, struct error *e)
{
    INSIST(in.size == HELLO_PROOF_SIZE);
    return check_proof(h, "client", in.data, e);
}
