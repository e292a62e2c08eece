/*
 * Maps one GPU's clock to CLOCK_MONOTONIC. The host notices a kernel's start or stop only by polling, never
 * early, so (host - GPU) is at least the true offset: the least one seen bounds it from above. A kernel
 * cannot start before it was enqueued: that bounds it from below. Bounds come from the last one to two
 * windows, since clocks drift by microseconds a second.
 */
#ifndef PLUGIN_TREE_GPU_CLOCK_H
#define PLUGIN_TREE_GPU_CLOCK_H

#include <stdint.h>

struct gpu_clock_bounds {
    int64_t highest_ns; /* offset is at most this */
    int64_t lowest_ns;  /* and at least this */
    uint64_t samples;
    uint64_t enqueues; /* samples of the lower bound */
};

struct gpu_clock {
    struct gpu_clock_bounds now, before;
    uint64_t samples; /* ever */
};

void gpu_clock_noticed(struct gpu_clock *clock, uint64_t host_ns, uint64_t gpu_ns);
void gpu_clock_not_before(struct gpu_clock *clock, uint64_t host_ns, uint64_t gpu_ns);

/* Both windows together; samples 0: nothing known. */
struct gpu_clock_bounds gpu_clock_bounds(const struct gpu_clock *clock);

/* CLOCK_MONOTONIC of a GPU time, by the upper bound of the offset; 0 when unknown. */
uint64_t gpu_clock_host_ns(const struct gpu_clock *clock, uint64_t gpu_ns);

/* Starts a new window, if this one has `enough` samples. */
void gpu_clock_turn(struct gpu_clock *clock, uint64_t enough);

#endif
