/* The names and bytes of the WAL's files; nothing here writes to a disk. */
#include "storage/wal/wal_file.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "base/durable.h"
#include "base/mem.h"
#include "base/text/number.h"
#include "storage/row/key.h"

static const uint8_t file_magic[4] = { 'H', 'A', 'L', 'J' };

uint32_t
wal_file_header(uint64_t segment, uint64_t nonce, uint8_t *out)
{
    uint32_t file_key;

    memcpy(out, file_magic, sizeof file_magic);
    key_put_uint(out + 4, WAL_VERSION, 4);
    key_put_uint(out + 8, segment, 8);
    key_put_uint(out + 16, nonce, 8);
    file_key = crc32c(slice_of(out, 24));
    key_put_uint(out + 24, file_key, 4);
    return file_key;
}

bool
wal_file_check(struct wal_file *w)
{
    const uint8_t *header = w->bytes.data;

    if (w->bytes.size < WAL_FILE_HEADER)
        return false;
    w->file_key = (uint32_t)key_get_uint(header + 24, 4);
    return memcmp(header, file_magic, sizeof file_magic) == 0 &&
           key_get_uint(header + 4, 4) == WAL_VERSION &&
           key_get_uint(header + 8, 8) == w->segment &&
           crc32c(slice_of(header, 24)) == w->file_key;
}

void
wal_record_header(uint8_t type, struct slice payload, uint8_t *out)
{
    key_put_uint(out, payload.size + 1, 4);
    out[4] = type;
    key_put_uint(out + 5, crc32c_more(crc32c(slice_of(out, 5)), payload), 4);
    key_put_uint(out + 9, crc32c(slice_of(out, 9)) & 0xffff, 2);
}

void
wal_record_mask(uint8_t *header, uint32_t file_key)
{
    key_put_uint(header + 5, key_get_uint(header + 5, 4) ^ file_key, 4);
    key_put_uint(header + 9, key_get_uint(header + 9, 2) ^ file_key >> 16, 2);
}

void
wal_mark(uint64_t synced, uint32_t file_key, uint8_t *out)
{
    uint8_t *payload = out + WAL_RECORD_HEADER;

    key_put_uint(payload, synced, 8);
    wal_record_header(WAL_MARK, slice_of(payload, 8), out);
    wal_record_mask(out, file_key);
}

void
wal_name(uint64_t segment, char out[WAL_NAME_SIZE])
{
    (void)snprintf(out, WAL_NAME_SIZE, "%020" PRIu64 ".wal", segment);
}

char *
wal_path(const char *dir, uint64_t segment)
{
    char name[WAL_NAME_SIZE];

    wal_name(segment, name);
    return files_path(dir, name);
}

/* 0 when it is no name of a segment. */
static uint64_t
name_parse(const char *name)
{
    uint64_t n;

    if (strlen(name) != WAL_NAME_SIZE - 1 || strcmp(name + 20, ".wal") != 0 ||
        !number_parse_u64(slice_of(name, 20), &n))
        return 0;
    return n;
}

static int
compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

enum status
wal_list(const char *dir, struct wal_segments *out, struct error *e)
{
    DIR *d = opendir(dir);
    size_t cap = 0;
    enum status st = ST_OK;

    *out = (struct wal_segments){ NULL, 0 };
    if (d == NULL)
        return error_set(e, ST_IO, "open %s: %m", dir);
    for (;;) {
        struct dirent *entry;
        uint64_t number;

        errno = 0;
        entry = readdir(d);
        if (entry == NULL)
            break;
        number = name_parse(entry->d_name);
        if (number == 0)
            continue;
        out->numbers = mem_grow(out->numbers, out->len, &cap, sizeof number);
        out->numbers[out->len++] = number;
    }
    if (errno != 0)
        st = error_set(e, ST_IO, "list %s: %m", dir);
    (void)closedir(d);
    if (out->len > 0)
        qsort(out->numbers, out->len, sizeof *out->numbers, compare_numbers);
    return st;
}
