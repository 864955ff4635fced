/* Metrics in Prometheus' text form.
 *
 * Threads: any; functions of their arguments. */
#pragma once

#include "base/buf.h"

struct latency;

/* HELP and TYPE ("gauge", "counter" or "histogram"), before its values. */
void prom_head(struct buf *b, const char *name, const char *type,
               const char *help);
/* A value of a metric that has several, each with another label. */
void prom_labelled(struct buf *b, const char *name, const char *label,
                   const char *text, uint64_t value);

/* A metric of one value. */
void prom_gauge(struct buf *b, const char *name, const char *help,
                double value);
void prom_total(struct buf *b, const char *name, const char *help,
                double value);
/* Nothing where 'l' is NULL. */
void prom_latency(struct buf *b, const char *name, const char *help,
                  const struct latency *l);
