/*
 * Detects steps from tags, or from the period of one rank's operations, and transfers them to other ranks
 * with the last operation of each step on a shared communicator. numbering.c chooses between these.
 */
#include "join/steps.h"
#include "base/base.h"
#include "join/internal.h"
#include "model/model.h"

#include <stddef.h>
#include <stdint.h>
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

/* The marks of the rank's member with most of them, or of the whole process. Returns how many. */
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
 * For traces that lost operations, so that cycles have gaps: a step begins with a tag that is not later than
 * the previous one in the order in which tags were first seen.
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

/* Phases of a step have their own tags, at least two. */
enum { FEWEST_TAGS = 2 };

/* Divides cycles of tags that hold several steps. What comes before the first cycle is unchanged. */
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
        *count = incomplete_cycle_starts(moments->symbols, moments->count, moments->begin, starts);
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

/* Takes ownership of `starts`, which are indexes of moments. */
static int tell_starts(struct step_locator *locator, const struct moments *moments, size_t *starts,
                       size_t count)
{
    if (moments->of_operations) {
        for (size_t i = 0; i < count; i++)
            starts[i] = (size_t)moments->at[starts[i]];
        locator->starts = starts;
        locator->start_count = count;
        return 0;
    }
    int64_t *times = array_new(count + 1, sizeof *times);
    for (size_t i = 0; times && i < count; i++)
        times[i] = moments->at[starts[i]];
    locator->times = times;
    locator->time_count = times ? count : 0;
    free(starts);
    return times ? 0 : -1;
}

