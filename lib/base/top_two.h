#ifndef NCCLPROF_BASE_TOP_TWO_H
#define NCCLPROF_BASE_TOP_TWO_H

#include <stdint.h>

/* The greatest of some values, by rank, and the next. Starts out as {.rank = -1}; where values may be below
 * 0, with the least there is as `most` and `second`. */
struct top_two {
    int64_t most;
    int64_t second;
    int32_t rank; /* -1: none is above what it started with */
};

void top_two_enter(struct top_two *top, int32_t rank, int64_t value);

#endif
