/*
 * Numbers the operations of one rank: settles tag, step and occurrence number of each, in the order of issue,
 * and writes them to the store. Notes what shows whether the rank lost operations or steps. Called by
 * numbering.c and lossy_ranks.c.
 */
#include "join/numbering.h"
#include "base/base.h"
#include "join/internal.h"
#include "join/steps.h"

#include <stdlib.h>

struct numbering numbering_of(const struct ranks *ranks, struct pool_worker *worker, size_t number)
{
    int32_t rank = ranks->items[number];
    return (struct numbering){.work = &worker->work,
                              .blocks = &worker->blocks,
                              .ranks = ranks,
                              .rank = rank,
                              .series = &ranks->series[rank]};
}

/* The tags set on each member of a rank. */
static struct tag_state *tag_states(const struct work *work, int32_t rank)
{
    size_t first = work->by_rank.first[rank], count = work->by_rank.first[rank + 1] - first;
    struct tag_state *states = array_new(count, sizeof *states);
    for (size_t i = 0; states && i < count; i++)
        states[i] = tag_state_at_start(work, work->by_rank.items[first + i]);
    return states;
}

static int32_t told_step(const struct work_run *run, const struct issued_operation *issued)
{
    int64_t step = issued->told_step < 0 ? -1 : issued->told_step - run->step_base;
    return step < run->first_step || step >= run->step_count ? -1 : (int32_t)step;
}

/* The sequence numbers of one function on a member: how many there are, and how many there should be. */
struct span {
    int64_t last;
    int64_t seen;
    int64_t expected;
    uint64_t missing; /* hash of the numbers that are missing */
    uint64_t begins;  /* hash of the numbers with which steps begin */
    uint64_t pairs;   /* of all functions of the member: only in the first of them */
    int32_t steps;    /* the latest step, plus 1 */
    int repeats;
};

static void span_take(struct span *spans, const struct issued_operation *issued)
{
    if (issued->sequence < 0 || issued->function >= FUNCTION_COUNT ||
        function_is_point_to_point(issued->function))
        return;
    struct span *span = &spans[(size_t)issued->source * FUNCTION_COUNT + issued->function];
    span->repeats |= span->seen && issued->sequence <= span->last;
    int64_t distance = span->seen && !span->repeats ? issued->sequence - span->last : 1;
    span->expected += distance;
    if (distance > 1)
        span->missing +=
            hash_mix(hash_mix((uint64_t)span->last, (uint64_t)issued->sequence), issued->function);
    if (issued->joined->step >= span->steps) {
        span->steps = issued->joined->step + 1;
        span->begins += hash_mix(hash_mix((uint64_t)span->steps, (uint64_t)issued->sequence), issued->function);
    }
    span->last = issued->sequence;
    span->seen++;
}

static void note_missing(const struct numbering *numbering, const struct span *spans)
{
    const struct grouping *members = &numbering->work->by_rank;
    size_t first = members->first[numbering->rank], count = members->first[numbering->rank + 1] - first;
    for (size_t i = 0; i < count; i++) {
        struct missing *missing = &numbering->ranks->missing[members->items[first + i]];
        *missing = (struct missing){.pairs = spans[i * FUNCTION_COUNT].pairs};
        for (size_t j = i * FUNCTION_COUNT; j < (i + 1) * FUNCTION_COUNT && missing->count >= 0; j++) {
            missing->hash += spans[j].missing;
            missing->begins += spans[j].begins;
            missing->seen += spans[j].seen;
            missing->count =
                spans[j].repeats ? NUMBERS_REPEAT : missing->count + spans[j].expected - spans[j].seen;
        }
    }
}

static void settle(struct numbering *numbering, struct tag_state *states, struct step_locator *locator,
                   const struct issued_operation *issued)
{
    struct work *work = numbering->work;
    int32_t *step_count = &work->ranks[numbering->rank].step_count;
    struct joined_row *joined = issued->joined;
    joined->tag = tag_carried(work, issued);
    if (joined->tag < 0)
        joined->tag = tag_at(&states[issued->source], issued->issued_ns);
    const struct work_run *run = &work->runs[work->ranks[numbering->rank].run];
    joined->number = series_number(numbering->series, issued);
    joined->step = run->step_source == STEPS_TOLD ? told_step(run, issued) : step_next(locator, work, issued);
    if (joined->step >= *step_count)
        *step_count = joined->step + 1;
}

int numbering_load_marks(const struct numbering *numbering, struct error *error)
{
    blocks_enter(numbering->blocks);
    int failed = work_load_marks(numbering->work, numbering->ranks->worker_pool->store,
                                 numbering->work->ranks[numbering->rank].process, error);
    blocks_leave(numbering->blocks);
    return failed;
}

/* Everything is final here and is written to the store block by block. */
static int number_once(struct numbering *numbering, struct step_locator locator, struct error *error)
{
    struct cursor cursor;
    struct issued_operation issued;
    const size_t *first = &numbering->work->by_rank.first[numbering->rank];
    if (numbering_load_marks(numbering, error))
        return -1;
    struct tag_state *states = tag_states(numbering->work, numbering->rank);
    struct span *spans = array_new((first[1] - first[0]) * FUNCTION_COUNT, sizeof *spans);
    if (!states || !spans) {
        free(states);
        free(spans);
        return error_no_memory(error);
    }
    int more =
        cursor_begin_rank(&cursor, numbering->blocks, numbering->work, numbering->rank, error) ? -1 : 1;
    cursor.writes = 1;
    while (more == 1 && (more = cursor_next(&cursor, &issued, error)) == 1) {
        settle(numbering, states, &locator, &issued);
        span_take(spans, &issued);
        spans[issued.source * FUNCTION_COUNT].pairs += pair_step_hash(numbering->work, &issued);
        if (issued.joined->number < 0)
            more = error_no_memory(error);
    }
    cursor_end(&cursor);
    note_missing(numbering, spans);
    free(spans);
    free(states);
    return more;
}

int number_rank(struct numbering *numbering, struct step_locator locator, struct error *error)
{
    int failed, again;
    numbering->work->ranks[numbering->rank].step_count = 0;
    do {
        failed = number_once(numbering, locator, error);
        again = numbering->series->has_found;
        series_forget_counts(numbering->series);
    } while (!failed && again);
    numbering->work->ranks[numbering->rank].is_numbered = 1;
    return failed;
}