int steps_from_tags(const struct moments *moments, struct step_locator *locator)
{
    *locator = (struct step_locator){.times = NULL};
    struct cycle cycle;
    size_t count, *starts = array_new(moments->count + 1, sizeof *starts);
    if (!starts || cycle_find(moments->symbols, moments->count, &cycle) ||
        find_starts(moments, &cycle, starts, &count)) {
        free(starts);
        return -1;
    }
    return tell_starts(locator, moments, starts, count);
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

static int is_beyond(const struct step_end *end, int32_t turn, const struct issued_operation *issued)
{
    return turn != end->turn ? turn > end->turn : issued->sequence > end->reached[issued->function];
}

/* An operation beyond an end shows that the end was lost. The next end may be lost as well. */
static int32_t step_by_ends(struct step_locator *locator, const struct work *work,
                            const struct issued_operation *issued)
{
    int32_t turn = shared_turn(locator->shared, work->members[issued->member].communicator);
    if (turn < 0 || issued->function >= FUNCTION_COUNT)
        return (int32_t)locator->next;
    while (locator->next < locator->end_count && is_beyond(&locator->ends[locator->next], turn, issued))
        locator->next++;
    int32_t step = (int32_t)locator->next;
    const struct step_end *end = locator->ends + locator->next;
    if (locator->next < locator->end_count && turn == end->turn && issued->function == end->function &&
        issued->sequence == end->sequence)
        locator->next++;
    return step;
}

int32_t step_next(struct step_locator *locator, const struct work *work,
                  const struct issued_operation *issued)
{
    if (locator->ends)
        return step_by_ends(locator, work, issued);
    if (!locator->time_count && !locator->start_count)
        return -1;
    while (locator->next < locator->time_count && locator->times[locator->next] <= issued->issued_ns)
        locator->next++;
    while (locator->next < locator->start_count && locator->starts[locator->next] <= locator->at)
        locator->next++;
    locator->at++;
    return locator->next ? (int32_t)locator->next - 1 : 0;
}

enum { RECURRENCE_SMALL_BYTES = 1024 };

/*
 * Steps without tags. The operations of a rank are read several times, so that little of them is in memory at
 * a time.
 */

struct symbols {
    struct recurrence recurrence;
    size_t capacity;
    int32_t world;                   /* -1: no communicator of all ranks */
    struct communicator_life *lives; /* one for each member of the rank, in numbers of operations */
    const int32_t *members;          /* the members of the rank */
    size_t member_count;
    int32_t *first_of; /* owned; one for each member (succession_find) */
    int has_successors;
    int64_t before_ns; /* when the operation before was issued */
};

int64_t issued_gap(const struct issued_operation *issued, int64_t before_ns)
{
    int64_t gap_ns = issued->issued_ns - before_ns;
    if (!issued->at_end || issued->duration_ns == COUNT_UNKNOWN)
        return gap_ns;
    return issued->duration_ns < gap_ns ? gap_ns - issued->duration_ns : 0;
}

/* Whether a communicator has the size of the world, and as many recorded members. */
static int is_like(const struct work *work, int32_t communicator, int32_t world)
{
    const struct work_communicator *here = &work->communicators[communicator];
    return world >= 0 && here->member_count == work->communicators[world].member_count &&
           here->size == work->communicators[world].size;
}

static int take_symbol(void *context, const struct work *work, const struct issued_operation *issued)
{
    struct symbols *symbols = context;
    struct recurrence *recurrence = &symbols->recurrence;
    size_t at = recurrence->count;
    int32_t first = symbols->members[symbols->first_of[issued->source]];
    int32_t communicator = work->members[first].communicator;
    struct communicator_life *life = &symbols->lives[issued->source];
    life->first_used = life->first_used == INT64_MAX ? (int64_t)at : life->first_used;
    life->last_used = (int64_t)at;
    uint64_t call = hash_mix((uint64_t)communicator, issued->function);
    if (at == symbols->capacity)
        return -1;
    recurrence->count++;
    recurrence->gaps_ns[at] = at ? issued_gap(issued, symbols->before_ns) : 0;
    symbols->before_ns = issued->issued_ns;
    recurrence->functions[at] = call;
    recurrence->kinds[at] = hash_mix(call, (uint64_t)issued->bytes);
    recurrence->calls[at] = hash_mix(call, (uint64_t)issued->peer);
    recurrence->sizes[at] = hash_mix(call, hash_mix((uint64_t)issued->bytes, (uint64_t)issued->peer));
    recurrence->communicators[at] = function_is_point_to_point(issued->function) ? -1 : communicator;
    recurrence->is_shared[at] =
        recurrence->communicators[at] >= 0 && is_like(work, communicator, symbols->world);
    recurrence->is_small[at] = issued->bytes >= 0 && issued->bytes <= RECURRENCE_SMALL_BYTES;
    return 0;
}

/*
 * A hash of a communicator's members that does not depend on the order of files. A communicator without a
 * hash gets one of its own.
 */
static uint64_t digest_members(const struct work *work, int32_t communicator)
{
    const struct grouping *of = &work->by_communicator;
    if (!work->communicators[communicator].hash)
        return hash_mix((uint64_t)communicator, 0);
    uint64_t digest = hash_mix((uint64_t)work->communicators[communicator].declared_size, 1);
    for (size_t i = of->first[communicator]; i < of->first[communicator + 1]; i++) {
        const struct work_member *member = &work->members[of->items[i]];
        digest += hash_mix(hash_mix(2, (uint64_t)member->rank), (uint64_t)member->job_rank);
    }
    return digest;
}

static int lives_init(struct symbols *symbols, const struct work *work, int32_t rank)
{
    const struct grouping *of = &work->by_rank;
    symbols->members = of->items + of->first[rank];
    symbols->member_count = of->first[rank + 1] - of->first[rank];
    symbols->lives = array_new(symbols->member_count, sizeof *symbols->lives);
    symbols->first_of = array_new(symbols->member_count, sizeof *symbols->first_of);
    if (!symbols->lives || !symbols->first_of)
        return -1;
    for (size_t i = 0; i < symbols->member_count; i++) {
        symbols->lives[i].members = digest_members(work, work->members[symbols->members[i]].communicator);
        symbols->lives[i].first_used = symbols->lives[i].last_used = INT64_MAX;
        symbols->first_of[i] = (int32_t)i;
    }
    return 0;
}

static int symbols_init(struct symbols *symbols, const struct work *work, int32_t rank, size_t capacity)
{
    struct recurrence *recurrence = &symbols->recurrence;
    *symbols = (struct symbols){.capacity = capacity, .world = work->runs[work->ranks[rank].run].world};
    if (lives_init(symbols, work, rank))
        return -1;
    recurrence->functions = array_new(capacity, sizeof *recurrence->functions);
    recurrence->calls = array_new(capacity, sizeof *recurrence->calls);
    recurrence->sizes = array_new(capacity, sizeof *recurrence->sizes);
    recurrence->kinds = array_new(capacity, sizeof *recurrence->kinds);
    recurrence->communicators = array_new(capacity, sizeof *recurrence->communicators);
    recurrence->is_small = array_new(capacity, 1);
    recurrence->is_shared = array_new(capacity, 1);
    recurrence->gaps_ns = array_new(capacity, sizeof *recurrence->gaps_ns);
    return recurrence->functions && recurrence->calls && recurrence->sizes && recurrence->kinds &&
                   recurrence->communicators && recurrence->is_small && recurrence->is_shared &&
                   recurrence->gaps_ns
               ? 0
               : -1;
}

static void symbols_release(struct symbols *symbols)
{
    free(symbols->recurrence.functions);
    free(symbols->recurrence.calls);
    free(symbols->recurrence.sizes);
    free(symbols->recurrence.kinds);
    free(symbols->recurrence.communicators);
    free(symbols->recurrence.is_small);
    free(symbols->recurrence.is_shared);
    free(symbols->recurrence.gaps_ns);
    free(symbols->first_of);
}

static int find_successors(struct symbols *symbols)
{
    if (succession_find(symbols->lives, symbols->member_count, symbols->first_of))
        return -1;
    for (size_t i = 0; i < symbols->member_count; i++)
        symbols->has_successors |= symbols->first_of[i] != (int32_t)i;
    return 0;
}

/*
 * Which communicators replace others is known at the end. If any do, the operations are read a second time.
 */
static int list_symbols(struct symbols *symbols, struct blocks *blocks, const struct work *work, int32_t rank,
                        struct error *error)
{
    if (rank_pass(blocks, work, rank, PASS_WITHOUT_RESULTS, take_symbol, symbols, error))
        return -1;
    if (find_successors(symbols))
        return error_no_memory(error);
    if (!symbols->has_successors)
        return 0;
    symbols->recurrence.count = 0;
    return rank_pass(blocks, work, rank, PASS_WITHOUT_RESULTS, take_symbol, symbols, error);
}

int steps_from_period(struct blocks *blocks, const struct work *work, int32_t rank, size_t operations,
                      struct own_steps *steps, struct error *error)
{
    struct symbols symbols;
    *steps = (struct own_steps){.starts = array_new(operations, sizeof *steps->starts)};
    int failed = symbols_init(&symbols, work, rank, operations) || !steps->starts;
    failed = failed ? error_no_memory(error) : list_symbols(&symbols, blocks, work, rank, error);
    if (!failed && stretches_find(&symbols.recurrence, steps->starts, &steps->count))
        failed = error_no_memory(error);
    steps->lives = symbols.lives;
    symbols_release(&symbols);
    size_t *fewer = failed ? NULL : realloc(steps->starts, (steps->count + 1) * sizeof *fewer);
    if (fewer)
        steps->starts = fewer;
    return failed ? -1 : 0;
}

void own_steps_release(struct own_steps *steps)
{
    free(steps->starts);
    free(steps->lives);
    *steps = (struct own_steps){.count = 0};
}

struct end_search {
    const struct own_steps *steps;
    const struct shared_communicators *shared;
    struct step_end *ends;
    size_t found;
    size_t next;  /* index of the next start */
    size_t at;    /* operations so far */
    int has_last; /* this step has had an end so far */
    struct step_end last;
};

static int take_end(void *context, const struct work *work, const struct issued_operation *issued)
{
    struct end_search *search = context;
    while (search->next < search->steps->count && search->steps->starts[search->next] <= search->at) {
        if (search->next && search->has_last)
            search->ends[search->found++] = search->last;
        search->has_last = 0;
        search->next++;
    }
    search->at++;
    int32_t turn = shared_turn(search->shared, work->members[issued->member].communicator);
    if (turn > search->last.turn && issued->sequence >= 0)
        search->last = step_end_none(turn);
    if (turn >= 0 && turn == search->last.turn)
        search->has_last |= step_end_take(&search->last, issued->function, issued->sequence);
    return 0;
}

int steps_find_ends(struct blocks *blocks, const struct work *work, int32_t rank,
                    const struct own_steps *steps, const struct shared_communicators *shared,
                    struct step_end **ends, size_t *count, struct error *error)
{
    struct end_search search = {.steps = steps, .shared = shared, .last = step_end_none(0)};
    *count = 0;
    *ends = search.ends = array_new(steps->count, sizeof **ends);
    int failed = search.ends ? rank_pass(blocks, work, rank, PASS_WITHOUT_RESULTS, take_end, &search, error)
                             : error_no_memory(error);
    *count = search.found;
    return failed;
}
