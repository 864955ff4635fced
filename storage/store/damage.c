#include "storage/store/damage.h"

#include "base/process/clock.h"
#include "base/process/counters.h"
#include "base/process/log.h"
#include "storage/store/store_priv.h"

#define LOG_EVERY_US (INT64_C(60) * 1000000)

void
store_note_damage(struct store *s, const char *object, const char *instead,
                  const struct error *why)
{
    int64_t now_us = clock_monotonic_us();
    int64_t logged_us = atomic_load(&s->damage_logged_us);

    OBJ_CHECK(s, STORE_MAGIC);
    counter_add(CNT_DAMAGE_READ_AROUND, 1);
    if ((logged_us == 0 || now_us - logged_us > LOG_EVERY_US) &&
        atomic_compare_exchange_strong(&s->damage_logged_us, &logged_us,
                                       now_us))
        log_warn("storage",
                 "%s: damaged (%s); %s instead: run 'halite fsck --repair'",
                 object, why == NULL ? "a checksum" : why->text, instead);
}
