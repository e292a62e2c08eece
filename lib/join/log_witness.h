#ifndef NCCLPROF_JOIN_LOG_WITNESS_H
#define NCCLPROF_JOIN_LOG_WITNESS_H

#include "join/log_blocks.h"

/* Operations of one series may be seen so much out of order without the clock having stepped. */
#define LOG_CLOCK_TOLERANCE_NS INT64_C(1000000)

/* A step of the clock as one series of a member shows it: between two of its operations. */
struct log_step {
    size_t member;
    int64_t series;
    int64_t number_before;
    int64_t number_after;
    int64_t before_ns; /* when they were issued, as the clock was then */
    int64_t after_ns;
    int64_t floor_ns;     /* it takes so much to be added for the one after to come after all before it */
    int64_t operation_id; /* the one after */
    int64_t add_ns;       /* to times after it, so that they go on from those before */
    int is_measured;      /* against others that its operations ended with, not by what it takes at least */
    int is_clear;         /* most of those are far from having such differences without a step */
    int64_t number_end;   /* there the series shows the next step */
};

/*
 * Fills in add_ns, is_measured and is_clear. `other` is for reading logs in and was initialised; whose logs
 * it holds afterwards is nobody's business.
 */
int log_step_measure(const struct logs *logs, struct logs *other, struct log_step *step, struct error *error);

#endif
