/*
 * Finds the period of a sequence of symbols: tags of a rank, or hashes of its operations. Steps are detected
 * with it in steps.c, recurrence.c, stretches.c and steps_by_all_ranks.c. Also handles sequences with missing
 * symbols, and merges cycles that are parts of a step.
 */
#include "base/base.h"
#include "join/steps.h"

#include <math.h>
#include <stdlib.h>

enum { TRAILING_SYMBOLS = 8, LOOKALIKE_SYMBOLS = 16 };

/* How many equally similar rotations are compared further: as many as a cycle usually has parts, at most. */
enum { LOOKALIKES = 64 };

static uint64_t at(const uint64_t *symbols, size_t count, size_t i)
{
    return symbols[count - 1 - i];
}

/* The longest part at the end of the sequence that has at least two of its own periods. */
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

/* How many of the first `most` symbols of a rotation equal those at the beginning of the sequence. */
static size_t likeness(const uint64_t *symbols, size_t count, const struct cycle *cycle, size_t rotation,
                       size_t most)
{
    size_t score = 0;
    for (size_t i = 0; i < most && i < cycle->period; i++) {
        size_t there = cycle->first + rotation + i;
        score += there < count && symbols[there] == symbols[i];
    }
    return score;
}

/*
 * The rotation most similar to the beginning, by a few symbols; among equally similar ones (parts of a step),
 * by all.
 */
