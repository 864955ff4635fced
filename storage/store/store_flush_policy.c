/* Which open rows a flush takes: store_priv.h. */
#include "storage/store/store_priv.h"

#define IDLE_FOR_LONG_S 3600

static uint32_t
idle_for(const struct flush_rule *rule, uint32_t touched_s)
{
    return touched_s > rule->now_s ? 0 : rule->now_s - touched_s;
}

bool
store_row_is_due(const struct flush_times *t, uint32_t delay_s, uint32_t span_s)
{
    if (t->series_idle_s >= IDLE_FOR_LONG_S ||
        t->idle_s >= IDLE_FOR_LONG_S + span_s)
        return true;
    if (t->idle_s < delay_s)
        return false;
    if (t->newest > 0)
        return true;
    return t->has_passed && (t->newest < 0 || t->series_idle_s >= delay_s ||
                             t->idle_s >= IDLE_FOR_LONG_S);
}

bool
store_rule_flushes(const struct store *s, const struct flush_rule *rule,
                   const struct head_row *r)
{
    const struct head_series *series = r->series;
    uint32_t span = key_span_base(&s->layout, r->open.base);
    uint32_t newest = key_span_base(&s->layout, series->rows->open.base);

    if (rule->all || r->segment < rule->segment ||
        (rule->newer_span_exists && newest != span))
        return true;
    if (!rule->idle)
        return false;
    return store_row_is_due(
        &(struct flush_times){
            .idle_s = idle_for(rule, r->touched_s),
            .series_idle_s = idle_for(rule, series->touched_s),
            .newest = (newest > span) - (newest < span),
            .has_passed =
                rule->wall_s >= (int64_t)span + key_span_s(&s->layout),
        },
        rule->idle_s, key_span_s(&s->layout));
}

bool
store_rule_flushes_with_span(const struct flush_rule *rule,
                             const struct head_row *r)
{
    return !rule->idle || idle_for(rule, r->touched_s) >= rule->idle_s;
}
