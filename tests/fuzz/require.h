#ifndef NCCLPROF_TESTS_REQUIRE_H
#define NCCLPROF_TESTS_REQUIRE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The function that libFuzzer calls with each input. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* A condition that must hold for every input. */
static inline void require(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "broken: %s\n", what);
    abort();
}

#endif
