/* What a power cut may leave of LevelDB's MANIFEST, and what it may not: first
 * files that are made byte by byte, then those of a database. */
#include "storage/kv/leveldb/level_manifest.h"

#include <dirent.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#else
#define __lsan_disable() ((void)0)
#define __lsan_enable()  ((void)0)
#endif

#include "base/file/durable.h"
#include "base/file/file.h"
#include "storage/kv/kv.h"
#include "storage/kv/leveldb/level_files.h"
#include "tests/harness.h"
#include "tests/nomem.h"
#include "tests/storage/kv/leveldb/manifest_rig.h"
#include "tests/tempdir.h"

static void
file_put(const char *dir, const char *name, struct slice bytes)
{
    char *path = tempdir_path(dir, name);

    ck_assert_int_eq(files_write(path, bytes, NULL), ST_OK);
    free(path);
}

static struct buf
file_get(const char *dir, const char *name)
{
    char *path = tempdir_path(dir, name);
    struct buf b = BUF_INIT;

    ck_assert_int_eq(file_read(path, SIZE_MAX, &b, NULL), ST_OK);
    free(path);
    return b;
}

/* -- made byte by byte ----------------------------------------------------- */

#define EDITS 24

struct sample {
    char *dir;
    struct buf bytes;
    size_t begins[EDITS], ends[EDITS];
};

static void
write_manifest(const struct sample *s, struct slice bytes)
{
    file_put(s->dir, "MANIFEST-000007", bytes);
}

/* Edit i adds the table i. The first one names a log, too; one spans three
 * blocks, and one ends four bytes before the end of its block. */
static struct sample
make_sample(uint64_t seed)
{
    static uint8_t key[70000];
    struct sample s = { .dir = tempdir_new(), .bytes = BUF_INIT };

    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (uint8_t)harness_random(&seed);
    for (size_t i = 0; i < EDITS; i++) {
        size_t size = i == 11 ? 66000 : 128 + harness_random(&seed) % 3000;
        struct buf edit = BUF_INIT;
        char *path = level_table_path(s.dir, i);

        if (i == 0) {
            buf_put_varint(&edit, 2);
            buf_put_varint(&edit, 5);
        }
        buf_put_varint(&edit, 7);
        buf_put_varint(&edit, 1);
        buf_put_varint(&edit, i);
        buf_put_varint(&edit, 100 + i);
        buf_put_sized(&edit, slice_str("a"));
        if (i == 3)
            size = MANIFEST_BLOCK - s.bytes.size % MANIFEST_BLOCK -
                   MANIFEST_HEADER - 4 - edit.size - 3;
        buf_put_sized(&edit, slice_of(key, size));
        s.begins[i] = s.bytes.size;
        manifest_put(&s.bytes, buf_slice(&edit));
        s.ends[i] = s.bytes.size;
        ck_assert_int_eq(files_write(path, slice_str(""), NULL), ST_OK);
        buf_fini(&edit);
        free(path);
    }
    ck_assert_uint_eq(s.ends[3] % MANIFEST_BLOCK, MANIFEST_BLOCK - 4);
    file_put(s.dir, "CURRENT", slice_str("MANIFEST-000007\n"));
    return s;
}

static void
free_sample(struct sample *s)
{
    buf_fini(&s->bytes);
    tempdir_free(&s->dir);
}

static struct level_manifest
read_manifest(const char *dir)
{
    struct level_manifest m;
    struct error e;

    ck_assert_msg(level_manifest_read(dir, &m, &e) == ST_OK, "%s", e.text);
    return m;
}

static void
check_state(const struct sample *s, enum manifest_state state, size_t at,
            size_t tables, const char *what, size_t where)
{
    struct level_manifest m = read_manifest(s->dir);

    ck_assert_msg(m.state == state, "%s %zu: state %d, not %d", what, where,
                  m.state, state);
    if (state == MANIFEST_TORN)
        ck_assert_uint_eq(m.at, at);
    if (state != MANIFEST_DAMAGED) {
        ck_assert_uint_eq(m.len, tables);
        for (size_t i = 0; i < tables; i++)
            ck_assert(level_manifest_names(&m, i));
        ck_assert(!level_manifest_names(&m, tables));
    }
    level_manifest_fini(&m);
}

/* How many edits end at or before the byte. */
static size_t
whole_before(const struct sample *s, size_t at)
{
    size_t n = 0;

    while (n < EDITS && s->ends[n] <= at)
        n++;
    return n;
}

/* At each border, and near it, and at random places. */
static size_t
place(const struct sample *s, size_t i, uint64_t *seed)
{
    static const int near[] = { -7, -1, 0, 1, 6, 7 };
    size_t at = i < EDITS * 6 ? (size_t)((int64_t)s->ends[i / 6] + near[i % 6])
                              : (size_t)(harness_random(seed) % s->bytes.size);

    return at >= s->bytes.size ? s->bytes.size - 1 : at;
}

