/* See cluster/peer/frame.h. */
#include "cluster/peer/frame.h"

#include <gnutls/crypto.h>

#include "base/crc32c.h"
#include "base/cursor.h"
#include "base/obj.h"

/* -- frames ---------------------------------------------------------------- */

void
frame_begin(struct buf *out)
{
    static const uint8_t head[FRAME_HEAD_SIZE];

    buf_put(out, head, sizeof head);
}

void
frame_end(struct buf *out, uint8_t kind)
{
    size_t size = out->size - FRAME_HEAD_SIZE;

    if (out->failed)
        return;
    INSIST(out->size >= FRAME_HEAD_SIZE && size <= UINT32_MAX);
    for (int i = 0; i < 4; i++)
        out->data[i] = (uint8_t)(size >> (24 - 8 * i));
    out->data[4] = kind;
    buf_put_u32(out, crc32c(buf_slice(out)));
}

enum status
frame_read_head(struct slice head, size_t max, uint8_t *kind, size_t *size,
                struct error *e)
{
    struct cursor c = cursor_of(head);

    INSIST(head.size == FRAME_HEAD_SIZE);
    *size = cursor_u32(&c);
    *kind = cursor_u8(&c);
    return *size <= max
               ? ST_OK
               : error_set(e, ST_LIMIT,
                           "a frame of %zu bytes, at most %zu may come", *size,
                           max);
}

enum status
frame_read(struct slice frame, struct slice *payload, struct error *e)
{
    size_t size = frame.size - FRAME_TAIL_SIZE;
    struct cursor tail =
        cursor_of(slice_of(frame.data + size, FRAME_TAIL_SIZE));

    *payload = slice_of(frame.data + FRAME_HEAD_SIZE, size - FRAME_HEAD_SIZE);
    return cursor_u32(&tail) == crc32c(slice_of(frame.data, size))
               ? ST_OK
               : error_set(e, ST_CORRUPT,
                           "damaged frame of %zu bytes: wrong checksum",
                           payload->size);
}

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

uint8_t
frame_code(enum status status)
{
    size_t i = 0;

    while (i < CODES_LEN && codes[i].status != status)
        i++;
    INSIST(i < CODES_LEN);
    return codes[i].code;
}

enum status
frame_status(uint8_t code, enum status *out, struct error *e)
{
    for (size_t i = 0; i < CODES_LEN; i++)
        if (codes[i].code == code) {
            *out = codes[i].status;
            return ST_OK;
        }
    return error_set(e, ST_CORRUPT, "malformed answer: status %u",
                     (unsigned)code);
}

/* -- PUT ------------------------------------------------------------------- */

void
frame_put_failure(struct buf *out, const struct frame_failure *f)
{
    buf_put_varint(out, f->first);
    buf_put_varint(out, f->len);
    buf_put_u8(out, frame_code(f->status));
    buf_put_sized(out, f->text);
}

bool
frame_next_failure(struct cursor *c, struct frame_failure *out, struct error *e)
{
    uint64_t first, len;
    uint8_t code;

    *e = (struct error){ .status = ST_OK };
    if (cursor_left(c) == 0)
        return false;
    first = cursor_varint(c);
    len = cursor_varint(c);
    code = cursor_u8(c);
    out->text = cursor_sized(c);
    if (c->failed || first > UINT32_MAX || len > UINT32_MAX ||
        frame_status(code, &out->status, NULL) != ST_OK)
        return error_set(e, ST_CORRUPT, "malformed answer to a PUT"), false;
    out->first = (uint32_t)first;
    out->len = (uint32_t)len;
    return true;
}

/* -- hello ----------------------------------------------------------------- */

/* The same for both sides: mark, version. */
void
hello_mark(const struct hello *h, uint8_t *out)
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

    hello_mark(h, mark);
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

    hello_mark(h, mark);
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
    hello_mark(h, out);
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
    if (st != ST_OK)
        return st;
    hello_mark(h, out);
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
