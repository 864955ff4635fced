/* Frames and hello: the documented bytes, all cuts, all damage. */
#include "cluster/peer/frame.h"

#include "tests/harness.h"

static uint8_t secret[FRAME_SECRET_SIZE] = "the secret of a test's own store";

static void
feed(struct frame_reader *r, struct slice s)
{
    while (s.size > 0) {
        size_t room, n;
        uint8_t *to = frame_reader_room(r, &room);

        ck_assert_ptr_nonnull(to);
        n = room < s.size ? room : s.size;
        memcpy(to, s.data, n);
        frame_reader_added(r, n);
        s = slice_of(s.data + n, s.size - n);
    }
}

/* docs/PROTOCOL.md's example. */
START_TEST(has_documented_bytes)
{
    static const uint8_t want[] = { 0, 0, 0, 2,   3,   0,    0,    0,    0,   0,
                                    0, 1, 2, 'h', 'i', 0x1b, 0x45, 0x44, 0x67 };
    struct buf out = BUF_INIT;

    frame_put(&out, FRAME_LAST, 258, slice_str("hi"));
    ck_assert_uint_eq(out.size, sizeof want);
    ck_assert_mem_eq(out.data, want, sizeof want);
    buf_fini(&out);
}
END_TEST

/* Frames of all sizes, in parts of all sizes. */
START_TEST(cuts_streams)
{
    static const size_t sizes[] = { 0, 1, 2, 13, 17, 300, 70000, 1 << 20 };
    static const size_t parts[] = { 1, 3, 1000, 65536, SIZE_MAX };
    struct buf out = BUF_INIT, payload = BUF_INIT;

    for (size_t i = 0; i < 8; i++) {
        while (payload.size < sizes[i])
            buf_put_u8(&payload, (uint8_t)(payload.size * 7));
        frame_put(&out, FRAME_PUT, i << 40, buf_slice(&payload));
    }
    for (size_t k = 0; k < 5; k++) {
        struct frame_reader r;
        struct frame f;
        size_t seen = 0;

        frame_reader_init(&r);
        for (size_t at = 0; at < out.size;) {
            size_t n = parts[k] < out.size - at ? parts[k] : out.size - at;

            n = n < 65536 ? n : 65536;
            feed(&r, slice_of(out.data + at, n));
            at += n;
            while (frame_reader_next(&r, &f)) {
                ck_assert_uint_eq(f.type, FRAME_PUT);
                ck_assert_uint_eq(f.number, (uint64_t)seen << 40);
                ck_assert(
                    slice_eq(f.payload, slice_of(payload.data, sizes[seen])));
                seen++;
            }
        }
        ck_assert_uint_eq(seen, 8);
        ck_assert(!frame_reader_has_part(&r));
        ck_assert_int_eq(r.error.status, ST_OK);
        frame_reader_fini(&r);
    }
    buf_fini(&out);
    buf_fini(&payload);
}
END_TEST

/* Each bit of a frame counts; a failure sticks. */
START_TEST(rejects_damage)
{
    struct buf out = BUF_INIT;

    frame_put(&out, FRAME_HEAD, 7, slice_str("payload"));
    frame_put(&out, FRAME_PING, 8, slice_str(""));
    for (size_t bit = 0; bit < (out.size - 17) * 8; bit++) {
        struct frame_reader r;
        struct frame f;

        out.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        frame_reader_init(&r);
        feed(&r, buf_slice(&out));
        ck_assert(!frame_reader_next(&r, &f));
        ck_assert(r.error.status == ST_CORRUPT || frame_reader_has_part(&r));
        if (r.error.status != ST_OK) {
            size_t room;

            ck_assert_ptr_null(frame_reader_room(&r, &room));
            ck_assert(!frame_reader_next(&r, &f));
        }
        frame_reader_fini(&r);
        out.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    buf_fini(&out);
}
END_TEST

START_TEST(answers)
{
#define X(name, http, text) name,
    static const enum status all[] = { STATUS_LIST(X) };
#undef X
    struct buf out = BUF_INIT;
    struct slice body;
    enum status status;
    struct error e;

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct frame_reader r;
        struct frame f;

        buf_clear(&out);
        body = slice_str("why");
        ck_assert(!frame_put_answer(&out, FRAME_LAST, 9, all[i], &body));
        frame_reader_init(&r);
        feed(&r, buf_slice(&out));
        ck_assert(frame_reader_next(&r, &f));
        ck_assert_uint_eq(f.type, FRAME_LAST | FRAME_ANSWER);
        ck_assert_int_eq(frame_read_answer(f.payload, &status, &body, &e),
                         ST_OK);
        ck_assert_int_eq(status, all[i]);
        ck_assert(slice_eq_str(body, "why"));
        frame_reader_fini(&r);
    }
    ck_assert_int_eq(frame_read_answer(slice_str(""), &status, &body, &e),
                     ST_CORRUPT);
    ck_assert_int_eq(frame_read_answer(slice_str("\x63"), &status, &body, &e),
                     ST_CORRUPT);
    buf_fini(&out);
}
END_TEST