START_TEST(an_end_that_is_cut_off_is_torn)
{
    uint64_t seed = harness_seed(20261122);
    struct sample s = make_sample(seed);

    write_manifest(&s, buf_slice(&s.bytes));
    check_state(&s, MANIFEST_GOOD, 0, EDITS, "whole", 0);
    for (size_t i = 0; i < 300; i++) {
        size_t at = place(&s, i, &seed), n = whole_before(&s, at);

        write_manifest(&s, slice_of(s.bytes.data, at));
        if (n == 0)
            check_state(&s, MANIFEST_DAMAGED, 0, 0, "cut at", at);
        else if (s.ends[n - 1] == at)
            check_state(&s, MANIFEST_GOOD, 0, n, "cut at", at);
        else
            check_state(&s, MANIFEST_TORN, s.ends[n - 1], n, "cut at", at);
    }
    free_sample(&s);
}
END_TEST

/* Only the last edit can be torn: before it, the same is damage. */
START_TEST(a_hole_is_torn_only_at_the_end)
{
    uint64_t seed = harness_seed(20261122);
    struct sample s = make_sample(seed);
    size_t last = s.begins[EDITS - 1];

    for (size_t i = 0; i < 300; i++) {
        size_t at = place(&s, i, &seed), size = 1;
        struct buf copy = BUF_INIT;
        bool same;

        if (i % 2 == 1)
            size = 1 + (size_t)(harness_random(&seed) % 6000);
        if (size > s.bytes.size - at)
            size = s.bytes.size - at;
        buf_put_slice(&copy, buf_slice(&s.bytes));
        for (size_t k = 0; k < size; k++)
            copy.data[at + k] = size == 1 ? (uint8_t)~copy.data[at] : 0;
        same = memcmp(copy.data, s.bytes.data, copy.size) == 0 ||
               (at >= s.ends[3] && at + size <= s.ends[3] + 4);
        write_manifest(&s, buf_slice(&copy));
        if (same)
            check_state(&s, MANIFEST_GOOD, 0, EDITS, "hole at", at);
        else if (at >= last)
            check_state(&s, MANIFEST_TORN, last, EDITS - 1, "hole at", at);
        else if (at + size <= last)
            check_state(&s, MANIFEST_DAMAGED, 0, 0, "hole at", at);
        buf_fini(&copy);
    }
    free_sample(&s);
}
END_TEST

static void
set_table(const struct sample *s, uint64_t number, bool there)
{
    char *path = level_table_path(s->dir, number);

    ck_assert_int_eq(there ? files_write(path, slice_str(""), NULL)
                           : (enum status)unlink(path),
                     ST_OK);
    free(path);
}

/* LevelDB makes the name of a table durable between writing an edit and syncing
 * it. */
START_TEST(an_edit_may_be_ahead_of_its_table)
{
    struct sample s = make_sample(harness_seed(20261122));

    write_manifest(&s, buf_slice(&s.bytes));
    set_table(&s, EDITS - 1, false);
    check_state(&s, MANIFEST_TORN, s.begins[EDITS - 1], EDITS - 1, "table",
                EDITS - 1);
    set_table(&s, 5, false); /* the version before lacks this one */
    check_state(&s, MANIFEST_GOOD, 0, EDITS, "table", 5);
    write_manifest(&s, slice_of(s.bytes.data, s.bytes.size - 1));
    check_state(&s, MANIFEST_DAMAGED, 0, 0, "torn, table", 5);
    free_sample(&s);
}
END_TEST

/* Table 12 moves to another level, table 13 is deleted. */
static const uint8_t next[] = { 6, 1,   12, 7, 2, 12, 0x80, 1, 1, 'a',
                                1, 'z', 2,  8, 9, 0,  6,    1, 13 };

START_TEST(edits_are_applied)
{
    struct sample s = make_sample(harness_seed(20261122));
    struct level_manifest m;

    manifest_put(&s.bytes, slice_of(next, sizeof next));
    write_manifest(&s, buf_slice(&s.bytes));
    m = read_manifest(s.dir);
    ck_assert_int_eq(m.state, MANIFEST_GOOD);
    ck_assert_uint_eq(m.len, EDITS - 1);
    ck_assert(level_manifest_names(&m, 12));
    ck_assert(!level_manifest_names(&m, 13));
    level_manifest_fini(&m);
    free_sample(&s);
}
END_TEST

static void
check_edit(const struct sample *s, struct slice edit, bool good)
{
    struct buf bytes = BUF_INIT;
    struct level_manifest m;

    buf_put_slice(&bytes, buf_slice(&s->bytes));
    manifest_put(&bytes, edit);
    write_manifest(s, buf_slice(&bytes));
    m = read_manifest(s->dir);
    ck_assert_int_eq(m.state, good ? MANIFEST_GOOD : MANIFEST_DAMAGED);
    level_manifest_fini(&m);
    buf_fini(&bytes);
}

