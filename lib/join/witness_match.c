#include "join/witness_match.h"

#include "base/array.h"
#include "base/sort.h"
#include "model/event.h"

#include <stdlib.h>

/* Distances are tried around where three calls of the other one lie by their times. */
enum { PROBES = 3, REACH = 16, TRIED = PROBES * (2 * REACH + 1) };

/* So many calls tell: those of the end, where both mostly are still there. */
enum { COMPARED_MOST = 2048 };

/* Another distance that fits nearly as well leaves a doubt, unless it would put calls farther apart. */
enum { NEARLY_AS_WELL = 2 };

int series_next_pair(struct pair_cursor *cursor, const struct told_call *one, size_t one_count,
                     const struct told_call *other, size_t other_count, int64_t shift)
{
    while (cursor->one < one_count && cursor->other < other_count) {
        int64_t place = one[cursor->one].place - shift;
        if (place == other[cursor->other].place) {
            cursor->at_one = cursor->one++;
            cursor->at_other = cursor->other++;
            return 1;
        }
        if (place < other[cursor->other].place)
            cursor->one++;
        else
            cursor->other++;
    }
    return 0;
}

/* Where the call of the one is that came nearest to a time. */
static size_t nearest(const struct told_call *one, size_t count, int64_t time_ns)
{
    size_t best = 0;
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        int64_t away;
        if (one[i].time_ns == TIME_UNKNOWN || __builtin_sub_overflow(one[i].time_ns, time_ns, &away))
            continue;
        away = away < 0 ? -away : away;
        if (away < least) {
            least = away;
            best = i;
        }
    }
    return best;
}

/* The calls of the one around those of the other: of what is far away nothing fits. */
static void narrow(const struct told_call **one, size_t *one_count, const struct told_call *other,
                   size_t other_count)
{
    size_t first = nearest(*one, *one_count, other[0].time_ns);
    size_t end = nearest(*one, *one_count, other[other_count - 1].time_ns) + 1;
    size_t reach = 2 * (size_t)REACH + (first < end ? end - first : first - end) / 2;
    size_t begin = first < end ? first : end;
    end = first < end ? end : first;
    begin = begin > reach ? begin - reach : 0;
    end = *one_count - end > reach ? end + reach : *one_count;
    *one += begin;
    *one_count = end - begin;
}

static size_t list_shifts(const struct told_call *one, size_t one_count, const struct told_call *other,
                          size_t other_count, int64_t *shifts)
{
    const size_t probes[PROBES] = {0, other_count / 2, other_count - 1};
    size_t count = 0, kept = 0;
    for (size_t p = 0; p < PROBES; p++) {
        const struct told_call *probe = &other[probes[p]];
        if (probe->time_ns == TIME_UNKNOWN)
            continue;
        size_t near = nearest(one, one_count, probe->time_ns);
        for (int64_t d = -REACH; d <= REACH; d++)
            shifts[count++] = one[near].place + d - probe->place;
    }
    sort_integers(shifts, count);
    for (size_t i = 0; i < count; i++)
        if (!kept || shifts[kept - 1] != shifts[i])
            shifts[kept++] = shifts[i];
    return kept;
}

/* The median of what times are away from one, which is put in their place. */
static int64_t median_distance(int64_t *times, size_t count, int64_t from)
{
    for (size_t i = 0; i < count; i++)
        times[i] = times[i] > from ? times[i] - from : from - times[i];
    return select_integer(times, count, count / 2);
}

/* `lags` has room for the lesser of the counts. */
static struct series_match match_by(const struct told_call *one, size_t one_count,
                                    const struct told_call *other, size_t other_count, int64_t shift,
                                    int64_t *lags)
{
    struct series_match match = {.shift = shift, .spread_ns = INT64_MAX};
    struct pair_cursor cursor = {0};
    while (series_next_pair(&cursor, one, one_count, other, other_count, shift)) {
        const struct told_call *here = &one[cursor.at_one], *there = &other[cursor.at_other];
        match.pairs++;
        match.other_sizes += here->bytes >= 0 && there->bytes >= 0 && here->bytes != there->bytes;
        if (here->time_ns != TIME_UNKNOWN && there->time_ns != TIME_UNKNOWN &&
            !__builtin_sub_overflow(here->time_ns, there->time_ns, &lags[match.timed]))
            match.timed++;
    }
    if (match.timed) {
        match.lag_ns = select_integer(lags, match.timed, match.timed / 2);
        match.spread_ns = median_distance(lags, match.timed, match.lag_ns);
    }
    return match;
}

