/* CRC-32C (Castagnoli, polynomial 0x1EDC6F41 reflected; RFC 3720 B.4), by the
 * CPU's instruction where there is one.
 *
 * Threads: any. */
#pragma once

#include "base/slice.h"

uint32_t crc32c(struct slice s);

/* The CRC of what 'crc' was of, followed by 's'. */
uint32_t crc32c_more(uint32_t crc, struct slice s);

/* The twin without special instructions, for tests. */
uint32_t crc32c_plain(uint32_t crc, struct slice s);
