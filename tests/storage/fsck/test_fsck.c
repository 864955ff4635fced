/* Files that lost a bit, or are gone: told, repaired, and told no more; what is
 * not told has changed nothing. */
#include "storage/fsck/fsck.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/durable.h"
#include "base/file/file.h"
#include "base/process/log.h"
#include "storage/place/datadir.h"
#include "storage/place/format.h"
#include "storage/block/block.h"
#include "storage/block/row_value.h"
#include "storage/store/store.h"
#include "tests/harness.h"
#include "tests/storage/kv/leveldb/manifest_rig.h"
#include "tests/tempdir.h"

#define BASE   1356998400
#define SERIES 20
#define TRIALS 6

#define OK(call)                                              \
    do {                                                      \
        struct error e = { 0 };                               \
        enum status st_ = (call);                             \
                                                              \
        ck_assert_msg(st_ == ST_OK, "%s: %s", #call, e.text); \
    } while (0)

static struct store *
open_store(const char *dir)
{
    const struct store_options o = { .dir = dir,
                                     .layout = KEY_LAYOUT_DEFAULT,
                                     .sync = WAL_SYNC_OFF,
                                     .flush_delay_ms = 3600000,
                                     .min_free_bytes = 1 };
    struct store *s;

    OK(store_open(&o, &s, &e));
    return s;
}

static void
add(struct store *s, int hour)
{
    struct series_point points[100];
    uint64_t lsn;

    for (int i = 0; i < SERIES; i++) {
        uint8_t tsuid[9] = { 0, 0, 1, 0, 0, 1, 0, 0, (uint8_t)(i + 1) };
        series_ref ref;

        OK(store_series(s, slice_of(tsuid, sizeof tsuid), false, &ref, &e));
        for (int p = 0; p < 100; p++)
            points[p] = (struct series_point){
                .series = ref,
                .point = { .ts_ms =
                               (BASE + hour * 3600 + p * 30) * INT64_C(1000),
                           .v.i = (p * 7919 + hour * i) % 1000 },
            };
        OK(store_put(s, points, 100, &lsn, &e));
        OK(store_commit(s, lsn, i == SERIES - 1, &e));
    }
}

/* What a killed process leaves: tables and a WAL. */
static char *
image_new(const char *dir)
{
    char *live = tempdir_path(dir, "live"), *image = tempdir_path(dir, "image");
    struct store *s = open_store(live);

    add(s, 0);
    OK(store_flush(s, &e));
    add(s, 1);
    OK(store_flush(s, &e));
    add(s, 2);
    add(s, 2); /* what has no mark behind it may be cut off */
    OK(folder_copy(live, image, false, &e));
    OK(store_close(&s, &e));
    free(live);
    return image;
}

/* -- damage ---------------------------------------------------------------- */

/* The path of the first file in DIR/PART that ends so and has a byte. */
static char *
find_file(const char *dir, const char *part, const char *with)
{
    char *folder = tempdir_path(dir, part), *found = NULL;
    DIR *d = opendir(folder);
    const struct dirent *entry;

    ck_assert_ptr_nonnull(d);
    while (found == NULL && (entry = readdir(d)) != NULL) {
        char *path = tempdir_path(folder, entry->d_name);
        struct stat info;

        if (strstr(entry->d_name, with) != NULL && stat(path, &info) == 0 &&
            S_ISREG(info.st_mode) && info.st_size > 0)
            found = path;
        else
            free(path);
    }
    (void)closedir(d);
    free(folder);
    ck_assert_msg(found != NULL, "no %s in %s", with, part);
    return found;
}

static void
flip(const char *path, uint64_t *r)
{
    FILE *f = fopen(path, "r+b");
    struct stat info;
    long at;
    int byte;

    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fstat(fileno(f), &info), 0);
    at = (long)(harness_random(r) % (uint64_t)info.st_size);
    ck_assert_int_eq(fseek(f, at, SEEK_SET), 0);
    byte = fgetc(f);
    ck_assert_int_eq(fseek(f, at, SEEK_SET), 0);
    (void)fputc(byte ^ 1 << harness_random(r) % 8, f);
    ck_assert_int_eq(fclose(f), 0);
}

/* -- looking --------------------------------------------------------------- */

struct told {
    char first[64];
    bool show, tail;
    unsigned notes;
};

static void
say(void *ctx, const struct finding *f)
{
    struct told *t = ctx;

    t->notes += f->is_note;
    t->tail |= f->is_note && strcmp(f->code, "engine-tail") == 0;
    if (!f->is_note && t->first[0] == '\0')
        (void)snprintf(t->first, sizeof t->first, "%s", f->code);
    if (t->show)
        (void)printf("%s: %s\n", f->code, f->text);
}