static int is_possible(const struct series_match *match)
{
    return match->timed >= WITNESS_PAIRS_LEAST && match->lag_ns <= WITNESS_LAG_MOST_NS &&
           match->lag_ns >= -WITNESS_LAG_MOST_NS && match->spread_ns <= WITNESS_SPREAD_MOST_NS;
}

/* Sizes tell first, then how evenly times agree; where that is nearly the same, how near they are. */
static int is_better(const struct series_match *match, const struct series_match *than)
{
    int64_t here = llabs(match->lag_ns), there = llabs(than->lag_ns);
    if (match->other_sizes * than->pairs != than->other_sizes * match->pairs)
        return match->other_sizes * than->pairs < than->other_sizes * match->pairs;
    if (match->spread_ns > NEARLY_AS_WELL * than->spread_ns ||
        than->spread_ns > NEARLY_AS_WELL * match->spread_ns)
        return match->spread_ns < than->spread_ns;
    return here < there;
}

int series_align(const struct told_call *one, size_t one_count, const struct told_call *other,
                 size_t other_count, struct series_match *match)
{
    int64_t shifts[TRIED];
    size_t skipped = other_count > COMPARED_MOST ? other_count - COMPARED_MOST : 0;
    int found = 0;
    if (!one_count || !other_count)
        return 0;
    narrow(&one, &one_count, other + skipped, other_count - skipped);
    size_t least = one_count < other_count - skipped ? one_count : other_count - skipped;
    int64_t *lags = array_new(least, sizeof *lags);
    if (!lags)
        return -1;
    size_t count = list_shifts(one, one_count, other + skipped, other_count - skipped, shifts);
    for (size_t i = 0; i < count; i++) {
        struct series_match tried =
            match_by(one, one_count, other + skipped, other_count - skipped, shifts[i], lags);
        if (!is_possible(&tried) || (found && !is_better(&tried, match)))
            continue;
        *match = tried;
        found = 1;
    }
    free(lags);
    return found;
}

/* By the two calls of which the one tells most nearly `lag_ns` later than the other. 0: there are none. */
static int find_near(const struct told_call *one, size_t one_count, const struct told_call *other,
                     size_t other_count, int64_t lag_ns, int64_t *shift)
{
    int64_t least = WITNESS_LAG_MOST_NS + 1;
    for (size_t i = 0; i < other_count; i++) {
        int64_t at_ns, away;
        if (other[i].time_ns == TIME_UNKNOWN || __builtin_add_overflow(other[i].time_ns, lag_ns, &at_ns))
            continue;
        const struct told_call *near = &one[nearest(one, one_count, at_ns)];
        if (near->time_ns == TIME_UNKNOWN || __builtin_sub_overflow(near->time_ns, at_ns, &away) ||
            llabs(away) >= least)
            continue;
        least = llabs(away);
        *shift = near->place - other[i].place;
    }
    return least <= WITNESS_LAG_MOST_NS;
}

int series_align_near(const struct told_call *one, size_t one_count, const struct told_call *other,
                      size_t other_count, int64_t lag_ns, struct series_match *match)
{
    struct pair_cursor cursor = {0};
    int64_t shift;
    if ((one_count >= WITNESS_PAIRS_LEAST && other_count >= WITNESS_PAIRS_LEAST) || !one_count ||
        !find_near(one, one_count, other, other_count, lag_ns, &shift))
        return 0;
    *match = (struct series_match){.shift = shift};
    while (series_next_pair(&cursor, one, one_count, other, other_count, shift)) {
        const struct told_call *here = &one[cursor.at_one], *there = &other[cursor.at_other];
        match->pairs++;
        match->other_sizes += here->bytes >= 0 && there->bytes >= 0 && here->bytes != there->bytes;
    }
    return 1;
}