/* Parts of an edit, and fields that there are not. */
START_TEST(rejects_what_is_no_edit)
{
    struct sample s = make_sample(harness_seed(20261122));

    for (size_t size = 0; size < sizeof next; size++)
        check_edit(&s, slice_of(next, size),
                   size == 0 || size == 3 || size == 12 || size == 14 ||
                       size == 16);
    for (unsigned field = 0; field < 256; field++) {
        uint8_t bytes[] = { (uint8_t)field, 0, 0, 0, 0, 0 };

        if (field == 0 || field == 8 || field > 9)
            check_edit(&s, slice_of(bytes, sizeof bytes), false);
    }
    free_sample(&s);
}
END_TEST

START_TEST(rejects_what_names_no_manifest)
{
    static const char *const texts[] = {
        "", "MANIFEST-", "MANIFEST-000007", "MANIFEST-00x007\n",
        "MANIFEST-000007\nand much more behind"
    };
    struct sample s = make_sample(harness_seed(20261122));
    struct level_manifest m;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        file_put(s.dir, "CURRENT", slice_str(texts[i]));
        m = read_manifest(s.dir);
        ck_assert_int_eq(m.state, MANIFEST_UNNAMED);
        level_manifest_fini(&m);
    }
    file_put(s.dir, "CURRENT", slice_str("MANIFEST-000008\n"));
    m = read_manifest(s.dir);
    ck_assert_int_eq(m.state, MANIFEST_DAMAGED);
    ck_assert_str_eq(m.text, "it is missing");
    level_manifest_fini(&m);
    free_sample(&s);
}
END_TEST

START_TEST(a_lack_of_memory_is_no_damage)
{
    struct sample s = make_sample(harness_seed(20261122));

    write_manifest(&s, buf_slice(&s.bytes));
    for (unsigned n = 0; nomem_begin(n); n++) {
        struct level_manifest m;
        enum status st = level_manifest_read(s.dir, &m, NULL);

        nomem_end();
        if (st == ST_OK) {
            ck_assert_int_eq(m.state, MANIFEST_GOOD);
            ck_assert_uint_eq(m.len, EDITS);
        } else
            ck_assert(nomem_failed());
        level_manifest_fini(&m);
    }
    free_sample(&s);
}
END_TEST

/* -- of a database --------------------------------------------------------- */

#define KEYS 100

/* A database that was synced, and a copy of its folder to spoil. */
struct scene {
    char *dir, *copy;
    char manifest[64];
};

static bool
is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Empties 'to' and fills it with the files of 'from'. */
static void
copy_folder(const char *from, const char *to)
{
    DIR *d = opendir(to);
    const struct dirent *entry;

    while ((entry = readdir(d)) != NULL) {
        char *path = tempdir_path(to, entry->d_name);

        if (!is_dot(entry->d_name))
            ck_assert_int_eq(remove(path), 0);
        free(path);
    }
    (void)closedir(d);
    d = opendir(from);
    while ((entry = readdir(d)) != NULL)
        if (!is_dot(entry->d_name)) {
            struct buf b = file_get(from, entry->d_name);

            file_put(to, entry->d_name, buf_slice(&b));
            buf_fini(&b);
        }
    (void)closedir(d);
}

static void
put(struct kv *kv, unsigned from, unsigned to)
{
    struct kv_batch *b = kv_batch_new();
    char key[16];

    for (unsigned i = from; i < to; i++) {
        (void)snprintf(key, sizeof key, "key%06u", i);
        kv_batch_put(b, slice_str(key), slice_str(key));
    }
    ck_assert_int_eq(kv_write(kv, b, NULL), ST_OK);
    kv_batch_free(&b);
}

/* As it is when the process is killed after a sync, or after it was closed. */
static struct scene
make_scene(bool closed)
{
    struct scene s = { .dir = tempdir_new(), .copy = tempdir_new() };
    char *live = tempdir_new();
    struct kv_options o = { .place = KV_LEVELDB(live), .create = true };
    struct kv *kv;
    struct buf current;

    ck_assert_int_eq(kv_open(&o, &kv, NULL), ST_OK);
    put(kv, 0, KEYS);
    if (closed)
        kv_close(&kv);
    else
        ck_assert_int_eq(kv_sync(kv, NULL), ST_OK);
    copy_folder(live, s.dir);
    kv_close(&kv);
    current = file_get(s.dir, "CURRENT");
    (void)snprintf(s.manifest, sizeof s.manifest, "%.*s", (int)current.size - 1,
                   (const char *)current.data);
    buf_fini(&current);
    tempdir_free(&live);
    return s;
}