static uint64_t
look(const char *dir, const char *aside, struct told *t)
{
    struct check c = { .say = say, .ctx = t, .aside = aside };

    t->first[0] = '\0';
    t->tail = false;
    OK(check_files(dir, &c, &e));
    /* A start makes FORMAT again of its copy. */
    ck_assert(aside != NULL ||
              c.rejected ==
                  (c.found > 0 && strcmp(t->first, "format-damaged") != 0));
    return c.found;
}

/* How many points the store has, and a sum of them. */
static uint64_t
read_all(const char *dir, size_t *points)
{
    struct store *s = open_store(dir);
    struct points p = { 0 };
    struct kv_iter *it;
    uint64_t sum = 0;

    OK(store_flush(s, &e));
    it = kv_iter_open(store_kv(s), slice_str(""));
    *points = 0;
    for (bool on = kv_iter_seek(it, slice_str("r")); on;
         on = kv_iter_next(it)) {
        struct tsuid tsuid;
        struct row_hours h;
        struct slice block;
        uint32_t base;

        if (kv_iter_key(it).data[0] != 'r')
            break;
        OK(key_row_parse(store_layout(s), kv_iter_key(it), &base, &tsuid, &e));
        points_clear(&p);
        OK(row_hours_begin(store_layout(s), base, kv_iter_value(it), &h, &e));
        while (row_hours_next(&h, &base, &block))
            OK(block_decode(block, base, &p, &e));
        OK(row_hours_end(&h, &e));
        *points += p.len;
        for (size_t i = 0; i < p.len; i++)
            sum += (uint64_t)p.v[i].i * (uint64_t)p.ts_ms[i] * tsuid.bytes[8];
    }
    OK(kv_iter_close(&it, &e));
    points_fini(&p);
    OK(store_close(&s, &e));
    return sum;
}

static const struct {
    const char *part, *name;
    const char *flipped; /* the code when a bit flips; NULL: harmless */
    const char *gone;    /* when it is deleted */
} files[] = {
    { ".", "FORMAT", "format-damaged", "format-damaged" },
    { "engine", "CURRENT", "engine-current", "engine-current" },
    { "engine", "MANIFEST", "engine-manifest", "engine-manifest" },
    { "engine", ".ldb", "engine-table", "engine-missing" },
    { "journal", ".wal", "journal-damage", NULL },
};

/* What can be repaired is whole afterwards; all else is there, too. */
static void
check_repaired(const char *dir, const char *aside, size_t least)
{
    struct told t = { .show = false };
    size_t points;

    ck_assert_uint_gt(look(dir, aside, &t), 0);
    t.show = true;
    ck_assert_uint_eq(look(dir, NULL, &t), 0);
    (void)read_all(dir, &points);
    ck_assert_uint_ge(points, least);
}

START_TEST(flipped_bits)
{
    uint64_t r = harness_seed(7919) * 31 + (unsigned)_i;
    char *dir = tempdir_new(), *image = image_new(dir);
    char *copy = tempdir_path(dir, "copy"), *aside = tempdir_path(dir, "aside");
    size_t whole, found = 0;
    uint64_t sum;

    OK(folder_copy(image, copy, false, &e));
    sum = read_all(copy, &whole);
    OK(folder_delete(copy, &e));
    ck_assert_uint_eq(whole, SERIES * 300);
    for (int trial = 0; trial < TRIALS; trial++) {
        struct told t = { .show = false };
        char *path;
        size_t points;

        OK(folder_copy(image, copy, false, &e));
        path = find_file(copy, files[_i].part, files[_i].name);
        flip(path, &r);
        free(path);
        if (look(copy, NULL, &t) > 0) {
            found++;
            ck_assert_msg(strcmp(t.first, files[_i].flipped) == 0 ||
                              strcmp(files[_i].name, "CURRENT") == 0,
                          "%s", t.first);
            if (trial < 2)
                check_repaired(copy, aside,
                               _i <= 2 ? whole : (size_t)SERIES * 100);
        } else if (!t.tail) {
            ck_assert_uint_eq(read_all(copy, &points), sum);
            ck_assert_uint_eq(points, whole);
        }
        OK(folder_delete(copy, &e));
    }
    ck_assert_uint_ge(found, TRIALS / 2);
    free(copy);
    free(aside);
    free(image);
    tempdir_free(&dir);
}
END_TEST

