#ifndef NCCLPROF_BASE_STATISTICS_H
#define NCCLPROF_BASE_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

/* Robust statistics of whole numbers. There is no value where there are none: INT64_MIN, as TIME_UNKNOWN is.
 */
/* The middle of `count` values, which are reordered; the lower of two. TIME_UNKNOWN for none. */
int64_t median_of(int64_t *values, size_t count);

/* The middle ones of a list, for its medians without one of them or the other. */
struct middles {
    int64_t low;  /* the median without a greater value; TIME_UNKNOWN where none are left */
    int64_t high; /* without one that is no greater than low */
    int64_t all;  /* of all; of two the lower */
};

/* Of `count` values, which are reordered; in linear time. */
struct middles middles_of(int64_t *values, size_t count);

/* The median of the others, without one occurrence of `left_out`, which is one of them. */
static inline int64_t median_of_others(const struct middles *middles, int64_t left_out)
{
    return middles->low >= left_out ? middles->high : middles->low;
}

/* The standard deviation of a normal distribution is so many times the median distance from its middle. */
static const double SIGMA_OF_DISTANCE = 1.4826;

/* Their standard deviation about a centre, from the median of their distances, which take their places. */
int64_t sigma_about(int64_t *values, size_t count, int64_t centre);

/* The value at fraction `part` (0 to 1) of `count` values, which are reordered. */
int64_t quantile_of(int64_t *values, size_t count, double part);

/* The same in linear time; the values are not sorted afterwards. */
int64_t pick_quantile(int64_t *values, size_t count, double part);

/*
 * The usual value of a row of steps that a fault may fill for the most part: the lower quartile, or what the
 * least tenth of them are at most, two at least, if that is less. They are reordered. TIME_UNKNOWN: none.
 */
int64_t quiet_of(int64_t *values, size_t count);
int64_t pick_quiet(int64_t *values, size_t count); /* as pick_quantile */

#endif
