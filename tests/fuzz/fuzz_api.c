/* Requests that are whole, to a whole daemon: each gets one answer, with a
 * status.
 *
 *     <method> <blank> <target> <newline> <body> */
#include "tests/fuzz/target.h"
#include "tests/fuzz/whole.h"

/* The beginning of a line of the input, as it can be in a request. */
static void
put_line(struct buf *b, struct slice line)
{
    static const char *const methods[] = { "GET", "POST", "PUT", "DELETE",
                                           "HEAD" };
    const uint8_t *blank =
        line.size == 0 ? NULL : memchr(line.data, ' ', line.size);
    size_t n = blank == NULL ? 0 : (size_t)(blank - line.data);

    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (slice_eq_str(slice_of(line.data, n), methods[i]))
            buf_printf(b, "%s ", methods[i]);
    if (b->size == 0)
        buf_put_str(b, "GET ");
    if (blank != NULL)
        line = slice_of(blank + 1, line.size - n - 1);
    if (line.size == 0 || line.data[0] != '/')
        buf_put_u8(b, '/');
    for (size_t i = 0; i < line.size; i++)
        if (line.data[i] > ' ' && line.data[i] < 0x7f)
            buf_put_u8(b, line.data[i]);
        else
            buf_printf(b, "%%%02X", line.data[i]);
    buf_put_str(b, " HTTP/1.1\r\nConnection: close\r\n");
}

/* One head, and a body as long as that says. */
static void
check_answer(struct slice answer, bool is_head)
{
    static const char length[] = "\r\nContent-Length: ";
    const uint8_t *body = memmem(answer.data, answer.size, "\r\n\r\n", 4);
    const uint8_t *at;
    size_t head;

    INSIST(answer.size > 12 && memcmp(answer.data, "HTTP/1.1 ", 9) == 0);
    INSIST(body != NULL);
    head = (size_t)(body - answer.data);
    at = memmem(answer.data, head, length, sizeof length - 1);
    if (at != NULL && !is_head)
        INSIST(strtoull((const char *)at + sizeof length - 1, NULL, 10) ==
               answer.size - head - 4);
}

FUZZ_TARGET_EVERY(0, data, size)
{
    struct slice line = slice_of(data, size), body = slice_of(data, 0);
    const uint8_t *end = size == 0 ? NULL : memchr(data, '\n', size);
    struct buf request = BUF_INIT, answer = BUF_INIT;

    if (end != NULL) {
        line.size = (size_t)(end - data);
        body = slice_of(end + 1, size - line.size - 1);
    }
    whole_start();
    put_line(&request, line);
    if (body.size > 0)
        buf_printf(&request, "Content-Length: %zu\r\n", body.size);
    buf_put_str(&request, "\r\n");
    buf_put_slice(&request, body);
    whole_say(buf_slice(&request), false, &answer);
    check_answer(buf_slice(&answer),
                 slice_starts(buf_slice(&request), slice_str("HEAD ")));
    buf_fini(&answer);
    buf_fini(&request);
    return 0;
}
