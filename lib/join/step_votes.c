/*
 * Steps of ranks that lost operations or tags, from the ranks that have them. All members of a communicator
 * make the same collectives, and a receive has its send, so each belongs to the same step on all ranks.
 * Called by lossy_ranks.c.
 */
#include "base/base.h"
#include "join/internal.h"
#include "join/steps.h"

#include <stdlib.h>
#include <string.h>

/*
 * Where a step begins in a series. Each rank that has the step gives the number of its first operation there.
 * Of these the two lowest are kept, which does not depend on the order of the ranks.
 */
struct boundary {
    uint64_t series;
    int32_t step;
    int64_t lowest;
    int64_t second; /* INT64_MAX: none */
    int32_t lowest_votes;
    int32_t second_votes;
};

void step_votes_init(struct step_votes *votes)
{
    *votes = (struct step_votes){.items = NULL};
    map_init(&votes->places);
}

void step_votes_release(struct step_votes *votes)
{
    map_release(&votes->places);
    free(votes->items);
}

static uint64_t series_of(int32_t communicator, uint8_t function)
{
    return (uint64_t)communicator << 8 | function;
}

/* Above all series of collectives. */
static uint64_t pairs_of(int32_t communicator, uint32_t sender, uint32_t receiver)
{
    return hash_mix(hash_mix((uint64_t)communicator, sender), receiver) | UINT64_C(1) << 63;
}

uint64_t step_series(const struct work *work, const struct issued_operation *issued)
{
    const struct work_member *member = &work->members[issued->member];
    uint32_t own = (uint32_t)member->rank, peer = (uint32_t)issued->peer;
    if (!function_is_point_to_point(issued->function))
        return series_of(member->communicator, (uint8_t)issued->function);
    return issued->function == FUNCTION_SEND ? pairs_of(member->communicator, own, peer)
                                             : pairs_of(member->communicator, peer, own);
}

int64_t step_number(const struct issued_operation *issued)
{
    if (function_is_point_to_point(issued->function))
        return issued->peer >= 0 ? issued->joined->number : COUNT_UNKNOWN;
    return issued->function < FUNCTION_COUNT ? issued->sequence : COUNT_UNKNOWN;
}

static struct boundary *find(struct step_votes *votes, uint64_t series, int32_t step)
{
    int added;
    int64_t *place =
        map_put(&votes->places, (struct map_key){{series, (uint64_t)step}}, (int64_t)votes->count, &added);
    if (!place ||
        array_reserve((void **)&votes->items, &votes->capacity, votes->count + 1, sizeof *votes->items))
        return NULL;
    if (added)
        votes->items[votes->count++] =
            (struct boundary){.series = series, .step = step, .lowest = INT64_MAX, .second = INT64_MAX};
    return &votes->items[*place];
}

static void count_votes(struct boundary *boundary, int64_t sequence, int32_t more)
{
    if (sequence < boundary->lowest) {
        boundary->second = boundary->lowest;
        boundary->second_votes = boundary->lowest_votes;
        boundary->lowest = sequence;
        boundary->lowest_votes = more;
    } else if (sequence == boundary->lowest) {
        boundary->lowest_votes += more;
    } else if (sequence < boundary->second) {
        boundary->second = sequence;
        boundary->second_votes = more;
    } else if (sequence == boundary->second) {
        boundary->second_votes += more;
    }
}

int step_votes_add(struct step_votes *votes, uint64_t series, int32_t step, int64_t number)
{
    struct boundary *boundary = find(votes, series, step);
    if (boundary)
        count_votes(boundary, number, 1);
    return boundary ? 0 : -1;
}

/* The votes of one rank. */
struct voter {
    struct step_votes *votes;
    struct map reached; /* series -> the latest step so far, plus 1 */
};

static int take_vote(void *context, const struct work *work, const struct issued_operation *issued)
{
    struct voter *voter = context;
    int64_t number = step_number(issued);
    if (number < 0)
        return 0;
    uint64_t series = step_series(work, issued);
    int64_t *reached = map_put(&voter->reached, (struct map_key){{series}}, 0, NULL);
    if (!reached)
        return -1;
    if (issued->joined->step < *reached)
        return 0;
    *reached = issued->joined->step + 1;
    return step_votes_add(voter->votes, series, issued->joined->step, number);
}

int step_votes_of_rank(struct step_votes *votes, struct blocks *blocks, const struct work *work, int32_t rank,
                       struct error *error)
{
    struct voter voter = {.votes = votes};
    map_init(&voter.reached);
    int failed = rank_pass(blocks, work, rank, PASS_READS_RESULTS, take_vote, &voter, error);
    map_release(&voter.reached);
    return failed;
}

int step_votes_merge(struct step_votes *votes, struct step_votes *more)
{
    for (size_t i = 0; i < more->count; i++) {
        const struct boundary *other = &more->items[i];
        struct boundary *boundary = find(votes, other->series, other->step);
        if (!boundary)
            return -1;
        count_votes(boundary, other->lowest, other->lowest_votes);
        if (other->second != INT64_MAX)
            count_votes(boundary, other->second, other->second_votes);
    }
    step_votes_release(more);
    step_votes_init(more);
    return 0;
}

