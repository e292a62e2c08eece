#ifndef NCCLPROF_BASE_SCALE_H
#define NCCLPROF_BASE_SCALE_H

#include <stdint.h>

/* `value` times `by`, cut off where it does not fit: times out of a strange file may be as long as times get.
 */
static inline int64_t scale(int64_t value, double by)
{
    double product = (double)value * by;
    if (product >= -(double)INT64_MIN)
        return INT64_MAX;
    return product > (double)INT64_MIN ? (int64_t)product : INT64_MIN;
}

#endif