START_TEST(deleted_files)
{
    char *dir = tempdir_new(), *image = image_new(dir), *path;
    char *aside = tempdir_path(dir, "aside");
    struct told t = { .show = false };

    if (files[_i].gone != NULL) {
        path = find_file(image, files[_i].part, files[_i].name);
        ck_assert_int_eq(unlink(path), 0);
        ck_assert_uint_gt(look(image, NULL, &t), 0);
        ck_assert_str_eq(t.first, files[_i].gone);
        check_repaired(image, aside, _i <= 2 ? SERIES * 300 : SERIES * 100);
        free(path);
    }
    free(image);
    free(aside);
    tempdir_free(&dir);
}
END_TEST

/* The last edit but one names the only table. */
START_TEST(a_table_that_is_no_longer_named)
{
    char *dir = tempdir_new(), *live = tempdir_path(dir, "live");
    char *aside = tempdir_path(dir, "aside"), *path;
    struct store *s = open_store(live);
    struct buf bytes = BUF_INIT;

    add(s, 0);
    OK(store_flush(s, &e));
    OK(store_close(&s, &e));
    path = find_file(live, "engine", "MANIFEST");
    OK(file_read(path, SIZE_MAX, &bytes, &e));
    bytes.data[bytes.size - 25] ^= 1;
    OK(files_write(path, buf_slice(&bytes), &e));
    check_repaired(live, aside, SERIES * 100);
    buf_fini(&bytes);
    free(path);
    free(aside);
    free(live);
    tempdir_free(&dir);
}
END_TEST

START_TEST(a_current_with_more_behind)
{
    char *dir = tempdir_new(), *image = image_new(dir);
    char *aside = tempdir_path(dir, "aside");
    char *path = find_file(image, "engine", "CURRENT");
    FILE *f = fopen(path, "ab");

    ck_assert_int_eq(fprintf(f, "%050d", 0), 50);
    ck_assert_int_eq(fclose(f), 0);
    check_repaired(image, aside, SERIES * 300);
    free(path);
    free(aside);
    free(image);
    tempdir_free(&dir);
}
END_TEST

/* What the next start takes back by itself is no damage. */
START_TEST(an_edit_ahead_of_its_table)
{
    static const uint8_t edit[] = { 3, 0x80, 0x7f, 7,   0,   0xff, 0x7e,
                                    9, 9,    'k',  'e', 'y', 0,    0,
                                    0, 0,    0,    0,   1,   'l' };
    char *dir = tempdir_new(), *image = image_new(dir);
    char *path = find_file(image, "engine", "MANIFEST");
    struct buf bytes = BUF_INIT;
    struct told t = { .show = true };
    size_t points;
    FILE *f;

    OK(file_read(path, SIZE_MAX, &bytes, &e));
    manifest_put(&bytes, slice_of(edit, sizeof edit));
    f = fopen(path, "wb");
    ck_assert_uint_eq(fwrite(bytes.data, 1, bytes.size, f), bytes.size);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_uint_eq(look(image, NULL, &t), 0);
    ck_assert(t.tail);
    (void)read_all(image, &points);
    ck_assert_uint_eq(points, SERIES * 300);
    buf_fini(&bytes);
    free(path);
    free(image);
    tempdir_free(&dir);
}
END_TEST

/* A table lost a bit, and how many points are whole when it is repaired. */
static size_t
damage_table(const char *image)
{
    char *path = find_file(image, "engine", ".ldb");
    struct buf bytes = BUF_INIT;

    OK(file_read(path, SIZE_MAX, &bytes, &e));
    bytes.data[20] ^= 1;
    OK(files_write(path, buf_slice(&bytes), &e));
    buf_fini(&bytes);
    free(path);
    return (size_t)SERIES * 200; /* what the logs hold */
}

static void
rename_in(const char *dir, const char *from, const char *to)
{
    char *a = tempdir_path(dir, from), *b = tempdir_path(dir, to);

    ck_assert_int_eq(rename(a, b), 0);
    free(a);
    free(b);
}

/* How a repair may end early, once the new engine is complete. */
static const struct {
    const char *from, *to;
    uint64_t found;
} cuts[] = {
    { "engine", "engine.new", 1 },    /* the old one is aside */
    { "engine", "engine.making", 0 }, /* nothing is left: an error */
};

