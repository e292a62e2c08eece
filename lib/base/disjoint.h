#ifndef NCCLPROF_BASE_DISJOINT_H
#define NCCLPROF_BASE_DISJOINT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Disjoint sets of the numbers 0 to count - 1, in an array of the caller's: parent[i] is another of i's set,
 * or i itself, which then stands for the set. Paths are halved on the way (Tarjan and van Leeuwen, 1984).
 */

/* Each number in a set of its own. */
void disjoint_init(int32_t *parent, size_t count);

/* Who stands for a number's set. */
int32_t disjoint_root(int32_t *parent, int32_t number);

/* Makes one set of two, for which the lesser of their roots stands. Returns 1, or 0 where they were one. */
int disjoint_unite(int32_t *parent, int32_t a, int32_t b);

#endif
