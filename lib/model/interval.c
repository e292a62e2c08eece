/*
 * Lists of time intervals: sorted, merged, and the time that they cover.
 */
#include "base/base.h"
#include "model/model.h"

static int by_begin(const void *a, const void *b)
{
    const struct interval_ns *left = a, *right = b;
    return compare_integers(left->begin_ns, right->begin_ns);
}

void intervals_sort(struct interval_ns *intervals, size_t count)
{
    array_sort(intervals, count, sizeof *intervals, by_begin);
}

/* `left` begins first. The difference may exceed int64_t. */
static int are_near(const struct interval_ns *left, const struct interval_ns *right, int64_t apart_ns)
{
    return right->begin_ns <= left->end_ns ||
           (uint64_t)right->begin_ns - (uint64_t)left->end_ns <= (uint64_t)apart_ns;
}

size_t intervals_merge(struct interval_ns *intervals, size_t count, int64_t apart_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct interval_ns *last = kept ? &intervals[kept - 1] : NULL;
        if (intervals[i].end_ns <= intervals[i].begin_ns)
            continue;
        if (last && are_near(last, &intervals[i], apart_ns))
            interval_widen(last, intervals[i]);
        else
            intervals[kept++] = intervals[i];
    }
    return kept;
}

static int ends_by(const void *interval, const void *at_ns)
{
    return ((const struct interval_ns *)interval)->end_ns <= *(const int64_t *)at_ns;
}

size_t intervals_first_after(const struct interval_ns *intervals, size_t count, int64_t at_ns)
{
    return lower_bound(intervals, count, sizeof *intervals, ends_by, &at_ns);
}

int64_t intervals_covered_ns(const struct interval_ns *intervals, size_t count, struct interval_ns within)
{
    int64_t sum_ns = 0;
    for (size_t i = intervals_first_after(intervals, count, within.begin_ns);
         i < count && intervals[i].begin_ns < within.end_ns; i++) {
        const struct interval_ns *here = &intervals[i];
        sum_ns += (here->end_ns < within.end_ns ? here->end_ns : within.end_ns) -
                  (here->begin_ns > within.begin_ns ? here->begin_ns : within.begin_ns);
    }
    return sum_ns;
}
