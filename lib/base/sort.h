#ifndef NCCLPROF_BASE_SORT_H
#define NCCLPROF_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Sorts numbers, least first, several times as fast as qsort. No order of them makes it slow: n log n at
 * worst.
 */
void sort_integers(int64_t *values, size_t count);

/* Sorts numbers, least first, of which all are some: no NaN. */
void sort_reals(double *values, size_t count);

/* The value that would stand at index `rank`, below `count`, were they sorted. They are reordered; as fast.
 */
int64_t select_integer(int64_t *values, size_t count, size_t rank);

/* What most of them are, sorted as they have to be; of two that are as common the lesser, of none 0. */
int64_t usual_integer(const int64_t *sorted, size_t count);

#endif
