#ifndef NCCLPROF_PERIOD_CYCLE_H
#define NCCLPROF_PERIOD_CYCLE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The period of a sequence of symbols that repeats up to its end, perhaps after a beginning that does not,
 * and perhaps with a few symbols too many at the very end (a last tag, a last barrier).
 */
struct cycle {
    size_t period; /* symbols in a cycle; 0: none found */
    size_t first; /* where a cycle begins: with the first symbol that repeats, where whole ones fit from there
                     to the end; else looking like the sequence's own beginning as much as it can */
    size_t extent; /* symbols that repeat */
    size_t end;    /* one past the last of them */
};

/* Returns -1 when memory is out. Linear in `count` (Knuth, Morris, Pratt's border table, read backwards). */
int cycle_find(const uint64_t *symbols, size_t count, struct cycle *cycle);

/* Where cycles begin: indexes into the sequence, ascending, in `starts` (room for count). Returns how many.
 */
size_t cycle_starts(const struct cycle *cycle, size_t count, size_t *starts);

/* The same; a beginning of half a cycle or more counts as one, so that an irregular first keeps its number.
 */
size_t cycle_starts_early(const struct cycle *cycle, size_t count, size_t *starts);

/*
 * Cycles that are all alike may be parts of a step (the gradient buckets of data parallelism). `gaps` are the
 * times before each of `count` cycles: where they fall into short and long ones, far apart, and the long ones
 * come at equal distances or multiples of them, only cycles after a long gap, or where one is missing, begin
 * a step. Keeps those in starts[] and returns how many are left; all of them otherwise. `scratch` has room
 * for count.
 */
size_t cycle_merge(size_t *starts, const int64_t *gaps, size_t count, int64_t *scratch);

#endif
