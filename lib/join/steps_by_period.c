#include "join/steps_by_period.h"

#include "base/array.h"
#include "base/hash.h"
#include "period/recurrence.h"

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
    struct recurrence recurrence;
    size_t capacity;
    int32_t world; /* -1: there is no communicator of all ranks */
};

/* Whether a communicator has as many ranks as that of all, and as many of them are recorded. */
static int is_like(const struct work *work, int32_t communicator, int32_t world)
{
    const struct work_communicator *here = &work->communicators[communicator];
    return world >= 0 && here->member_count == work->communicators[world].member_count &&
           here->size == work->communicators[world].size;
}

static int take_symbol(void *context, const struct work *work, const struct swept *swept)
{
    struct symbols *symbols = context;
    struct recurrence *recurrence = &symbols->recurrence;
    size_t at = recurrence->count;
    int32_t communicator = work->members[swept->member].communicator;
    uint64_t call = hash_mix((uint64_t)communicator, swept->function);
    if (at == symbols->capacity)
        return -1;
    recurrence->count++;
    recurrence->issued_ns[at] = swept->issued_ns;
    recurrence->functions[at] = call;
    recurrence->kinds[at] = hash_mix(call, (uint64_t)swept->bytes);
    recurrence->calls[at] = hash_mix(call, (uint64_t)swept->peer);
    recurrence->sizes[at] = hash_mix(call, hash_mix((uint64_t)swept->bytes, (uint64_t)swept->peer));
    recurrence->communicators[at] = function_is_point_to_point(swept->function) ? -1 : communicator;
    recurrence->is_shared[at] =
        recurrence->communicators[at] >= 0 && is_like(work, communicator, symbols->world);
    recurrence->is_small[at] = swept->bytes >= 0 && swept->bytes <= RECURRENCE_SMALL_BYTES;
    return 0;
}

static int symbols_init(struct symbols *symbols, size_t capacity)
{
    struct recurrence *recurrence = &symbols->recurrence;
    *symbols = (struct symbols){.capacity = capacity};
    recurrence->functions = array_new(capacity, sizeof *recurrence->functions);
    recurrence->calls = array_new(capacity, sizeof *recurrence->calls);
    recurrence->sizes = array_new(capacity, sizeof *recurrence->sizes);
    recurrence->kinds = array_new(capacity, sizeof *recurrence->kinds);
    recurrence->communicators = array_new(capacity, sizeof *recurrence->communicators);
    recurrence->is_small = array_new(capacity, 1);
    recurrence->is_shared = array_new(capacity, 1);
    recurrence->issued_ns = array_new(capacity, sizeof *recurrence->issued_ns);
    return recurrence->functions && recurrence->calls && recurrence->sizes && recurrence->kinds &&
                   recurrence->communicators && recurrence->is_small && recurrence->is_shared &&
                   recurrence->issued_ns
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
    free(symbols->recurrence.issued_ns);
}

int steps_from_period(struct blocks *blocks, const struct work *work, int32_t rank, size_t operations,
                      size_t **starts, size_t *count, struct error *error)
{
    struct symbols symbols;
    *count = 0;
    *starts = array_new(operations, sizeof **starts);
    int failed = symbols_init(&symbols, operations) || !*starts;
    symbols.world = work->runs[work->ranks[rank].run].world;
    failed = failed ? error_no_memory(error) : pass(blocks, work, rank, take_symbol, &symbols, error);
    if (!failed && recurrence_find(&symbols.recurrence, *starts, count))
        failed = error_no_memory(error);
    symbols_release(&symbols);
    size_t *fewer = failed ? NULL : realloc(*starts, (*count + 1) * sizeof *fewer);
    if (fewer)
        *starts = fewer;
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
    int has_last; /* this step has one so far */
    struct step_end last;
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
    if (work->members[swept->member].communicator == search->shared)
        search->has_last |= step_end_take(&search->last, swept->function, swept->sequence);
    return 0;
}

int steps_find_ends(struct blocks *blocks, const struct work *work, int32_t rank, const size_t *starts,
                    size_t start_count, int32_t shared, struct step_end **ends, size_t *count,
                    struct error *error)
{
    struct end_search search = {
        .starts = starts, .count = start_count, .shared = shared, .last = step_end_none()};
    *count = 0;
    *ends = search.ends = array_new(start_count, sizeof **ends);
    int failed = search.ends ? pass(blocks, work, rank, take_end, &search, error) : error_no_memory(error);
    *count = search.found;
    return failed;
}
