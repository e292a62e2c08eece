#ifndef NCCLPROF_DIAGNOSE_PLACE_DISTANCE_H
#define NCCLPROF_DIAGNOSE_PLACE_DISTANCE_H

#include <stddef.h>
#include <stdint.h>

struct place_matrix;
struct place_matrix_source;
struct place_times;
struct role;
struct sort_entry;

/*
 * How far a unit is from the other ranks of its role, place by place: a slow clock shows at all places, and
 * single odd places do not hide it as they hide it in a sum.
 */

/*
 * Minimum for the spread between GPUs, as part of own time: GPUs of the same model differ by at least this
 * much (Sinha et al., SC 2022: up to 8 %).
 */
#define LEAST_LEVEL_SIGMA 0.005

/*
 * Returns the spread of values above their median. Ranks that wait inside an operation compute in the
 * meantime and show less own time: those below the median may be victims, which do not make the others less
 * alike. With few values, the median distance is not reliable, and the largest one is returned if it is
 * greater. Overwrites the values.
 */
int64_t spread_above(int64_t *values, size_t count, int64_t middle);

/* Own times of the ranks of a role at one place, over the steps. */
struct usual_times {
    int64_t *usual_ns; /* owned: [rank of the times], median over steps; TIME_UNKNOWN, also of a rank that is
                          explained in most steps */
    int64_t *quiet_ns; /* owned: same, lower quartile; TIME_UNKNOWN */
    int64_t *list;     /* owned: scratch, [rank or step] */
    struct sort_entry *sorted;  /* owned: those of usual_ns that are known, ascending, with their ranks */
    struct sort_entry *scratch; /* owned */
    int32_t *place_of;          /* owned: [rank], its place in `sorted`; -1: none */
    size_t known;               /* number in `sorted` */
    size_t others; /* ranks that a unit is compared with, their median, and their spread above it */
    int64_t middle_ns;
    int64_t spread_ns;
};

/* Returns -1 when memory runs out; release it in that case too. */
int usual_times_init(struct usual_times *usual, const struct place_times *times);
void usual_times_release(struct usual_times *usual);

/* Measures the place that `times`, of all ranks of the role, was last filled for. Half of the steps must be
 * known. */
void usual_times_measure(struct usual_times *usual, const struct place_matrix_source *source,
                         const struct place_times *times, const struct role *role);

/* How far a unit is from the other ranks of its role at a place. */
struct distance {
    int64_t others_ns; /* their own time; 0: not known */
    double spreads;    /* in units of their spread */
};

/*
 * Measures what three of four members of a unit show in three of four steps against the median of the other
 * ranks.
 */
struct distance place_matrix_distance(const struct place_matrix *matrix, struct usual_times *usual,
                                      size_t unit);

/*
 * Returns how far a unit is from the others at half of the places that matter, at least: single places may be
 * odd. Reorders its distances, one per place.
 */
double typical_distance(struct distance *distances, size_t positions);

#endif
