#include "base/keyed.h"

#include <string.h>

/* One past the end of the ascending run that begins at `at`. */
static size_t run_end(const struct keyed *items, size_t at, size_t count)
{
    for (at++; at < count; at++)
        if (items[at].key < items[at - 1].key)
            break;
    return at;
}

static void merge(const struct keyed *left, const struct keyed *right, const struct keyed *end,
                  struct keyed *to)
{
    const struct keyed *middle = right;
    while (left < middle && right < end)
        *to++ = right->key < left->key ? *right++ : *left++;
    memcpy(to, left, (size_t)(middle - left) * sizeof *to);
    to += middle - left;
    memcpy(to, right, (size_t)(end - right) * sizeof *to);
}

/* Merges each two neighbouring runs. Returns how many runs there are afterwards, at most. */
static size_t merge_neighbours(const struct keyed *from, struct keyed *to, size_t count)
{
    size_t runs = 0;
    for (size_t first = 0, end; first < count; first = end) {
        size_t middle = run_end(from, first, count);
        end = middle < count ? run_end(from, middle, count) : count;
        merge(from + first, from + middle, from + end, to + first);
        runs++;
    }
    return runs;
}

void keyed_sort(struct keyed *items, struct keyed *scratch, size_t count)
{
    struct keyed *from = items, *to = scratch;
    if (count < 2 || run_end(items, 0, count) == count)
        return;
    size_t runs;
    do {
        runs = merge_neighbours(from, to, count);
        struct keyed *merged = to;
        to = from;
        from = merged;
    } while (runs > 1);
    if (from != items)
        memcpy(items, from, count * sizeof *items);
}
