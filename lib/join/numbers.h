#ifndef NCCLPROF_JOIN_NUMBERS_H
#define NCCLPROF_JOIN_NUMBERS_H

#include "base/map.h"
#include "model/vocab.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Numbers of one member's operations that have none of their own, by kind: function, and of pairs peer. What
 * the first of each counts as, or how many have been counted.
 */
struct numbers {
    int64_t collectives[FUNCTION_COUNT];
    struct map pairs;   /* function and peer -> by how much less than `most_pairs` they begin, or how many */
    int64_t most_pairs; /* of one kind, at any member */
};

struct numbers *numbers_new(void); /* all 0; NULL: out of memory */
void numbers_free(struct numbers *numbers);

/* The number of an operation that comes after those counted so far, which counts it. -1: out of memory. */
int64_t numbers_next(const struct numbers *first, struct numbers *counted, int function, int32_t peer);

#endif
