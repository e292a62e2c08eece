#ifndef NCCLPROF_EXPORT_METRICS_H
#define NCCLPROF_EXPORT_METRICS_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/intern.h"

#include <stdint.h>

/*
 * Figures as Prometheus' text format has them, for node_exporter's textfile collector: all of one metric
 * stand together behind its HELP and TYPE, units are seconds, bytes and ratios. All are gauges: a store may
 * be made anew.
 */
enum metric {
    METRIC_RANKS,
    METRIC_EXPECTED_RANKS,
    METRIC_STEPS,
    METRIC_STEP_MEDIAN,
    METRIC_STEP_USUAL,
    METRIC_COMMUNICATION,
    METRIC_WAITING,
    METRIC_TIME,
    METRIC_LOST,
    METRIC_EXPLAINED,
    METRIC_UNEXPLAINED_STEPS,
    METRIC_STOPPED,
    METRIC_FINDINGS,
    METRIC_FINDING_LOST,
    METRIC_FINDING_FIRST_STEP,
    METRIC_FINDING_LAST_STEP,
    METRIC_TRANSFER_BUSBW,
    METRIC_EFFECTIVE_BUSBW,
    METRIC_OPERATIONS,
    METRIC_OPERATION_BYTES,
    METRIC_RECORDS,
    METRIC_JUDGED,
    METRIC_MISSING,
    METRIC_DAMAGED_LINES,
    METRIC_LOST_EVENTS,
    METRIC_COUNT
};

struct metrics {
    struct buffer samples[METRIC_COUNT]; /* lines */
    struct intern seen;                  /* metrics with their labels */
    int64_t count;
};

struct metric_label {
    const char *name;
    const char *value; /* any bytes; NULL or empty: the label is left out */
};

enum { METRIC_LABELS = 6 };

void metrics_init(struct metrics *metrics);
void metrics_release(struct metrics *metrics);

/*
 * A sample. `labels`: up to METRIC_LABELS, ended by a name that is NULL. Of several with the same labels the
 * first counts, and what is not finite is left out: a collector refuses the whole file for the one. -1 when
 * memory is out.
 */
int metrics_add(struct metrics *metrics, enum metric metric, const struct metric_label *labels, double value);

/* Those of another one, of other runs. -1 when memory is out. */
int metrics_append(struct metrics *metrics, const struct metrics *others);

/* Into a file, which is there whole or as it was before; "-" is standard output. */
int metrics_save(const struct metrics *metrics, const char *path, struct error *error);

#endif
