#include "plugin/tree/gpu_clock.h"

void gpu_clock_noticed(struct gpu_clock *clock, uint64_t host_ns, uint64_t gpu_ns)
{
    if (gpu_ns == 0)
        return;
    int64_t offset = (int64_t)(host_ns - gpu_ns);
    clock->samples++;
    if (clock->now.samples++ == 0 || offset < clock->now.highest_ns)
        clock->now.highest_ns = offset;
}

void gpu_clock_not_before(struct gpu_clock *clock, uint64_t host_ns, uint64_t gpu_ns)
{
    if (gpu_ns == 0)
        return;
    int64_t offset = (int64_t)(host_ns - gpu_ns);
    if (clock->now.enqueues++ == 0 || offset > clock->now.lowest_ns)
        clock->now.lowest_ns = offset;
}

struct gpu_clock_bounds gpu_clock_bounds(const struct gpu_clock *clock)
{
    struct gpu_clock_bounds both = clock->now;
    const struct gpu_clock_bounds *before = &clock->before;
    if (before->samples && (!both.samples || before->highest_ns < both.highest_ns))
        both.highest_ns = before->highest_ns;
    if (before->enqueues && (!both.enqueues || before->lowest_ns > both.lowest_ns))
        both.lowest_ns = before->lowest_ns;
    both.samples += before->samples;
    both.enqueues += before->enqueues;
    return both;
}

uint64_t gpu_clock_host_ns(const struct gpu_clock *clock, uint64_t gpu_ns)
{
    struct gpu_clock_bounds bounds = gpu_clock_bounds(clock);
    return bounds.samples && gpu_ns ? gpu_ns + (uint64_t)bounds.highest_ns : 0;
}

void gpu_clock_turn(struct gpu_clock *clock, uint64_t enough)
{
    if (clock->now.samples < enough)
        return;
    clock->before = clock->now;
    clock->now = (struct gpu_clock_bounds){0};
}