static void
free_scene(struct scene *s)
{
    tempdir_free(&s->dir);
    tempdir_free(&s->copy);
}

static enum status
open_copy(const struct scene *s, unsigned *keys, struct error *e)
{
    struct kv_options o = { .place = KV_LEVELDB(s->copy) };
    struct kv_iter *it;
    struct kv *kv;
    enum status st;

    /* LevelDB does not free all of its memory when it rejects a MANIFEST. */
    __lsan_disable();
    st = kv_open(&o, &kv, e);
    __lsan_enable();
    *keys = 0;
    if (st != ST_OK)
        return st;
    it = kv_iter_open(kv, slice_str(""));
    for (bool on = kv_iter_seek(it, slice_str("")); on; on = kv_iter_next(it))
        ++*keys;
    ck_assert_int_eq(kv_iter_close(&it, NULL), ST_OK);
    kv_close(&kv);
    return ST_OK;
}

static void
must_hold(const struct scene *s)
{
    struct error e;
    unsigned keys;

    ck_assert_msg(open_copy(s, &keys, &e) == ST_OK, "%s", e.text);
    ck_assert_uint_eq(keys, KEYS);
}

static void
must_reject(const struct scene *s, const char *sentence)
{
    struct error e = { 0 };
    unsigned keys;

    ck_assert_int_eq(open_copy(s, &keys, &e), ST_CORRUPT);
    ck_assert_msg(strstr(e.text, sentence) != NULL, "%s", e.text);
}

/* A bit of each byte flips: nothing that was synced is lost by that, and what
 * is rejected names the file. */
START_TEST(what_was_synced_is_not_cut_off)
{
    struct scene s = make_scene(_i == 1);
    struct buf b = file_get(s.dir, s.manifest);
    size_t rejected = 0;

    for (size_t at = 0; at < b.size; at++) {
        struct error e = { 0 };
        unsigned keys;
        enum status st;

        copy_folder(s.dir, s.copy);
        b.data[at] ^= 0x10;
        file_put(s.copy, s.manifest, buf_slice(&b));
        b.data[at] ^= 0x10;
        st = open_copy(&s, &keys, &e);
        ck_assert(st == ST_CORRUPT || (st == ST_OK && keys == KEYS));
        rejected += st == ST_CORRUPT;
        ck_assert(st == ST_OK || strstr(e.text, s.manifest) != NULL);
    }
    ck_assert_uint_gt(rejected, b.size / 2);
    buf_fini(&b);
    free_scene(&s);
}
END_TEST

static void
append(const struct scene *s, struct slice a, struct slice b)
{
    struct buf bytes = file_get(s->dir, s->manifest);

    copy_folder(s->dir, s->copy);
    buf_put_slice(&bytes, a);
    buf_put_slice(&bytes, b);
    file_put(s->copy, s->manifest, buf_slice(&bytes));
    buf_fini(&bytes);
}

/* An edit of a table that there is not, and of a log, as LevelDB writes one
 * when its memory table became a table. */
static const uint8_t flushed[] = { 2,    0x7f, 3, 0x80, 0x7f, 7,   0, 0xff,
                                   0x7e, 9,    9, 'k',  'e',  'y', 0, 0,
                                   0,    0,    0, 0,    1,    'l' };

START_TEST(an_end_that_power_left_is_cut_off)
{
    struct scene s = make_scene(_i == 1);
    const struct slice none = { NULL, 0 };
    struct buf edit = BUF_INIT;

    manifest_put(&edit, slice_of(flushed, sizeof flushed));
    for (size_t at = 1; at < edit.size; at++) {
        struct buf torn = BUF_INIT;

        append(&s, slice_of(edit.data, at), none);
        must_hold(&s);
        buf_put(&torn, edit.data, at);
        while (torn.size < edit.size)
            buf_put_u8(&torn, 0);
        append(&s, buf_slice(&torn), none);
        must_hold(&s);
        append(&s, buf_slice(&torn), buf_slice(&edit));
        must_reject(&s, "is damaged at offset");
        buf_fini(&torn);
    }
    append(&s, buf_slice(&edit), none);
    must_hold(&s);
    append(&s, buf_slice(&edit), buf_slice(&edit));
    must_reject(&s, "LevelDB in");
    buf_fini(&edit);
    free_scene(&s);
}
END_TEST

TEST_MAIN("level_manifest", TEST(an_end_that_is_cut_off_is_torn),
          TEST(a_hole_is_torn_only_at_the_end),
          TEST(an_edit_may_be_ahead_of_its_table), TEST(edits_are_applied),
          TEST(rejects_what_is_no_edit), TEST(rejects_what_names_no_manifest),
          TEST(a_lack_of_memory_is_no_damage),
          TIMES(what_was_synced_is_not_cut_off, 2),
          TIMES(an_end_that_power_left_is_cut_off, 2))
