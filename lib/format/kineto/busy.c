#include "format/kineto/busy.h"

#include "base/array.h"

#include <stdlib.h>

void kineto_busy_release(struct kineto_busy *busy)
{
    free(busy->items);
}

static int by_begin(const void *a, const void *b)
{
    const struct interval_ns *left = a, *right = b;
    return (left->begin_ns > right->begin_ns) - (left->begin_ns < right->begin_ns);
}

/* One of those that lie no further apart than that. */
static void unite(struct kineto_busy *busy, int64_t apart_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < busy->count; i++) {
        struct interval_ns *last = kept ? &busy->items[kept - 1] : NULL;
        if (last && busy->items[i].begin_ns - last->end_ns <= apart_ns)
            interval_widen(last, busy->items[i]);
        else
            busy->items[kept++] = busy->items[i];
    }
    busy->count = kept;
}

void kineto_busy_settle(struct kineto_busy *busy)
{
    if (busy->is_sorted)
        return;
    array_sort(busy->items, busy->count, sizeof *busy->items, by_begin);
    unite(busy, 0);
    busy->is_sorted = 1;
}

/* Half of them at most, at the least cost. */
static void make_room(struct kineto_busy *busy)
{
    kineto_busy_settle(busy);
    for (int64_t apart_ns = 1000; busy->count > KINETO_INTERVALS / 2 && apart_ns < INT64_MAX / 2;
         apart_ns *= 2)
        unite(busy, apart_ns);
}

int kineto_busy_add(struct kineto_busy *busy, struct interval_ns interval)
{
    struct interval_ns *last = busy->count ? &busy->items[busy->count - 1] : NULL;
    if (interval.end_ns <= interval.begin_ns)
        return 0;
    if (last && !busy->is_sorted && interval.begin_ns >= last->begin_ns &&
        interval.begin_ns <= last->end_ns) {
        interval_widen(last, interval);
        return 0;
    }
    if (busy->count == KINETO_INTERVALS)
        make_room(busy);
    if (array_reserve((void **)&busy->items, &busy->capacity, busy->count + 1, sizeof *busy->items))
        return -1;
    busy->items[busy->count++] = interval;
    busy->is_sorted = 0;
    return 0;
}

/* The first that ends after a time. */
static size_t first_after(const struct kineto_busy *busy, int64_t at_ns)
{
    size_t low = 0, high = busy->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (busy->items[middle].end_ns <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t kineto_busy_within(const struct kineto_busy *busy, int64_t begin_ns, int64_t end_ns)
{
    int64_t sum_ns = 0;
    for (size_t i = first_after(busy, begin_ns); i < busy->count && busy->items[i].begin_ns < end_ns; i++) {
        const struct interval_ns *here = &busy->items[i];
        int64_t from = here->begin_ns > begin_ns ? here->begin_ns : begin_ns;
        sum_ns += (here->end_ns < end_ns ? here->end_ns : end_ns) - from;
    }
    return sum_ns;
}

void kineto_busy_forget(struct kineto_busy *busy, int64_t until_ns)
{
    size_t kept = 0;
    kineto_busy_settle(busy);
    for (size_t i = first_after(busy, until_ns); i < busy->count; i++)
        busy->items[kept++] = busy->items[i];
    busy->count = kept;
}
