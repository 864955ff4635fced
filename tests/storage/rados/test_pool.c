#include "storage/place/pool.h"

#include "storage/place/pool_copy.h"
#include "storage/rados/ceph_priv.h"
#include "tests/storage/rados/rados_rig.h"

static const struct key_layout layout = { 1, 64, 3, 3, 3, 6 };

static struct format
new_format(void)
{
    struct format f;

    format_new(&f, &layout);
    f.complete = true;
    f.window_hours = 24;
    return f;
}

START_TEST(format_is_made_once)
{
    struct rados_rig rig = rados_rig_new("");
    struct format f = new_format(), g = new_format(), read;
    uint8_t secret[POOL_SECRET_SIZE], again[POOL_SECRET_SIZE];
    struct error e = { 0 };
    struct ceph *c = NULL;

    ck_assert_int_eq(ceph_open(rig.at, &c, &e), ST_OK);
    ck_assert_int_eq(pool_format_read(c, &read, &e), ST_NOT_FOUND);
    ck_assert_int_eq(pool_check_empty(c, &e), ST_OK);
    ck_assert_int_eq(pool_format_create(c, &f, &e), ST_OK);
    ck_assert_int_eq(pool_secret(c, secret, &e), ST_OK);
    ck_assert_int_eq(pool_format_create(c, &g, &e), ST_CONFLICT);
    ck_assert_int_eq(pool_format_read(c, &read, &e), ST_OK);
    ck_assert_str_eq(read.id, f.id);
    ck_assert_uint_eq(read.window_hours, 24);
    ck_assert_uint_eq(read.layout.salt_buckets, 64);
    ck_assert_int_eq(pool_secret(c, again, &e), ST_OK);
    ck_assert_mem_eq(secret, again, sizeof secret);
    ck_assert_int_eq(pool_check_empty(c, &e), ST_INVALID);
    ck_assert_ptr_nonnull(strstr(e.text, "\"FORMAT\""));
    ceph_close(&c);
    rados_rig_free(&rig);
}
END_TEST

START_TEST(what_is_no_format)
{
    struct rados_rig rig = rados_rig_new("");
    static const char *const texts[] = { "", "something else\n",
                                         "halite 1000\nid x\n" };
    struct format f = new_format(), read;
    struct error e = { 0 };
    struct ceph *c = NULL;
    struct buf folder = BUF_INIT;

    ck_assert_int_eq(ceph_open(rig.at, &c, &e), ST_OK);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct ceph_op *op = ceph_write_new(c);

        ceph_write_full(op, slice_str(texts[i]));
        ck_assert_int_eq(ceph_op_run(op, "FORMAT", &e), ST_OK);
        ck_assert_int_eq(pool_format_read(c, &read, &e), ST_CORRUPT);
        ck_assert_ptr_nonnull(strstr(e.text, "FORMAT"));
        ck_assert_int_ne(pool_secret(c, (uint8_t[POOL_SECRET_SIZE]){ 0 }, &e),
                         ST_OK);
    }
    f.window_hours = 0; /* as in a folder */
    format_print(&f, &folder);
    {
        struct ceph_op *op = ceph_write_new(c);

        ceph_write_full(op, buf_slice(&folder));
        ck_assert_int_eq(ceph_op_run(op, "FORMAT", &e), ST_OK);
    }
    ck_assert_int_eq(pool_format_read(c, &read, &e), ST_CORRUPT);
    buf_fini(&folder);
    ceph_close(&c);
    rados_rig_free(&rig);
}
END_TEST

/* -- copies -----------------------------------------------------------------
 */

static struct format
copy_format(void)
{
    struct format f = new_format();

    f.complete = false;
    return f;
}

static void
put_object(struct ceph *c, const char *name)
{
    struct ceph_op *op = ceph_write_new(c);
    struct error e = { 0 };

    ceph_write_full(op, slice_str("x"));
    ck_assert_int_eq(ceph_op_run(op, name, &e), ST_OK);
}

