#ifndef NCCLPROF_TESTS_LETTERS_H
#define NCCLPROF_TESTS_LETTERS_H

#include "join/steps.h"

#include <stddef.h>

/*
 * Operations as letters. A, B and C: sums of gradients of three sizes, on communicator 1; 1, 2 and 3: one of
 * these calls, AllGather on communicator 1, with sizes that differ from batch to batch; t and u: sums of
 * activations on communicator 2; s and r: a send and a receive; l: a loss on communicator 1, n: a norm on
 * communicator 3, m, o and e to h, p, q, v to z: other norms, of all ranks; all these are small. A bar: time
 * passes before the next operation. A space: a step must begin there.
 *
 * Fails the test if `find` finds other steps than the spaces mark.
 */
void letters_check(const char *steps,
                   int (*find)(const struct recurrence *recurrence, size_t *starts, size_t *found));

#endif
