#include "compare/likeness.h"

#include <string.h>

static int differ(uint64_t a, uint64_t b)
{
    return a && b && a != b;
}

static int differ_in_ranks(const struct measured_run *const runs[2])
{
    return runs[0]->ranks != runs[1]->ranks;
}

static int differ_in_programme(const struct measured_run *const runs[2])
{
    return differ(runs[0]->calls, runs[1]->calls) || differ(runs[0]->sizes, runs[1]->sizes);
}

size_t likeness_moved(const struct measured_run *const runs[2])
{
    size_t moved = 0;
    if (!runs[0]->has_network || !runs[1]->has_network)
        return 0;
    for (size_t i = 0, k = 0; i < runs[0]->way_count && k < runs[1]->way_count;) {
        const struct measured_way *a = &runs[0]->ways[i], *b = &runs[1]->ways[k];
        moved += a->members == b->members && a->over_network != b->over_network;
        i += a->members <= b->members;
        k += b->members <= a->members;
    }
    return moved;
}

static int differ_in_hosts(const struct measured_run *const runs[2])
{
    const int64_t *a = runs[0]->hosts, *b = runs[1]->hosts;
    return a && b && runs[0]->ranks == runs[1]->ranks &&
           memcmp(a, b, (size_t)runs[0]->ranks * sizeof *a) != 0;
}

int likeness_bars(const struct measured_run *const runs[2], enum compare_rule rule)
{
    switch (rule) {
    case COMPARE_RANKS:
        return differ_in_ranks(runs);
    case COMPARE_PROGRAMME:
        return differ_in_programme(runs);
    case COMPARE_PLACEMENT:
        return likeness_moved(runs) || differ_in_hosts(runs);
    case COMPARE_CALLED:
        return runs[0]->are_called || runs[1]->are_called;
    default:
        return 0;
    }
}
