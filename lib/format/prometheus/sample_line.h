#ifndef NCCLPROF_FORMAT_PROMETHEUS_SAMPLE_LINE_H
#define NCCLPROF_FORMAT_PROMETHEUS_SAMPLE_LINE_H

#include "base/buffer.h"
#include "format/text.h"
#include "model/event.h"

#include <stdint.h>

/* A line of Prometheus' text format: `metric{label="value",...} 1.5 1700000000000`, all borrowed. */
struct sample_line {
    struct text metric;
    struct text labels; /* between the braces; empty where there are none */
    double value;
    int64_t at_ns; /* that the line itself gives; TIME_UNKNOWN */
};

/* 1; 0 where there is nothing to be read (a comment, an empty line), -1 where it is no such line. */
int sample_line_read(struct text line, struct sample_line *said);

/*
 * What labels say, in all spellings of Inspector's versions; times and bandwidth are left unknown, but for
 * the time that a label gives. Texts are in `texts`, which is cleared. 0; 1: they say of no function, or are
 * damaged; -1: no memory.
 */
int sample_labels_read(struct text labels, struct buffer *texts, struct metric_sample *sample);

#endif
