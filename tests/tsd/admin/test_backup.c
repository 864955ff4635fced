/* A backup of a folder, on a disk of which one sync after the other fails. */
#include "tsd/admin/backup.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/durable.h"
#include "storage/place/datadir.h"
#include "tests/uid/fixture.h"

static atomic_long syncs_left = -1; /* 0: the next one fails; -1: none does */

int __real_fsync(int fd);
int __wrap_fsync(int fd);

/* The linker sends calls of fsync() here. */
int
__wrap_fsync(int fd)
{
    if (atomic_load(&syncs_left) < 0 || atomic_fetch_sub(&syncs_left, 1) > 0)
        return __real_fsync(fd);
    errno = EIO;
    return -1;
}

static atomic_int summarisers; /* that were started */

void *__real_store_weeks_summarise(void *store);
void *__wrap_store_weeks_summarise(void *store);

/* And calls of store_weeks_summarise() here. */
void *
__wrap_store_weeks_summarise(void *store)
{
    atomic_fetch_add(&summarisers, 1);
    return __real_store_weeks_summarise(store);
}

/* A copy is checked as it is.  If weeks were summed up in it meanwhile, a check
 * that takes longer than some seconds would have ever more to compare. */
START_TEST(nothing_is_summed_up_in_the_copy)
{
    struct fixture f = fixture_new_on_disk();
    char *dir = tempdir_new(), *to = tempdir_path(dir, "backup"),
         *again = tempdir_path(dir, "again");
    const struct place from = { PLACE_FOLDER, to };
    struct backup b = { .to = { PLACE_FOLDER, to } };
    uint64_t id;

    OK(uid_assign(f.uids, UID_METRIC, slice_str("m"), &id, &e));
    OK(backup_make(f.store, &b, &e));
    fixture_free(&f); /* joins its summariser, which has started by then */
    ck_assert_int_eq(atomic_exchange(&summarisers, 0), 1);
    b.to.at = again;
    OK(backup_idle(&from, &b, &e));
    ck_assert_int_eq(atomic_load(&summarisers), 0);
    free(to);
    free(again);
    tempdir_free(&dir);
}
END_TEST

/* There is a backup, or an error. */
START_TEST(is_there_if_it_says_so)
{
    struct fixture f = fixture_new_on_disk();
    char *dir = tempdir_new(), *to = tempdir_path(dir, "backup");
    const struct place from = { PLACE_FOLDER, f.dir };
    bool has_failed = true;
    int failures = 0;
    uint64_t id;

    OK(uid_assign(f.uids, UID_METRIC, slice_str("m"), &id, &e));
    fixture_close(&f);
    for (long n = 0; has_failed; n++) {
        struct backup b = { .to = { PLACE_FOLDER, to } };
        struct error why;
        enum status st;

        atomic_store(&syncs_left, n);
        st = backup_idle(&from, &b, &why);
        has_failed = atomic_exchange(&syncs_left, -1) < 0;
        failures += st != ST_OK;
        ck_assert(st == ST_OK || has_failed);
        ck_assert_int_eq(access(to, F_OK) == 0, st == ST_OK);
        if (st == ST_OK)
            OK(folder_delete(to, &e));
    }
    ck_assert_int_gt(failures, 0);
    fixture_open(&f);
    fixture_free(&f);
    free(to);
    tempdir_free(&dir);
}
END_TEST

/* What a copy was killed in is replaced, and nothing else is. */
static const struct {
    const char *name;
    enum status status;
} leftovers[] = { { "FORMAT", ST_OK },
                  { "FORMAT.1", ST_OK },
                  { "FORMAT.1.tmp", ST_OK },
                  { "FORMAT.2", ST_INVALID } };

START_TEST(replaces_what_was_cut_short)
{
    struct fixture f = fixture_new_on_disk();
    char *dir = tempdir_new(), *to = tempdir_path(dir, "backup"),
         *partial = tempdir_path(dir, "backup.partial"),
         *file = tempdir_path(partial, leftovers[_i].name);
    struct backup b = { .to = { PLACE_FOLDER, to } };
    struct error e;

    ck_assert_int_eq(mkdir(partial, 0700), 0);
    ck_assert_int_eq(files_write(file, slice_str(""), &e), ST_OK);
    ck_assert_int_eq(backup_make(f.store, &b, &e), leftovers[_i].status);
    ck_assert_int_eq(access(to, F_OK) == 0, leftovers[_i].status == ST_OK);
    fixture_free(&f);
    free(file);
    free(partial);
    free(to);
    tempdir_free(&dir);
}
END_TEST

TEST_MAIN("backup", TEST(nothing_is_summed_up_in_the_copy),
          TEST(is_there_if_it_says_so),
          LOOP(replaces_what_was_cut_short, leftovers))