static size_t best_rotation(const uint64_t *symbols, size_t count, const struct cycle *cycle)
{
    size_t best = 0, score = 0, whole = 0, tied = 0;
    for (size_t rotation = 0; rotation < cycle->period; rotation++) {
        size_t here = likeness(symbols, count, cycle, rotation, LOOKALIKE_SYMBOLS);
        if (here < score || !here)
            continue;
        tied = here > score ? 1 : tied + 1;
        if (tied > LOOKALIKES)
            continue;
        size_t all = likeness(symbols, count, cycle, rotation, cycle->period);
        if (here > score || all > whole) {
            best = rotation;
            whole = all;
        }
        score = here;
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
    /* Without its last symbols the sequence is tried only if more of it can repeat than was found. */
    for (size_t trailing = 0; trailing < TRAILING_SYMBOLS && trailing + 2 <= count; trailing++)
        if (cycle->extent < count - trailing)
            longest_repetition(symbols, count - trailing, border, cycle);
    free(border);
    /*
     * If whole cycles fit between the first and the last symbol that repeat, these are the cycles. Else
     * choose where to divide.
     */
    if (cycle->period && cycle->extent % cycle->period)
        cycle->first += best_rotation(symbols, count, cycle);
    return 0;
}

size_t cycle_starts(const struct cycle *cycle, size_t count, size_t *starts)
{
    size_t found = 0;
    for (size_t i = cycle->first; cycle->period && i < cycle->end && i < count; i += cycle->period)
        starts[found++] = i;
    return found;
}

size_t cycle_starts_early(const struct cycle *cycle, size_t count, size_t *starts)
{
    size_t early = cycle->period && cycle->first * 2 >= cycle->period && cycle->first > 0;
    if (early)
        starts[0] = 0;
    return early + cycle_starts(cycle, count, starts + early);
}

/* Long gaps are at least this many times as long as short ones. */
enum { LONG_TO_SHORT = 3 };

/* How many ways to separate long gaps from short ones are tried. */
enum { SPLITS = 4 };

static void sort_gaps(const int64_t *gaps, size_t count, int64_t *sorted)
{
    for (size_t i = 0; i < count; i++)
        sorted[i] = gaps[i] > 0 ? gaps[i] : 1;
    sort_integers(sorted, count);
}

/*
 * The shortest of the long gaps, if long and short gaps are separated by the widest ratio below `narrower`;
 * INT64_MAX if there is none. Sets `narrower` to that ratio.
 */
static int64_t least_long(const int64_t *sorted, size_t count, double *narrower)
{
    double widest = 0;
    int64_t least = INT64_MAX;
    /* At least two gaps of either kind, so that one outlier is not a kind. */
    for (size_t i = 2; i + 2 <= count; i++) {
        double ratio = (double)sorted[i] / (double)sorted[i - 1];
        if (ratio >= LONG_TO_SHORT && ratio < *narrower && ratio >= widest) {
            widest = ratio;
            least = sorted[i];
        }
    }
    *narrower = widest;
    return least;
}

/* The shortest of the long gaps for each way to separate them, the widest ratio first. */
static void find_splits(const int64_t *gaps, size_t count, int64_t *sorted, int64_t least[SPLITS])
{
    double narrower = INFINITY;
    sort_gaps(gaps, count, sorted);
    for (int split = 0; split < SPLITS; split++)
        least[split] = least_long(sorted, count, &narrower);
}

/* The most frequent distance between cycles with a long gap before them; 0 if there are fewer than two. */
static size_t usual_distance(const int64_t *gaps, size_t count, int64_t least, int64_t *distances)
{
    size_t found = 0, last = 0;
    for (size_t i = 1; i < count; i++)
        if (gaps[i] >= least) {
            if (last)
                distances[found++] = (int64_t)(i - last);
            last = i;
        }
    sort_integers(distances, found);
    return (size_t)most_frequent_integer(distances, found);
}

static size_t next_long(const int64_t *gaps, size_t count, int64_t least, size_t after)
{
    size_t i = after + 1;
    while (i < count && gaps[i] < least)
        i++;
    return i;
}

/*
 * The index of the first long gap that begins a step. A pause inside a warm-up step is a long gap as well,
 * but it is not a multiple of the distance before the next one. If the index is itself a multiple of the
 * distance, the very first cycle begins a step too and long gaps in between are missing: then the second
 * step begins one distance after it.
 */
static size_t first_whole(const int64_t *gaps, size_t count, int64_t least, size_t distance)
{
    size_t first = next_long(gaps, count, least, 0), next = next_long(gaps, count, least, first);
    while (next < count && (next - first) % distance) {
        first = next;
        next = next_long(gaps, count, least, first);
    }
    return first % distance ? first : distance;
}

/* Three steps have two distances; fewer may be even by chance. Four of five distances must be even. */
enum { EVEN_STEPS = 3, EVEN_OF = 5, EVEN = 4 };

/* Where steps begin if gaps of at least `least` are long; 0 if these are not spaced evenly enough. */
static size_t first_of_steps(const int64_t *gaps, size_t count, int64_t least, size_t distance)
{
    if (distance < 2)
        return 0;
    size_t first = first_whole(gaps, count, least, distance), kept = 1, even = 0;
    for (size_t i = first, next; (next = next_long(gaps, count, least, i)) < count; i = next) {
        even += (next - i) % distance == 0;
        kept++;
    }
    return kept < EVEN_STEPS || even * EVEN_OF < (kept - 1) * EVEN ? 0 : first;
}

/*
 * The median of the gaps before every `distance`-th cycle, from `place` on; the very first has none before
 * it.
 */
static int64_t usual_gap_of_place(const int64_t *gaps, size_t count, size_t place, size_t distance,
                                  int64_t *list)
{
    size_t listed = 0;
    for (size_t i = place ? place : distance; i < count; i += distance)
        list[listed++] = gaps[i] > 0 ? gaps[i] : 1;
    return pick_quantile(list, listed, 0.5);
}

/* Whether the gaps from `first` on, one per step, exceed all others of their steps, in four of five steps. */
static int are_longest(const int64_t *gaps, size_t count, size_t first, size_t distance)
{
    size_t steps = 0, longest = 0;
    for (size_t i = first; i + distance <= count; i += distance) {
        size_t shorter = 1;
        while (shorter < distance && gaps[i + shorter] < gaps[i])
            shorter++;
        longest += shorter == distance;
        steps++;
    }
    return longest * EVEN_OF >= steps * EVEN;
}

/* How many cycles may be a step where only the usual gaps tell it, and how many steps show these. */
enum { MOST_PARTS = 16, STEPS_FOR_USUAL = 6 };

/*
 * If single gaps are out of line, as in a warm-up or with a fault, gaps may still be long at one place in
 * every so many cycles. Medians alone may differ by a fault in some steps. Returns the place of that, and
 * sets the distance; 0: there is none.
 */
static size_t first_by_places(const int64_t *gaps, size_t count, size_t *distance, int64_t *list)
{
    for (size_t parts = 2; parts <= MOST_PARTS && parts * STEPS_FOR_USUAL <= count; parts++) {
        int64_t longest = 0, next = 0;
        size_t first = 0;
        for (size_t place = 0; place < parts; place++) {
            int64_t gap = usual_gap_of_place(gaps, count, place, parts, list);
            first = gap > longest ? (place ? place : parts) : first;
            next = gap > longest ? longest : gap > next ? gap : next;
            longest = gap > longest ? gap : longest;
        }
        *distance = parts;
        if (longest / LONG_TO_SHORT >= next && are_longest(gaps, count, first, parts))
            return first;
    }
    return 0;
}

size_t cycle_merge(size_t *starts, const int64_t *gaps, size_t count, int64_t *scratch)
{
    size_t first = 0, distance = 0, left = 1;
    int64_t least = 0, splits[SPLITS];
    if (count >= 2 * EVEN_STEPS)
        find_splits(gaps, count, scratch, splits);
    for (int split = 0; count >= 2 * EVEN_STEPS && split < SPLITS && !first && least != INT64_MAX; split++) {
        least = splits[split];
        distance = least == INT64_MAX ? 0 : usual_distance(gaps, count, least, scratch);
        first = first_of_steps(gaps, count, least, distance);
    }
    if (!first) {
        first = first_by_places(gaps, count, &distance, scratch);
        for (size_t i = first; first && i < count; i += distance)
            starts[left++] = starts[i];
        return first ? left : count;
    }
    /* A late host runs behind the others and has no gap before a step, so a distance counts as well. */
    for (size_t i = first, last = first; i < count; i++)
        if (gaps[i] >= least || i - last == distance || i == first) {
            starts[left++] = starts[i];
            last = i;
        }
    return left;
}

/*
 * Limits on the length of a cycle and on the number of symbols that are searched for it, whatever a trace
 * claims.
 */
enum { LONGEST = 256, LOOKED_AT = 1 << 16 };

/* The share of symbols that must equal the one a period later. Gaps shift all symbols after them. */
static const double MOST = 0.7;

static size_t recurring(const uint64_t *symbols, size_t count, size_t period)
{
    size_t same = 0;
    for (size_t i = period; i < count; i++)
        same += symbols[i] == symbols[i - period];
    return same;
}

/* At least three cycles; 0: none. */
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

/* How many symbols of a cycle equal those at the beginning of the sequence. */
static size_t cycle_with_gaps_likeness(const uint64_t *symbols, const uint64_t *cycle, size_t period)
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

/*
 * A cycle without missing symbols: of those that occur twice in a row and begin with `begin`, the one most
 * similar to the beginning of the sequence. NULL: none.
 */
static const uint64_t *find_whole(const uint64_t *symbols, size_t count, size_t period, uint64_t begin)
{
    const uint64_t *best = NULL;
    size_t most = 0;
    for (size_t i = 0; i + 2 * period <= count; i++) {
        if ((begin && symbols[i] != begin) || !comes_twice(symbols + i, period))
            continue;
        size_t like = cycle_with_gaps_likeness(symbols, symbols + i, period);
        if (!best || like > most) {
            best = symbols + i;
            most = like;
        }
    }
    return best;
}

/* The distance from `place` to the next occurrence of the symbol in the cycle; 0: none. */
static size_t distance_to(const uint64_t *cycle, size_t period, size_t place, uint64_t symbol)
{
    for (size_t distance = 1; distance <= period; distance++)
        if (cycle[(place + distance) % period] == symbol)
            return distance;
    return 0;
}

/* Each symbol is taken as its next occurrence in the cycle. If that is past the end, a new cycle begins. */
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

size_t incomplete_cycle_starts(const uint64_t *symbols, size_t count, uint64_t begin, size_t *starts)
{
    size_t looked_at = count < LOOKED_AT ? count : LOOKED_AT;
    size_t period = find_period(symbols, looked_at);
    const uint64_t *cycle = period ? find_whole(symbols, looked_at, period, begin) : NULL;
    if (period && !cycle)
        cycle = find_whole(symbols, looked_at, period, 0);
    return cycle ? cut(symbols, count, cycle, period, starts) : 0;
}

int32_t spread_of(const struct recurrence *recurrence, const size_t *places, size_t first, size_t end)
{
    int32_t only = SPREAD_NONE;
    for (size_t i = first; i < end; i++) {
        size_t at = places ? places[i] : i;
        int32_t here = recurrence->is_small[at] ? SPREAD_NONE : recurrence->communicators[at];
        if (here >= 0 && only >= 0 && here != only)
            return SPREAD_SEVERAL;
        only = here >= 0 ? here : only;
    }
    return only;
}