/* A step of a series, and the number of its first operation. */
struct series_step {
    uint64_t series;
    int64_t sequence;
    int32_t step;
};

/*
 * The lowest number, since a rank may have lost the first operation; but not if fewer ranks give it than the
 * next one, because operations may be out of order on a single rank.
 */
static int64_t first_of(const struct boundary *boundary)
{
    return boundary->second_votes > boundary->lowest_votes ? boundary->second : boundary->lowest;
}

static int by_step(const void *a, const void *b)
{
    const struct series_step *left = a, *right = b;
    if (left->series != right->series)
        return left->series < right->series ? -1 : 1;
    return (left->step > right->step) - (left->step < right->step);
}

/* Leaves out steps that do not begin after those before them. */
static size_t keep_ascending(struct series_step *items, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!kept || items[kept - 1].series != items[i].series ||
            items[kept - 1].sequence < items[i].sequence)
            items[kept++] = items[i];
    return kept;
}

/* A series with more unknown steps than known ones is left as it is. */
static size_t room_of(const struct series_step *items, size_t count)
{
    size_t steps = (size_t)items[count - 1].step + 1;
    return steps <= 2 * count ? steps : 0;
}

/*
 * All members of a communicator may have lost the first operation of a step, or the one that shows where it
 * begins. If steps have the same number of operations, the other steps show it. `more` has room for all
 * steps.
 */
static int64_t settle_series(const struct series_step *items, size_t count, struct series_step *more,
                             int64_t *begins)
{
    size_t steps = room_of(items, count), kept = 0;
    for (size_t step = 0; step < steps; step++)
        begins[step] = -1;
    for (size_t i = 0; i < count && steps; i++)
        begins[items[i].step] = items[i].sequence;
    int64_t growth = steps ? even_begins(begins, steps) : 0;
    if (growth < 0)
        return -1;
    if (!growth) {
        memcpy(more, items, count * sizeof *items);
        return (int64_t)count;
    }
    for (size_t step = 0; step < steps; step++)
        if (begins[step] >= 0)
            more[kept++] = (struct series_step){
                .series = items[0].series, .sequence = begins[step], .step = (int32_t)step};
    return (int64_t)keep_ascending(more, kept);
}

/* The end of the series that begins at an index. */
static size_t end_of_series(const struct step_table *table, size_t first)
{
    size_t end = first + 1;
    while (end < table->count && table->items[end].series == table->items[first].series)
        end++;
    return end;
}

static int settle_table(struct step_table *table)
{
    size_t room = 0, kept = 0;
    for (size_t i = 0, end; i < table->count; i = end) {
        end = end_of_series(table, i);
        size_t steps = room_of(table->items + i, end - i);
        room += steps > end - i ? steps : end - i;
    }
    struct series_step *items = array_new(room, sizeof *items);
    int64_t *begins = array_new(room, sizeof *begins), here = 0;
    for (size_t i = 0, end; items && begins && here >= 0 && i < table->count; i = end) {
        end = end_of_series(table, i);
        here = settle_series(table->items + i, end - i, items + kept, begins);
        kept += here > 0 ? (size_t)here : 0;
    }
    int failed = !items || !begins || here < 0;
    free(begins);
    if (failed) {
        free(items);
        return -1;
    }
    free(table->items);
    *table = (struct step_table){.items = items, .count = kept};
    return 0;
}

int step_table_init(struct step_table *table, const struct step_votes *votes)
{
    *table = (struct step_table){.items = array_new(votes->count, sizeof *table->items)};
    if (!table->items)
        return -1;
    for (size_t i = 0; i < votes->count; i++)
        table->items[i] = (struct series_step){.series = votes->items[i].series,
                                               .sequence = first_of(&votes->items[i]),
                                               .step = votes->items[i].step};
    array_sort(table->items, votes->count, sizeof *table->items, by_step);
    table->count = keep_ascending(table->items, votes->count);
    return settle_table(table);
}

void step_table_release(struct step_table *table)
{
    free(table->items);
    *table = (struct step_table){.items = NULL};
}

int32_t step_table_find(const struct step_table *table, uint64_t series, int64_t number, int *is_last)
{
    size_t first = 0, end = table->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        const struct series_step *item = &table->items[middle];
        if (item->series < series || (item->series == series && item->sequence <= number))
            first = middle + 1;
        else
            end = middle;
    }
    *is_last = first == table->count || table->items[first].series != series;
    return first && table->items[first - 1].series == series ? table->items[first - 1].step : -1;
}

int step_table_has(const struct step_table *table, int32_t communicator)
{
    int is_last;
    for (int function = 0; function < FUNCTION_COUNT; function++)
        if (step_table_find(table, series_of(communicator, (uint8_t)function), INT64_MAX, &is_last) >= 0)
            return 1;
    return 0;
}
