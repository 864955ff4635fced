#include "tsd/auth/auth_text.h"

#include "base/buf.h"
#include "tests/harness.h"
#include "web/http.h"

#define HASH \
    "$5$rounds=1000$abcdefgh$XIppta5rT8zJUu4vAOKQXrwq9uY4Ijlz6VjyOmkx5i4"
#define HEX8       "0123456789abcdefABCDEF0123456789"
#define NOT_A_HASH "line 1: not a password hash"
#define SUM        "sha256:" HEX8 HEX8

static const struct {
    const char *text, *error; /* NULL: it is fine */
    size_t len;
    unsigned anonymous;
} files[] = {
    { "", NULL, 0, 0 },
    { "\n \t \n# user\n   # more", NULL, 0, 0 },
    { "user a read " HASH, NULL, 1, 0 },
    { "user a read " HASH "\r\n\ttoken  b\twrite,read " SUM "\n", NULL, 2, 0 },
    { "anonymous read\n", NULL, 0, HTTP_READS },
    { "anonymous admin", NULL, 0, HTTP_ALL_RIGHTS },
    { "anonymous", "line 1: write: anonymous ROLES", 0, 0 },
    { "anonymous all", "line 1: write: anonymous ROLES", 0, 0 },
    { "\n\nUser a read " HASH, "line 3: a line begins with user", 0, 0 },
    { "user a " HASH, "line 1: write: user NAME ROLES HASH", 0, 0 },
    { "user a read, write " HASH, "line 1: write: user NAME", 0, 0 },
    { "user a read " HASH " x", "line 1: write: user NAME ROLES HASH", 0, 0 },
    { "token a read", "line 1: write: token NAME ROLES sha256:HEX", 0, 0 },
    { "user a:b read " HASH, "line 1: a name is of letters", 0, 0 },
    { "user a Read " HASH, "line 1: roles are read, write", 0, 0 },
    { "user a read,,write " HASH, "line 1: roles are read, write", 0, 0 },
    { "user a , " HASH, "line 1: roles are read, write", 0, 0 },
    { "user a read secret", NOT_A_HASH, 0, 0 },
    { "user a read ab01FAX.bQRSU", NOT_A_HASH, 0, 0 },
    { "user a read $1$abcdefgh$0123456789012345678901", NOT_A_HASH, 0, 0 },
    /* What would hold up the one thread that checks passwords. */
    { "user a read $6$rounds=999999999$abcdefgh$0123456789", NOT_A_HASH, 0, 0 },
    { "user a read $5$rounds=1000001$abcdefgh$0123456789", NOT_A_HASH, 0, 0 },
    { "user a read $6$rounds=1000000$abcdefgh$0123456789", NULL, 1, 0 },
    { "user a read $6$abcdefgh$01234567890123456789", NULL, 1, 0 },
    { "user a read $2b$15$01234567890123456789", NOT_A_HASH, 0, 0 },
    { "user a read $2b$12$01234567890123456789", NULL, 1, 0 },
    { "user a read $y$j9T$01234567890123456789", NULL, 1, 0 },
    { "user a read $y$jDT$01234567890123456789", NULL, 1, 0 },
    { "user a read $y$jET$01234567890123456789", NOT_A_HASH, 0, 0 },
    { "user a read $y$j9T/$01234567890123456789", NOT_A_HASH, 0, 0 },
    { "user a read $gy$jFT$01234567890123456789", NOT_A_HASH, 0, 0 },
    { "user a read $7$CU..../....01234567890123456789", NULL, 1, 0 },
    { "user a read $7$CU../././...01234567890123456789", NOT_A_HASH, 0, 0 },
    { "user a read !" HASH, NOT_A_HASH, 0, 0 },
    { "user a read " SUM, NOT_A_HASH, 0, 0 },
    { "token a read " HASH, "line 1: a token is written", 0, 0 },
    { "token a read " SUM "0", "line 1: a token is written", 0, 0 },
    { "token a read sha256:" HEX8 "0123456789abcdefABCDEF012345678g",
      "line 1: a token is written", 0, 0 },
    { "user a read " HASH "\ntoken a read " SUM, "line 2: that name is there",
      0, 0 },
};

START_TEST(reads_files)
{
    struct auth_table *t;
    struct error e;
    enum status st = auth_table_parse(slice_str(files[_i].text), &t, &e);

    if (files[_i].error != NULL) {
        ck_assert_int_eq(st, ST_INVALID);
        ck_assert_ptr_null(t);
        ck_assert_msg(
            strncmp(e.text, files[_i].error, strlen(files[_i].error)) == 0,
            "%s", e.text);
        return;
    }
    ck_assert_int_eq(st, ST_OK);
    ck_assert_uint_eq(t->len, files[_i].len);
    ck_assert_uint_eq(t->anonymous, files[_i].anonymous);
    auth_table_free(&t);
    ck_assert_ptr_null(t);
}
END_TEST

START_TEST(keeps_what_it_reads)
{
    struct auth_table *t;
    struct error e;

    ck_assert_int_eq(auth_table_parse(slice_str("user a.b@c read " HASH "\n"
                                                "token x-_9 write,read " SUM),
                                      &t, &e),
                     ST_OK);
    ck_assert_str_eq(t->entries[0].name, "a.b@c");
    ck_assert_str_eq(t->entries[0].hash, HASH);
    ck_assert_uint_eq(t->entries[0].rights, HTTP_READS);
    ck_assert(!t->entries[0].verified);
    ck_assert_str_eq(t->entries[1].name, "x-_9");
    ck_assert_ptr_null(t->entries[1].hash);
    ck_assert_uint_eq(t->entries[1].rights, HTTP_READS | HTTP_WRITES);
    ck_assert_uint_eq(t->entries[1].digest[0], 0x01);
    ck_assert_uint_eq(t->entries[1].digest[8], 0xab);
    ck_assert_uint_eq(t->entries[1].digest[31], 0x89);
    auth_table_free(&t);
}
END_TEST