START_TEST(a_copy_is_a_store_at_its_end)
{
    struct rados_rig rig = rados_rig_new("");
    struct format f = copy_format(), g = copy_format(), read;
    uint8_t secret[POOL_SECRET_SIZE];
    struct ceph *c = NULL, *other = NULL;
    struct error e = { 0 };

    ck_assert_int_eq(ceph_open(rig.at, &c, &e), ST_OK);
    ck_assert_int_eq(ceph_open(rig.other, &other, &e), ST_OK);
    ck_assert_int_eq(pool_copy_begin(c, &f, &e), ST_OK);
    ck_assert_int_eq(pool_format_read(other, &read, &e), ST_INVALID);
    ck_assert_ptr_nonnull(strstr(e.text, "halite copy"));
    ck_assert_int_eq(pool_format_create(other,
                                        &(struct format){ .version = 1,
                                                          .complete = true,
                                                          .layout = layout,
                                                          .window_hours = 24 },
                                        &e),
                     ST_CONFLICT);
    ck_assert_int_eq(pool_copy_begin(other, &g, &e), ST_BUSY);
    put_object(c, "r.00.00000000");
    ck_assert_int_eq(pool_copy_keep(c, &f, &e), ST_OK);
    ck_assert_int_eq(pool_copy_end(c, &f, &e), ST_OK);
    ck_assert_int_eq(pool_format_read(other, &read, &e), ST_OK);
    ck_assert_str_eq(read.id, f.id);
    ck_assert_int_eq(pool_secret(other, secret, &e), ST_OK);
    ck_assert_int_eq(pool_copy_begin(other, &g, &e), ST_INVALID);
    ck_assert_int_eq(ceph_size(other, "r.00.00000000", &(uint64_t){ 0 }, &e),
                     ST_OK);
    ceph_close(&c);
    ceph_close(&other);
    rados_rig_free(&rig);
}
END_TEST

/* Takes the lock away from whoever has it. */
static void
break_lock(struct ceph *c, const char *object, const char *name)
{
    char client[64], cookie[128], tag[64], address[128];
    size_t sizes[] = { sizeof tag, sizeof client, sizeof cookie,
                       sizeof address };
    int exclusive;

    ck_assert_int_eq(librados.list_lockers(c->pool, object, name, &exclusive,
                                           tag, &sizes[0], client, &sizes[1],
                                           cookie, &sizes[2], address,
                                           &sizes[3]),
                     1);
    ck_assert_int_eq(librados.break_lock(c->pool, object, name, client, cookie),
                     0);
}

/* The first one sleeps until its lock has ended: it is shut out. */
START_TEST(what_a_copy_left_is_replaced)
{
    struct rados_rig rig = rados_rig_new("");
    struct format f = copy_format(), g = copy_format(), read;
    struct ceph *c = NULL, *other = NULL;
    struct error e = { 0 };

    ck_assert_int_eq(ceph_open(rig.at, &c, &e), ST_OK);
    ck_assert_int_eq(ceph_open(rig.other, &other, &e), ST_OK);
    ck_assert_int_eq(pool_copy_begin(c, &f, &e), ST_OK);
    put_object(c, "r.00.00000000");
    break_lock(other, POOL_FORMAT, "copy");
    ck_assert_int_eq(pool_copy_begin(other, &g, &e), ST_OK);
    ck_assert_int_eq(ceph_size(other, "r.00.00000000", &(uint64_t){ 0 }, &e),
                     ST_NOT_FOUND);
    ck_assert_int_ne(pool_copy_keep(c, &f, &e), ST_OK);
    ck_assert(ceph_is_blocklisted(c));
    ck_assert_int_ne(pool_copy_end(c, &f, &e), ST_OK);
    ck_assert_int_eq(pool_copy_end(other, &g, &e), ST_OK);
    ck_assert_int_eq(pool_format_read(other, &read, &e), ST_OK);
    ck_assert_str_eq(read.id, g.id);
    ceph_close(&c);
    ceph_close(&other);
    rados_rig_free(&rig);
}
END_TEST

START_TEST(a_copy_is_dropped_and_others_are_not)
{
    struct rados_rig rig = rados_rig_new("");
    struct format f = copy_format();
    struct ceph *c = NULL;
    struct error e = { 0 };

    ck_assert_int_eq(ceph_open(rig.at, &c, &e), ST_OK);
    put_object(c, "foreign");
    ck_assert_int_eq(pool_copy_begin(c, &f, &e), ST_INVALID);
    ck_assert_ptr_nonnull(strstr(e.text, "foreign"));
    ck_assert_int_eq(ceph_remove(c, "foreign", &e), ST_OK);
    ck_assert_int_eq(pool_copy_begin(c, &f, &e), ST_OK);
    put_object(c, "r.00.00000000");
    ck_assert_int_eq(pool_copy_drop(c, &f, &e), ST_OK);
    ck_assert_int_eq(pool_check_empty(c, &e), ST_OK);
    ceph_close(&c);
    rados_rig_free(&rig);
}
END_TEST

RADOS_TEST_MAIN("pool", TEST(format_is_made_once), TEST(what_is_no_format),
                TEST(a_copy_is_a_store_at_its_end),
                TEST(what_a_copy_left_is_replaced),
                TEST(a_copy_is_dropped_and_others_are_not))
