#ifndef NCCLPROF_TESTS_RANDOM_H
#define NCCLPROF_TESTS_RANDOM_H

#include <stdint.h>

/* xorshift: the same numbers in every run and on every machine. One sequence per program. */
static uint64_t random_state = 88172645463325252U;

static inline uint64_t random_number(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

#endif
