#ifndef NCCLPROF_BASE_LOWER_BOUND_H
#define NCCLPROF_BASE_LOWER_BOUND_H

#include <stddef.h>

/* Whether an item stands before what is looked for. */
typedef int (*lower_bound_is_before)(const void *item, const void *wanted);

/*
 * Where the first of `count` items stands that `is_before` does not hold for; `count` where it holds for all.
 * Items that it holds for come first. Inlined, and with it a function that is known where it is called from:
 * no slower than a loop written there.
 */
static inline __attribute__((always_inline)) size_t lower_bound(const void *items, size_t count,
                                                                size_t item_bytes,
                                                                lower_bound_is_before is_before,
                                                                const void *wanted)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_before((const char *)items + middle * item_bytes, wanted))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
