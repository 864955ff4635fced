/* Reads arbitrary bytes as a stream of frames, once as a whole and once byte by
 * byte: the same frames come out, and written again they are the same bytes.
 * The first bytes are also taken for a hello. */
#include "cluster/peer/frame.h"

#include "base/obj.h"
#include "tests/fuzz/target.h"

static void
fuzz_feed(struct frame_reader *r, const uint8_t *data, size_t size)
{
    while (size > 0) {
        size_t room, n;
        uint8_t *to = frame_reader_room(r, &room);

        if (to == NULL)
            return;
        n = room < size ? room : size;
        memcpy(to, data, n);
        frame_reader_added(r, n);
        data += n;
        size -= n;
    }
}

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

FUZZ_TARGET(data, size)
{
    struct frame_reader whole, bytes;
    struct buf again = BUF_INIT;
    struct frame f, g;
    size_t fed = 0;

    frame_reader_init(&whole);
    frame_reader_init(&bytes);
    fuzz_feed(&whole, data, size);
    while (frame_reader_next(&whole, &f)) {
        enum status status;
        struct slice body;

        while (!frame_reader_next(&bytes, &g)) {
            INSIST(fed < size);
            fuzz_feed(&bytes, data + fed++, 1);
        }
        INSIST(f.type == g.type && f.number == g.number &&
               slice_eq(f.payload, g.payload));
        frame_put(&again, f.type, f.number, f.payload);
        if (frame_read_answer(f.payload, &status, &body, NULL) == ST_OK)
            INSIST(body.size + 1 == f.payload.size);
    }
    INSIST(again.size == whole.at || whole.frames == 0);
    INSIST(again.size == 0 || memcmp(again.data, data, again.size) == 0);
    frame_reader_fini(&whole);
    frame_reader_fini(&bytes);
    buf_fini(&again);
    hear_hello(data, size);
    return 0;
}
