#include "join/cycle.h"

#include "base/array.h"

#include <stdlib.h>

enum { TRAILING_SYMBOLS = 8, LOOKALIKE_SYMBOLS = 16 };

static uint64_t at(const uint64_t *symbols, size_t count, size_t i)
{
    return symbols[count - 1 - i];
}

/* The longest stretch at the end of the sequence that holds at least two of its own periods. */
static void longest_repetition(const uint64_t *symbols, size_t count, size_t *border, struct cycle *best)
{
    border[0] = 0;
    for (size_t i = 1; i < count; i++) {
        size_t k = border[i - 1];
        while (k && at(symbols, count, i) != at(symbols, count, k))
            k = border[k - 1];
        border[i] = k + (at(symbols, count, i) == at(symbols, count, k));
        size_t extent = i + 1, period = extent - border[i];
        if (extent >= 2 * period && extent > best->extent)
            *best = (struct cycle){.period = period, .extent = extent, .first = count - extent, .end = count};
    }
}

static size_t best_rotation(const uint64_t *symbols, size_t count, const struct cycle *cycle)
{
    size_t best = 0, best_score = 0;
    for (size_t rotation = 0; rotation < cycle->period; rotation++) {
        size_t score = 0;
        for (size_t i = 0; i < LOOKALIKE_SYMBOLS && i < cycle->period; i++) {
            size_t there = cycle->first + rotation + i;
            score += there < count && symbols[there] == symbols[i];
        }
        if (score > best_score) {
            best_score = score;
            best = rotation;
        }
    }
    return best;
}

int cycle_find(const uint64_t *symbols, size_t count, struct cycle *cycle)
{
    *cycle = (struct cycle){0};
    if (count < 2)
        return 0;
    size_t *border = array_new(count, sizeof *border);
    if (!border)
        return -1;
    for (size_t trailing = 0; trailing < TRAILING_SYMBOLS && trailing + 2 <= count; trailing++)
        longest_repetition(symbols, count - trailing, border, cycle);
    free(border);
    if (cycle->period)
        cycle->first += best_rotation(symbols, count, cycle);
    return 0;
}

size_t cycle_starts(const struct cycle *cycle, size_t count, size_t *starts)
{
    size_t found = 0;
    if (!cycle->period)
        return 0;
    if (cycle->first * 2 >= cycle->period && cycle->first > 0)
        starts[found++] = 0;
    for (size_t i = cycle->first; i < cycle->end && i < count; i += cycle->period)
        starts[found++] = i;
    return found;
}