/* Other answers fit between the parts of a large one. */
START_TEST(parts_large_answers)
{
    struct buf out = BUF_INIT, body = BUF_INIT, got = BUF_INIT;
    struct frame_reader r;
    struct frame f;
    struct slice end;
    enum status status;
    size_t frames = 0;

    for (uint32_t i = 0; i < 250000; i++)
        buf_put_u32(&body, i);
    end = buf_slice(&body);
    while (frame_put_answer(&out, FRAME_HEAD, 3, ST_OK, &end))
        ;
    frame_reader_init(&r);
    feed(&r, buf_slice(&out));
    while (frame_reader_next(&r, &f)) {
        frames++;
        ck_assert_uint_le(f.payload.size, 300000);
        if ((f.type & FRAME_MORE) != 0)
            buf_put_slice(&got, f.payload);
    }
    ck_assert_uint_eq(frames, 4);
    ck_assert_uint_eq(f.type, FRAME_HEAD | FRAME_ANSWER);
    ck_assert_int_eq(frame_read_answer(f.payload, &status, &end, NULL), ST_OK);
    buf_put_slice(&got, end);
    ck_assert(slice_eq(buf_slice(&got), buf_slice(&body)));
    frame_reader_fini(&r);
    buf_fini(&out);
    buf_fini(&body);
    buf_fini(&got);
}
END_TEST

/* -- hello ----------------------------------------------------------------- */

struct talk {
    struct hello client, server;
    uint8_t ask[HELLO_ASK_SIZE], answer[HELLO_ANSWER_SIZE],
        proof[HELLO_PROOF_SIZE];
    struct error e;
};

static enum status
talk_to_proof(struct talk *t)
{
    enum status st;

    hello_ask(&t->client, t->ask);
    st = hello_answer(&t->server, slice_of(t->ask, sizeof t->ask), t->answer,
                      &t->e);
    return st != ST_OK
               ? st
               : hello_prove(&t->client, slice_of(t->answer, sizeof t->answer),
                             t->proof, &t->e);
}

static void
talk_begin(struct talk *t, const uint8_t *client, const uint8_t *server)
{
    memset(t, 0, sizeof *t);
    hello_init(&t->client, client);
    hello_init(&t->server, server);
}

START_TEST(both_prove)
{
    struct talk t;

    talk_begin(&t, secret, secret);
    ck_assert_int_eq(talk_to_proof(&t), ST_OK);
    ck_assert_int_eq(
        hello_check(&t.server, slice_of(t.proof, sizeof t.proof), &t.e), ST_OK);
    for (size_t i = 0; i < sizeof t.proof; i++) {
        t.proof[i] ^= 1;
        ck_assert_int_eq(
            hello_check(&t.server, slice_of(t.proof, sizeof t.proof), &t.e),
            ST_INVALID);
        t.proof[i] ^= 1;
    }
}
END_TEST

/* Each side finds out by itself; a proof cannot be sent back. */
START_TEST(rejects_another_secret)
{
    uint8_t other[FRAME_SECRET_SIZE] = { 1 };
    struct talk t;

    talk_begin(&t, other, secret);
    ck_assert_int_eq(talk_to_proof(&t), ST_INVALID);
    ck_assert_ptr_nonnull(strstr(t.e.text, "another secret"));
    ck_assert_int_eq(
        hello_check(&t.server,
                    slice_of(t.answer + HELLO_ASK_SIZE, HELLO_PROOF_SIZE),
                    &t.e),
        ST_INVALID);
}
END_TEST

/* The same bytes are no proof the next time. */
START_TEST(rejects_a_repetition)
{
    struct talk t, again;

    talk_begin(&t, secret, secret);
    talk_begin(&again, secret, secret);
    ck_assert_int_eq(talk_to_proof(&t), ST_OK);
    ck_assert_int_eq(hello_answer(&again.server, slice_of(t.ask, sizeof t.ask),
                                  again.answer, &again.e),
                     ST_OK);
    ck_assert_int_eq(
        hello_check(&again.server, slice_of(t.proof, sizeof t.proof), &again.e),
        ST_INVALID);
}
END_TEST

START_TEST(names_both_versions)
{
    struct talk t;

    talk_begin(&t, secret, secret);
    t.client.version = 513;
    ck_assert_int_eq(talk_to_proof(&t), ST_CONFLICT);
    ck_assert_str_eq(t.e.text,
                     "the peer speaks version 513 of frames, this daemon "
                     "version 3: run the same release on both");
    ck_assert_int_eq(
        hello_check_mark(&t.client, slice_of(t.answer, HELLO_MARK_SIZE), &t.e),
        ST_CONFLICT);
    ck_assert_ptr_nonnull(strstr(t.e.text, "version 3 of frames"));
    ck_assert_ptr_nonnull(strstr(t.e.text, "this daemon version 513"));
}
END_TEST

START_TEST(looks_at_first_bytes)
{
    static const uint8_t mark[] = { 2, 'H', 'A', 'L', 'P', 0, 3 };
    struct hello h;
    struct error e;

    hello_init(&h, secret);
    for (size_t i = 0; i <= sizeof mark; i++)
        ck_assert_int_eq(hello_check_mark(&h, slice_of(mark, i), &e), ST_OK);
    ck_assert_int_eq(hello_check_mark(&h, slice_str("H"), &e), ST_CORRUPT);
    ck_assert_int_eq(hello_check_mark(&h, slice_str("\2HALT"), &e), ST_CORRUPT);
    ck_assert_int_eq(hello_check_mark(&h, slice_str("HTTP/1.1 400"), &e),
                     ST_CORRUPT);
}
END_TEST

TEST_MAIN("frame", TEST(has_documented_bytes), TEST(cuts_streams),
          TEST(rejects_damage), TEST(answers), TEST(parts_large_answers),
          TEST(both_prove), TEST(rejects_another_secret),
          TEST(rejects_a_repetition), TEST(names_both_versions),
          TEST(looks_at_first_bytes))