START_TEST(a_repair_that_was_cut_short)
{
    char *dir = tempdir_new(), *image = image_new(dir);
    char *aside = tempdir_path(dir, "aside"), *copy = tempdir_path(dir, "copy");
    struct told t = { .show = true };
    struct check c = { .say = say, .ctx = &t, .aside = aside };
    struct error why;
    size_t points, whole;
    uint64_t sum;

    OK(folder_copy(image, copy, false, &e));
    sum = read_all(copy, &whole);
    rename_in(image, cuts[_i].from, cuts[_i].to);
    ck_assert_uint_eq(look(image, NULL, &t), 1);
    ck_assert_str_eq(t.first, "engine-missing");
    if (cuts[_i].found > 0) {
        ck_assert_uint_eq(look(image, aside, &t), cuts[_i].found);
        ck_assert_uint_eq(look(image, NULL, &t), 0);
        ck_assert_uint_eq(read_all(image, &points), sum);
    } else {
        for (int i = 0; i < 2; i++) {
            ck_assert_int_eq(check_files(image, &c, &why), ST_IO);
            ck_assert_ptr_nonnull(strstr(why.text, "is missing"));
            ck_assert_uint_eq(c.repaired, 0);
        }
    }
    free(copy);
    free(aside);
    free(image);
    tempdir_free(&dir);
}
END_TEST

/* Each part is looked at, whatever another one is like. */
START_TEST(damage_of_two_parts)
{
    char *dir = tempdir_new(), *image = image_new(dir);
    char *path = find_file(image, "journal", ".wal");
    struct buf bytes = BUF_INIT;
    struct told t = { .show = false };
    uint64_t one;

    (void)damage_table(image);
    one = look(image, NULL, &t);
    ck_assert_uint_ge(one, 1);
    OK(file_read(path, SIZE_MAX, &bytes, &e));
    bytes.data[40] ^= 1; /* of the first record */
    OK(files_write(path, buf_slice(&bytes), &e));
    ck_assert_uint_ge(look(image, NULL, &t), one + 1);
    buf_fini(&bytes);
    free(path);
    free(image);
    tempdir_free(&dir);
}
END_TEST

/* What a making leaves that was cut short: nothing of it is damage, and the
 * next start goes on with it. */
static const char *const made[] = { "FORMAT", "engine", "engine/LOG" };

START_TEST(a_making_that_was_cut_short)
{
    char *dir = tempdir_new(), *store = tempdir_path(dir, "store");
    char *part = tempdir_path(store, made[_i]);
    struct told t = { .show = false };
    const struct key_layout layout = KEY_LAYOUT_DEFAULT;
    struct format f;
    struct store *s;

    format_new(&f, &layout);
    OK(files_make_dir(store, &e));
    OK(format_write(store, &f, &e));
    if (_i > 0) {
        char *engine = tempdir_path(store, "engine");

        OK(files_make_dir(engine, &e));
        free(engine);
    }
    if (_i > 1)
        OK(files_write(part, slice_str(""), &e));
    ck_assert_uint_eq(look(store, NULL, &t), 0);
    ck_assert_uint_eq(t.notes, 1);
    s = open_store(store);
    OK(store_close(&s, &e));
    t.notes = 0;
    ck_assert_uint_eq(look(store, NULL, &t), 0);
    ck_assert_uint_eq(t.notes, 0);
    free(part);
    free(store);
    tempdir_free(&dir);
}
END_TEST

/* It would be older than the engine, should that be missed one day. */
START_TEST(what_a_repair_left_goes_at_the_next_start)
{
    char *dir = tempdir_new(), *image = image_new(dir);
    char *whole = tempdir_path(image, "engine.new");
    char *file = tempdir_path(whole, "CURRENT");
    struct store *s;
    bool empty = false;

    OK(files_make_dir(whole, &e));
    OK(files_write(file, slice_str("MANIFEST-000001\n"), &e));
    s = open_store(image);
    OK(store_close(&s, &e));
    OK(folder_is_empty(whole, &empty, &e));
    ck_assert(empty);
    free(file);
    free(whole);
    free(image);
    tempdir_free(&dir);
}
END_TEST

/* With few descriptors a file that is whole cannot be opened at some moment: it
 * is not damaged.  The repair loses nothing of it, or fails and changes
 * nothing. */
