/* Reads arbitrary bytes as a frame, as the failures of a PUT, and as a hello:
 * what is read and written again is the same bytes. */
#include "cluster/peer/frame.h"

#include "base/cursor.h"
#include "base/obj.h"
#include "tests/fuzz/target.h"

static void
hear_hello(const uint8_t *data, size_t size)
{
    static const uint8_t secret[FRAME_SECRET_SIZE];
    uint8_t out[HELLO_ANSWER_SIZE];
    struct hello h;
    struct error e;

    hello_init(&h, secret);
    (void)!hello_check_mark(&h, slice_of(data, size), &e);
    if (size >= HELLO_ASK_SIZE &&
        hello_answer(&h, slice_of(data, HELLO_ASK_SIZE), out, &e) == ST_OK &&
        size >= HELLO_ASK_SIZE + HELLO_PROOF_SIZE)
        INSIST(hello_check(&h,
                           slice_of(data + HELLO_ASK_SIZE, HELLO_PROOF_SIZE),
                           &e) == ST_INVALID);
    hello_ask(&h, out);
    if (size >= HELLO_ANSWER_SIZE)
        INSIST(hello_prove(&h, slice_of(data, HELLO_ANSWER_SIZE), out, &e) !=
               ST_OK);
}

static void
read_failures(const uint8_t *data, size_t size)
{
    struct cursor c = cursor_of(slice_of(data, size));
    struct frame_failure f, g;
    struct error e, e2;

    while (frame_next_failure(&c, &f, &e)) {
        struct buf again = BUF_INIT;
        struct cursor d;

        frame_put_failure(&again, &f);
        d = cursor_of(buf_slice(&again));
        INSIST(frame_next_failure(&d, &g, &e2) && cursor_left(&d) == 0);
        INSIST(f.first == g.first && f.len == g.len && f.status == g.status &&
               slice_eq(f.text, g.text));
        buf_fini(&again);
    }
    INSIST(e.status == ST_CORRUPT || cursor_left(&c) == 0);
}

static void
read_frame(const uint8_t *data, size_t size)
{
    size_t payload_size;
    struct slice payload;
    uint8_t kind;

    if (size < FRAME_HEAD_SIZE + FRAME_TAIL_SIZE ||
        frame_read_head(slice_of(data, FRAME_HEAD_SIZE), FRAME_REQUEST_MAX,
                        &kind, &payload_size, NULL) != ST_OK ||
        payload_size > size - FRAME_HEAD_SIZE - FRAME_TAIL_SIZE)
        return;
    size = payload_size + FRAME_HEAD_SIZE + FRAME_TAIL_SIZE;
    if (frame_read(slice_of(data, size), &payload, NULL) == ST_OK) {
        struct buf again = BUF_INIT;

        frame_begin(&again);
        buf_put_slice(&again, payload);
        frame_end(&again, kind);
        INSIST(slice_eq(buf_slice(&again), slice_of(data, size)));
        buf_fini(&again);
    }
}

FUZZ_TARGET(data, size)
{
    read_frame(data, size);
    read_failures(data, size);
    hear_hello(data, size);
    return 0;
}
