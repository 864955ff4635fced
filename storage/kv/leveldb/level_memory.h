/* A failed allocation inside LevelDB would end the process (C++): from the call
 * on it is tried again until there is memory, since requests give some back
 * meanwhile.
 *
 * Threads: any. */
#pragma once

void level_memory_wait(void);