/* Each costs more than the one before. */
START_TEST(knows_the_costliest)
{
    static const char *const hashes[] = {
        "$5$rounds=1000$abcdefgh$0123456789",
        "$6$abcdefgh$01234567890123456789", /* 5000 */
        "$y$j85$01234567890123456789",
        "$2b$08$01234567890123456789",
        "$y$j9T$01234567890123456789",
        "$gy$jAT$01234567890123456789",
        "$2y$10$01234567890123456789",
        "$7$CU..../....01234567890123456789",
        "$6$rounds=1000000$abcdefgh$0123456789",
        "$y$jDT$01234567890123456789",
        "$2b$14$01234567890123456789",
    };
    const size_t len = sizeof hashes / sizeof hashes[0];

    for (size_t i = 0; i + 1 < len; i++) {
        struct buf text = BUF_INIT;
        struct auth_table *t;

        buf_printf(&text, "user a read %s\nuser b read %s\nuser c read %s\n",
                   hashes[i], hashes[i + 1], hashes[0]);
        ck_assert_int_eq(auth_table_parse(buf_slice(&text), &t, NULL), ST_OK);
        ck_assert_str_eq(t->costliest, hashes[i + 1]);
        auth_table_free(&t);
        buf_fini(&text);
    }
}
END_TEST

START_TEST(bounds_files)
{
    struct buf text = BUF_INIT;
    struct auth_table *t;
    struct error e;
    int n = AUTH_ENTRIES_MAX + 1;

    for (int i = 0; i < n - 1; i++)
        buf_printf(&text, "token t%d read " SUM "\n", i);
    ck_assert_int_eq(auth_table_parse(buf_slice(&text), &t, &e), ST_OK);
    ck_assert_uint_eq(t->len, AUTH_ENTRIES_MAX);
    auth_table_free(&t);
    buf_clear(&text);
    for (int i = 0; i < n; i++)
        buf_printf(&text, "token t%d read " SUM "\n", i);
    ck_assert_int_eq(auth_table_parse(buf_slice(&text), &t, &e), ST_LIMIT);
    ck_assert_ptr_null(t);
    buf_fini(&text);
}
END_TEST

static const struct {
    const char *header;
    const char *name, *secret; /* no secret: rejected; no name: a token */
} headers[] = {
    { "Basic YTpi", "a", "b" },
    { "bAsIc   YTpi  ", "a", "b" },
    { "Basic YTpiOmM=", "a", "b:c" },
    { "Basic YTpiOmM", "a", "b:c" },
    { "Basic dTrDvMO2", "u", "\xc3\xbc\xc3\xb6" },
    { "Bearer abc.DEF-1", NULL, "abc.DEF-1" },
    { "bearer  x ", NULL, "x" },
    { "", NULL, NULL },
    { " ", NULL, NULL },
    { "Basic", NULL, NULL },
    { "Basic ", NULL, NULL },
    { "Basic YWI=", NULL, NULL },     /* no colon */
    { "Basic OmI=", NULL, NULL },     /* no name */
    { "Basic YTo=", NULL, NULL },     /* no password */
    { "Basic YTpiAGM=", NULL, NULL }, /* a NUL */
    { "Basic YT pi", NULL, NULL },
    { "Basic YTp-", NULL, NULL },
    { "Bearer", NULL, NULL },
    { "Bearer ", NULL, NULL },
    { "BasicYTpi", NULL, NULL },
    { "Digest YTpi", NULL, NULL },
};

START_TEST(reads_headers)
{
    struct auth_credentials c;
    bool fine = auth_credentials_parse(slice_str(headers[_i].header), &c);

    ck_assert(fine == (headers[_i].secret != NULL));
    if (!fine)
        return;
    ck_assert(c.is_token == (headers[_i].name == NULL));
    ck_assert(slice_eq_str(c.secret, headers[_i].secret));
    ck_assert(headers[_i].name == NULL ||
              slice_eq_str(c.name, headers[_i].name));
}
END_TEST

START_TEST(bounds_headers)
{
    struct buf b = BUF_INIT;
    struct auth_credentials c;

    buf_put_str(&b, "Basic YTpi"); /* "a:b" and many zeros */
    for (int i = 0; i < AUTH_SECRET_MAX * 2; i++)
        buf_put_str(&b, "MDAw");
    ck_assert(!auth_credentials_parse(buf_slice(&b), &c));
    buf_clear(&b);
    buf_put_str(&b, "Bearer ");
    for (int i = 0; i < AUTH_SECRET_MAX; i++)
        buf_put_u8(&b, 'x');
    ck_assert(auth_credentials_parse(buf_slice(&b), &c));
    buf_put_u8(&b, 'x');
    ck_assert(!auth_credentials_parse(buf_slice(&b), &c));
    buf_fini(&b);
}
END_TEST

TEST_MAIN("auth_text", LOOP(reads_files, files), TEST(keeps_what_it_reads),
          TEST(knows_the_costliest), TEST(bounds_files),
          LOOP(reads_headers, headers), TEST(bounds_headers))
