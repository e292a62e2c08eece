#include "period/cycle_with_gaps.h"

/* So many symbols a cycle may have, and so many are looked at to find it, whatever a trace claims. */
enum { LONGEST = 256, LOOKED_AT = 1 << 16 };

/* Of the symbols a period later, so many are to be the same; holes shift what comes after them. */
static const double MOST = 0.7;

static size_t recurring(const uint64_t *symbols, size_t count, size_t period)
{
    size_t same = 0;
    for (size_t i = period; i < count; i++)
        same += symbols[i] == symbols[i - period];
    return same;
}

/* 0: there is none. Three cycles at least. */
static size_t find_period(const uint64_t *symbols, size_t count)
{
    size_t best = 0, most = 0;
    for (size_t period = 2; period <= LONGEST && period * 3 <= count; period++) {
        size_t same = recurring(symbols, count, period);
        if (same > most && (double)same >= MOST * (double)(count - period)) {
            most = same;
            best = period;
        }
    }
    return best;
}

/* How many of a cycle's symbols are as those at the sequence's beginning. */
static size_t likeness(const uint64_t *symbols, const uint64_t *cycle, size_t period)
{
    size_t same = 0;
    for (size_t i = 0; i < period; i++)
        same += symbols[i] == cycle[i];
    return same;
}

static int comes_twice(const uint64_t *symbols, size_t period)
{
    for (size_t i = 0; i < period; i++)
        if (symbols[i] != symbols[i + period])
            return 0;
    return 1;
}

/* A cycle without holes: of those that come twice in a row and begin as told, the one most like the
 * sequence's beginning. NULL: there is none. */
static const uint64_t *find_whole(const uint64_t *symbols, size_t count, size_t period, uint64_t begin)
{
    const uint64_t *best = NULL;
    size_t most = 0;
    for (size_t i = 0; i + 2 * period <= count; i++) {
        if ((begin && symbols[i] != begin) || !comes_twice(symbols + i, period))
            continue;
        size_t like = likeness(symbols, symbols + i, period);
        if (!best || like > most) {
            best = symbols + i;
            most = like;
        }
    }
    return best;
}

/* How far after `place` the symbol comes next in the cycle; 0: it does not. */
static size_t distance_to(const uint64_t *cycle, size_t period, size_t place, uint64_t symbol)
{
    for (size_t distance = 1; distance <= period; distance++)
        if (cycle[(place + distance) % period] == symbol)
            return distance;
    return 0;
}

/* Each symbol is the next of its kind in the cycle; a new one begins where that is past its end. */
static size_t cut(const uint64_t *symbols, size_t count, const uint64_t *cycle, size_t period, size_t *starts)
{
    size_t found = 0, place = period - 1;
    for (size_t i = 0; i < count; i++) {
        size_t distance = distance_to(cycle, period, place, symbols[i]);
        if (!distance)
            continue;
        if (place + distance >= period) {
            if (!found && i * 2 >= period)
                starts[found++] = 0;
            starts[found++] = i;
        }
        place = (place + distance) % period;
    }
    return found;
}

size_t torn_starts(const uint64_t *symbols, size_t count, uint64_t begin, size_t *starts)
{
    size_t looked_at = count < LOOKED_AT ? count : LOOKED_AT;
    size_t period = find_period(symbols, looked_at);
    const uint64_t *cycle = period ? find_whole(symbols, looked_at, period, begin) : NULL;
    if (period && !cycle)
        cycle = find_whole(symbols, looked_at, period, 0);
    return cycle ? cut(symbols, count, cycle, period, starts) : 0;
}
