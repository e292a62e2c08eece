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

/* What operations are, as far as it recurs, and when they were issued. */
struct symbols {
    uint64_t *items; /* owned, as is issued_ns */
    int64_t *issued_ns;
    size_t count;
    size_t capacity;
};

static int take_symbol(void *context, const struct work *work, const struct swept *swept)
{
    struct symbols *symbols = context;
    uint64_t symbol = hash_mix((uint64_t)work->members[swept->member].communicator, swept->function);
    if (symbols->count == symbols->capacity)
        return -1;
    symbols->issued_ns[symbols->count] = swept->issued_ns;
    symbols->items[symbols->count++] =
        hash_mix(symbol, hash_mix((uint64_t)swept->bytes, (uint64_t)swept->peer));
    return 0;
}

/* Cycles that are only parts of a step go together by the time between them. */
static int merge_cycles(const struct symbols *symbols, size_t *starts, size_t *count, struct error *error)
{
    int64_t *gaps_ns = array_new(*count * 2, sizeof *gaps_ns);
    if (!gaps_ns)
        return error_no_memory(error);
    for (size_t i = 0; i < *count; i++)
        gaps_ns[i] = starts[i] ? symbols->issued_ns[starts[i]] - symbols->issued_ns[starts[i] - 1] : 0;
    *count = cycle_merge(starts, gaps_ns, *count, gaps_ns + *count);
    free(gaps_ns);
    return 0;
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
    struct symbols symbols = {.items = array_new(operations, sizeof *symbols.items),
                              .issued_ns = array_new(operations, sizeof *symbols.issued_ns),
                              .capacity = operations};
    int failed = !symbols.items || !symbols.issued_ns
                     ? error_no_memory(error)
                     : pass(blocks, work, rank, take_symbol, &symbols, error) ||
                           find_starts(&symbols, starts, count, error);
    free(symbols.items);
    if (!failed && *count)
        failed = merge_cycles(&symbols, *starts, count, error);
    free(symbols.issued_ns);
    return failed ? -1 : 0;
}

struct end_search {
    const size_t *starts;
    size_t count;
    struct step_end *ends;
    size_t found;
    size_t next; /* start to come */
    size_t at;   /* operations so far */
    int32_t shared;
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
    if (search->next && work->members[swept->member].communicator == search->shared && swept->sequence >= 0) {
        search->last = (struct step_end){.sequence = swept->sequence, .function = swept->function};
        search->has_last = 1;
    }
    return 0;
}

int steps_find_ends(struct blocks *blocks, const struct work *work, int32_t rank, const size_t *starts,
                    size_t start_count, int32_t shared, struct step_end **ends, size_t *count,
                    struct error *error)
{
    struct end_search search = {.starts = starts, .count = start_count, .shared = shared};
    *count = 0;
    *ends = search.ends = array_new(start_count, sizeof **ends);
    int failed = search.ends ? pass(blocks, work, rank, take_end, &search, error) : error_no_memory(error);
    *count = search.found;
    return failed;
}
