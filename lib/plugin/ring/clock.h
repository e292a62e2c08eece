/* The one clock of every recorded event: CLOCK_MONOTONIC, nanoseconds. */
#ifndef PLUGIN_RING_CLOCK_H
#define PLUGIN_RING_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_read_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t clock_monotonic_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

#endif
