#include "join/steps.h"

#include "base/array.h"
#include "join/load.h"
#include "period/cycle.h"
#include "period/cycle_with_gaps.h"
#include "period/several_steps.h"
#include "period/stretches.h"

#include <stdlib.h>

void moments_release(struct moments *moments)
{
    free(moments->symbols);
    free(moments->at);
    *moments = (struct moments){.count = 0};
}

int moments_add(struct moments *moments, uint64_t symbol, int64_t at)
{
    if (array_reserve((void **)&moments->symbols, &moments->capacity, moments->count + 1,
                      sizeof *moments->symbols) ||
        array_reserve((void **)&moments->at, &moments->at_capacity, moments->count + 1, sizeof *moments->at))
        return -1;
    moments->symbols[moments->count] = symbol;
    moments->at[moments->count++] = at;
    return 0;
}

/* The tags of the member of the rank on which most were set, or of the whole process. Returns how many. */
static size_t most_marks(const struct work *work, int32_t rank, const struct work_mark **marks)
{
    size_t most = work_marks_of(work, -1, marks);
    for (size_t at = work->by_rank.first[rank]; at < work->by_rank.first[rank + 1]; at++) {
        const struct work_mark *own;
        size_t count = work_marks_of(work, work->by_rank.items[at], &own);
        if (count > most) {
            most = count;
            *marks = own;
        }
    }
    return most;
}

/* The end of a range is a moment like its beginning. */
int moments_of_marks(struct moments *moments, const struct work *work, int32_t rank)
{
    const struct work_mark *marks;
    size_t count = most_marks(work, rank, &marks);
    for (size_t i = 0; i < count; i++)
        if (moments_add(moments, (uint64_t)marks[i].text + 1, marks[i].at_ns))
            return -1;
    return 0;
}

/*
 * Where traces lost operations the cycle has holes. Then a new one begins whenever a tag comes that does not
 * come later than the last in order of first sight.
 */
static size_t wrapping_starts(const struct moments *moments, size_t *starts)
{
    size_t found = 0;
    uint64_t place[64];
    size_t places = 0, last = 0;
    for (size_t i = 0; i < moments->count; i++) {
        size_t at = 0;
        while (at < places && place[at] != moments->symbols[i])
            at++;
        if (at == places && places < sizeof place / sizeof *place)
            place[places++] = moments->symbols[i];
        if (i == 0 || at <= last)
            starts[found++] = i;
        last = at;
    }
    return found;
}

/* Phases of a step have tags of their own, two at least. */
enum { FEWEST_TAGS = 2 };

/* In cycles of tags that hold several steps. What came before the first cycle is left as it is. */
static int find_several(const struct moments *moments, const struct cycle *cycle, size_t *starts,
                        size_t *count)
{
    const struct cycles cycles = {.symbols = moments->symbols,
                                  .calls = moments->symbols,
                                  .end = moments->count,
                                  .fewest_calls = FEWEST_TAGS};
    size_t early = *count && starts[0] < cycle->first, cut = *count - early;
    if (!cycle->period || several_steps_find(&cycles, starts + early, &cut))
        return cycle->period ? -1 : 0;
    *count = cut + early;
    return 0;
}

static int find_starts(const struct moments *moments, const struct cycle *cycle, size_t *starts,
                       size_t *count)
{
    *count = 0;
    if (moments->begin)
        *count = torn_starts(moments->symbols, moments->count, moments->begin, starts);
    if (*count)
        return 0;
    if (cycle->extent * 5 >= moments->count * 4) {
        *count = cycle_starts_early(cycle, moments->count, starts);
        return find_several(moments, cycle, starts, count);
    }
    if (stretches_of_symbols(moments->symbols, moments->count, starts, count))
        return -1;
    if (!*count && (cycle->extent || moments->count >= 4))
        *count = wrapping_starts(moments, starts);
    return 0;
}

/* Takes `starts`, which are moments, over. */
static int tell_starts(struct step_teller *teller, const struct moments *moments, size_t *starts,
                       size_t count)
{
    if (moments->of_operations) {
        for (size_t i = 0; i < count; i++)
            starts[i] = (size_t)moments->at[starts[i]];
        teller->starts = starts;
        teller->start_count = count;
        return 0;
    }
    int64_t *times = array_new(count + 1, sizeof *times);
    for (size_t i = 0; times && i < count; i++)
        times[i] = moments->at[starts[i]];
    teller->times = times;
    teller->time_count = times ? count : 0;
    free(starts);
    return times ? 0 : -1;
}

int steps_from_tags(const struct moments *moments, struct step_teller *teller)
{
    *teller = (struct step_teller){.times = NULL};
    struct cycle cycle;
    size_t count, *starts = array_new(moments->count + 1, sizeof *starts);
    if (!starts || cycle_find(moments->symbols, moments->count, &cycle) ||
        find_starts(moments, &cycle, starts, &count)) {
        free(starts);
        return -1;
    }
    return tell_starts(teller, moments, starts, count);
}

struct step_end step_end_none(int32_t turn)
{
    struct step_end end = {.sequence = -1, .turn = turn};
    for (int i = 0; i < FUNCTION_COUNT; i++)
        end.reached[i] = -1;
    return end;
}

int step_end_take(struct step_end *end, uint8_t function, int64_t sequence)
{
    if (sequence < 0 || function >= FUNCTION_COUNT)
        return 0;
    end->function = function;
    end->sequence = sequence;
    if (sequence > end->reached[function])
        end->reached[function] = sequence;
    return 1;
}

static int is_beyond(const struct step_end *end, int32_t turn, const struct swept *swept)
{
    return turn != end->turn ? turn > end->turn : swept->sequence > end->reached[swept->function];
}

/* An operation beyond the end shows that the end itself was lost, and so may the next have been. */
static int32_t step_by_ends(struct step_teller *teller, const struct work *work, const struct swept *swept)
{
    int32_t turn = shared_turn(teller->shared, work->members[swept->member].communicator);
    if (turn < 0 || swept->function >= FUNCTION_COUNT)
        return (int32_t)teller->next;
    while (teller->next < teller->end_count && is_beyond(&teller->ends[teller->next], turn, swept))
        teller->next++;
    int32_t step = (int32_t)teller->next;
    const struct step_end *end = teller->ends + teller->next;
    if (teller->next < teller->end_count && turn == end->turn && swept->function == end->function &&
        swept->sequence == end->sequence)
        teller->next++;
    return step;
}

int32_t step_next(struct step_teller *teller, const struct work *work, const struct swept *swept)
{
    if (teller->ends)
        return step_by_ends(teller, work, swept);
    if (!teller->time_count && !teller->start_count)
        return -1;
    while (teller->next < teller->time_count && teller->times[teller->next] <= swept->issued_ns)
        teller->next++;
    while (teller->next < teller->start_count && teller->starts[teller->next] <= teller->at)
        teller->next++;
    teller->at++;
    return teller->next ? (int32_t)teller->next - 1 : 0;
}