START_TEST(a_repair_short_of_descriptors)
{
    char *dir = tempdir_new(), *image = image_new(dir);
    char *aside = tempdir_path(dir, "aside"), *copy = tempdir_path(dir, "copy");
    const struct rlimit all = { 1024, 4096 };
    size_t failed = 0, done = 0, least = damage_table(image);
    struct told t = { .show = false };

    log_set_level(LOG_ERROR);
    for (rlim_t n = 4; done < 3; n++) {
        struct check c = { .say = say, .ctx = &t, .aside = aside };
        const struct rlimit few = { n, 4096 };
        struct error why;
        enum status st;
        size_t points;

        ck_assert_uint_lt(n, 1000);
        OK(folder_copy(image, copy, false, &e));
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
        st = check_files(copy, &c, &why);
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &all), 0);
        if (st == ST_OK && c.found == 1) {
            done++;
        } else {
            failed++;
            ck_assert_msg(st != ST_OK, "%s", t.first);
            (void)look(copy, aside, &t);
        }
        ck_assert_uint_eq(look(copy, NULL, &t), 0);
        (void)read_all(copy, &points);
        ck_assert_msg(points >= least, "%zu descriptors: %zu points", (size_t)n,
                      points);
        OK(folder_delete(copy, &e));
    }
    ck_assert_uint_gt(failed, 2);
    free(copy);
    free(aside);
    free(image);
    tempdir_free(&dir);
}
END_TEST

/* A folder in the place of a file can be opened and not read: that is no
 * damage of the file. */
START_TEST(what_cannot_be_read_is_not_damaged)
{
    static const char *const names[] = { "FORMAT", "FORMAT.1" };
    char *dir = tempdir_new(), *image = image_new(dir);
    char *path = tempdir_path(image, names[_i]);
    struct told t = { .show = false };
    struct check c = { .say = say, .ctx = &t };
    struct error why;

    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(check_files(image, &c, &why), ST_IO);
    ck_assert_msg(strstr(why.text, path) != NULL, "%s", why.text);
    ck_assert_uint_eq(c.found, 0);
    free(path);
    free(image);
    tempdir_free(&dir);
}
END_TEST

/* A copy opens and holds the same, whether it shares tables or not; a folder
 * that is there is not written over. */
START_TEST(copies_folders)
{
    char *dir = tempdir_new(), *image = image_new(dir);
    char *a = tempdir_path(dir, "a"), *b = tempdir_path(dir, "b");
    size_t points, again;
    bool empty;
    uint64_t sum;

    OK(folder_copy(image, a, true, &e));
    OK(folder_copy(image, b, false, &e));
    ck_assert_int_eq(folder_copy(image, b, false, NULL), ST_INVALID);
    sum = read_all(a, &points);
    ck_assert_uint_eq(read_all(b, &again), sum);
    ck_assert_uint_eq(points, SERIES * 300);
    ck_assert_uint_eq(again, points);
    OK(folder_is_empty(a, &empty, &e));
    ck_assert(!empty);
    OK(folder_delete(a, &e));
    OK(folder_delete(a, &e));
    OK(folder_is_empty(a, &empty, &e));
    ck_assert(empty);
    OK(folder_rename(b, a, &e));
    ck_assert_uint_eq(read_all(a, &again), sum);
    free(a);
    free(b);
    free(image);
    tempdir_free(&dir);
}
END_TEST

/* Devices, pipes and links to them have no end, or none soon. */
START_TEST(copies_regular_files_alone)
{
    static const char *const names[] = { "engine/x", "engine/000777.ldb",
                                         "journal/x" };
    char *dir = tempdir_new(), *image = image_new(dir);
    char *to = tempdir_path(dir, "to");
    struct error why;

    for (size_t i = 0; i < 2 * sizeof names / sizeof names[0]; i++) {
        char *odd = tempdir_path(image, names[i / 2]);

        ck_assert_int_eq(
            i % 2 == 0 ? symlink("/dev/zero", odd) : mkfifo(odd, 0600), 0);
        ck_assert_int_eq(folder_copy(image, to, i / 2 == 1, &why), ST_INVALID);
        ck_assert_ptr_nonnull(strstr(why.text, names[i / 2]));
        ck_assert_int_eq(unlink(odd), 0);
        OK(folder_delete(to, &e));
        free(odd);
    }
    OK(folder_copy(image, to, true, &e));
    free(to);
    free(image);
    tempdir_free(&dir);
}
END_TEST

TEST_MAIN("check", LOOP(flipped_bits, files), LOOP(deleted_files, files),
          TEST(a_table_that_is_no_longer_named),
          TEST(a_current_with_more_behind),
          LOOP(a_repair_that_was_cut_short, cuts),
          LOOP(a_making_that_was_cut_short, made),
          TEST(a_repair_short_of_descriptors), TEST(damage_of_two_parts),
          TEST(what_a_repair_left_goes_at_the_next_start),
          TIMES(what_cannot_be_read_is_not_damaged, 2),
          TEST(an_edit_ahead_of_its_table), TEST(copies_folders),
          TEST(copies_regular_files_alone))
