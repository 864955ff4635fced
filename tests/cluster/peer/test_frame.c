/* Frames and hello: the documented bytes, limits, all damage. */
#include "cluster/peer/frame.h"

#include "base/cursor.h"
#include "tests/harness.h"

static uint8_t secret[FRAME_SECRET_SIZE] = "the secret of a test's own store";

static void
make_frame(struct buf *out, uint8_t kind, struct slice payload)
{
    buf_clear(out);
    frame_begin(out);
    buf_put_slice(out, payload);
    frame_end(out, kind);
}

/* docs/PROTOCOL.md's example. */
START_TEST(has_documented_bytes)
{
    static const uint8_t want[] = { 0,   0,    0,    2,    3,   'h',
                                    'i', 0xea, 0x8b, 0x27, 0x8f };
    struct buf out = BUF_INIT;

    make_frame(&out, FRAME_LAST, slice_str("hi"));
    ck_assert_uint_eq(out.size, sizeof want);
    ck_assert_mem_eq(out.data, want, sizeof want);
    buf_fini(&out);
}
END_TEST

static enum status
read_frame(struct slice s, size_t max, uint8_t *kind, struct slice *payload)
{
    size_t size;
    enum status st = frame_read_head(slice_of(s.data, FRAME_HEAD_SIZE), max,
                                     kind, &size, NULL);

    if (st != ST_OK)
        return st;
    if (size + FRAME_HEAD_SIZE + FRAME_TAIL_SIZE != s.size)
        return ST_TIMEOUT; /* more would be waited for, or there is too much */
    return frame_read(s, payload, NULL);
}

START_TEST(reads_what_it_writes)
{
    static const size_t sizes[] = { 0, 1, 2, 13, 300, 70000, 1 << 20 };
    struct buf out = BUF_INIT, payload = BUF_INIT;
    struct slice got;
    uint8_t kind;

    for (size_t i = 0; i < 7; i++) {
        while (payload.size < sizes[i])
            buf_put_u8(&payload, (uint8_t)(payload.size * 7));
        make_frame(&out, (uint8_t)i, buf_slice(&payload));
        ck_assert_int_eq(read_frame(buf_slice(&out), sizes[i], &kind, &got),
                         ST_OK);
        ck_assert_uint_eq(kind, i);
        ck_assert(slice_eq(got, buf_slice(&payload)));
        if (sizes[i] > 0)
            ck_assert_int_eq(
                read_frame(buf_slice(&out), sizes[i] - 1, &kind, &got),
                ST_LIMIT);
    }
    buf_fini(&out);
    buf_fini(&payload);
}
END_TEST

/* Each bit of a frame counts. */
START_TEST(rejects_damage)
{
    struct buf out = BUF_INIT;
    struct slice got;
    uint8_t kind;

    make_frame(&out, FRAME_HEAD, slice_str("payload"));
    for (size_t bit = 0; bit < out.size * 8; bit++) {
        out.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert_int_ne(
            read_frame(buf_slice(&out), FRAME_REQUEST_MAX, &kind, &got), ST_OK);
        out.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    buf_fini(&out);
}
END_TEST

START_TEST(has_a_code_for_each_status)
{
#define X(name, http, text) name,
    static const enum status all[] = { STATUS_LIST(X) };
#undef X
    enum status status;

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        ck_assert_int_eq(frame_status(frame_code(all[i]), &status, NULL),
                         ST_OK);
        ck_assert_int_eq(status, all[i]);
    }
    ck_assert_int_eq(frame_status(0x63, &status, NULL), ST_CORRUPT);
}
END_TEST

/* A list of failures, and each part of it that is cut off. */
START_TEST(lists_failures)
{
    const struct frame_failure failures[] = {
        { 0, 1, ST_MOVED, slice_str("it is elsewhere") },
        { 3, UINT32_MAX, ST_BUSY, slice_str("") },
    };
    struct frame_failure f;
    struct buf out = BUF_INIT;
    struct cursor c;
    struct error e;

    for (size_t i = 0; i < 2; i++)
        frame_put_failure(&out, &failures[i]);
    for (size_t size = 0; size <= out.size; size++) {
        size_t n = 0;

        c = cursor_of(slice_of(out.data, size));
        while (frame_next_failure(&c, &f, &e)) {
            ck_assert_uint_eq(f.first, failures[n].first);
            ck_assert_uint_eq(f.len, failures[n].len);
            ck_assert_int_eq(f.status, failures[n].status);
            ck_assert(slice_eq(f.text, failures[n].text));
            n++;
        }
        ck_assert_int_eq(e.status, size == 0 || size == 19 || size == out.size
                                       ? ST_OK
                                       : ST_CORRUPT);
        ck_assert_uint_eq(n,
                          (size >= 19 ? 1u : 0) + (size == out.size ? 1u : 0));
    }
    buf_fini(&out);
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
    hello_mark(&t.server, t.answer);
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

TEST_MAIN("frame", TEST(has_documented_bytes), TEST(reads_what_it_writes),
          TEST(rejects_damage), TEST(has_a_code_for_each_status),
          TEST(lists_failures), TEST(both_prove), TEST(rejects_another_secret),
          TEST(rejects_a_repetition), TEST(names_both_versions),
          TEST(looks_at_first_bytes))
