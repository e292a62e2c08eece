#include "join/steps.h"

#include "base/array.h"
#include "base/hash.h"
#include "join/cycle.h"

#include <stdlib.h>

/* Steps without tags. A rank passes by several times, so that little of it has to be held at once. */

/* One pass over the operations of a rank. `take` returns -1 when memory is out. */
static int pass(struct blocks *blocks, const struct work *work, int32_t rank,
                int (*take)(void *context, const struct work *work, const struct swept *swept), void *context,
                struct error *error)
{
    struct sweep sweep;
    struct swept swept;
    size_t first = work->by_rank.first[rank];
    int more = sweep_begin(&sweep, blocks, work, work->by_rank.items + first,
                           work->by_rank.first[rank + 1] - first, error)
                   ? -1
                   : 1;
    while (more == 1 && (more = sweep_next(&sweep, &swept, error)) == 1)
        if (take(context, work, &swept))
            more = error_no_memory(error);
    sweep_end(&sweep);
    return more;
}

struct symbols {
    uint64_t *items;
    size_t count;
    size_t capacity;
};

/* What an operation is, as far as it recurs. */
static int take_symbol(void *context, const struct work *work, const struct swept *swept)
{
    struct symbols *symbols = context;
    uint64_t symbol = hash_mix((uint64_t)work->members[swept->member].communicator, swept->function);
    if (symbols->count == symbols->capacity)
        return -1;
    symbols->items[symbols->count++] =
        hash_mix(symbol, hash_mix((uint64_t)swept->bytes, (uint64_t)swept->peer));
    return 0;
}

/* The time before each start. */
struct gaps {
    const size_t *starts;
    size_t count;
    int64_t *items;
    size_t next; /* start to come */
    size_t at;   /* operations so far */
    int64_t last_ns;
};

static int take_gap(void *context, const struct work *work, const struct swept *swept)
{
    struct gaps *gaps = context;
    if (gaps->next < gaps->count && gaps->starts[gaps->next] == gaps->at)
        gaps->items[gaps->next++] = gaps->at ? swept->issued_ns - gaps->last_ns : 0;
    gaps->at++;
    gaps->last_ns = swept->issued_ns;
    return 0;
}

/* Cycles that are only parts of a step go together by the time between them. */
static int merge_cycles(struct blocks *blocks, const struct work *work, int32_t rank, size_t *starts,
                        size_t *count, struct error *error)
{
    struct gaps gaps = {.starts = starts, .count = *count};
    gaps.items = array_new(*count * 2, sizeof *gaps.items);
    int failed = gaps.items ? pass(blocks, work, rank, take_gap, &gaps, error) : error_no_memory(error);
    if (!failed)
        *count = cycle_merge(starts, gaps.items, *count, gaps.items + *count);
    free(gaps.items);
    return failed;
}

/* The cycle that most of the symbols belong to: where it begins. */
static int find_starts(const struct symbols *symbols, size_t **starts, size_t *count, struct error *error)
{
    struct cycle cycle;
    if (cycle_find(symbols->items, symbols->count, &cycle))
        return error_no_memory(error);
    if (cycle.extent * 2 < symbols->count || cycle.extent < 3 * cycle.period || !cycle.period)
        return 0;
    *starts = array_new(symbols->count / cycle.period + 2, sizeof **starts);
    if (!*starts)
        return error_no_memory(error);
    *count = cycle_starts(&cycle, symbols->count, *starts);
    return 0;
}

int steps_from_period(struct blocks *blocks, const struct work *work, int32_t rank, size_t operations,
                      size_t **starts, size_t *count, struct error *error)
{
    *starts = NULL;
    *count = 0;
    struct symbols symbols = {.items = array_new(operations, sizeof *symbols.items), .capacity = operations};
    if (!symbols.items)
        return error_no_memory(error);
    int failed =
        pass(blocks, work, rank, take_symbol, &symbols, error) || find_starts(&symbols, starts, count, error);
    free(symbols.items);
    if (!failed && *count)
        failed = merge_cycles(blocks, work, rank, *starts, count, error);
    return failed ? -1 : 0;
}

struct end_search {
    const size_t *starts;
    size_t count;
    struct step_end *ends;
    size_t found;
    size_t next; /* start to come */
    size_t at;   /* operations so far */
    int32_t world;
    int has_last;
    struct step_end last; /* of this step so far */
};

static int take_end(void *context, const struct work *work, const struct swept *swept)
{
    struct end_search *search = context;
    while (search->next < search->count && search->starts[search->next] <= search->at) {
        if (search->next && search->has_last)
            search->ends[search->found++] = search->last;
        search->has_last = 0;
        search->next++;
    }
    search->at++;
    if (search->next && work->members[swept->member].communicator == search->world && swept->sequence >= 0) {
        search->last = (struct step_end){.sequence = swept->sequence, .function = swept->function};
        search->has_last = 1;
    }
    return 0;
}

int steps_find_ends(struct blocks *blocks, const struct work *work, int32_t rank, const size_t *starts,
                    size_t start_count, struct step_end **ends, size_t *count, struct error *error)
{
    struct end_search search = {
        .starts = starts, .count = start_count, .world = work->runs[work->ranks[rank].run].world};
    *count = 0;
    *ends = search.ends = array_new(start_count, sizeof **ends);
    int failed = search.ends ? pass(blocks, work, rank, take_end, &search, error) : error_no_memory(error);
    *count = search.found;
    return failed;
}
