#include "join/runs.h"

#include "base/array.h"
#include "join/steps.h"
#include "join/tags.h"

#include <stdlib.h>

/* What numbering one run needs. */
struct numbering {
    struct work *work;
    struct store *store;
    struct blocks *blocks;
    struct series_table *series;
    int32_t run;
};

static int begin(const struct numbering *numbering, int32_t rank, struct sweep *sweep, struct error *error)
{
    const struct grouping *members = &numbering->work->by_rank;
    return sweep_begin(sweep, numbering->blocks, numbering->work, members->items + members->first[rank],
                       members->first[rank + 1] - members->first[rank], error);
}

static size_t count_operations(const struct work *work, int32_t rank)
{
    size_t count = 0;
    for (size_t i = work->by_rank.first[rank]; i < work->by_rank.first[rank + 1]; i++)
        count += work->members[work->by_rank.items[i]].operations;
    return count;
}

static int carries_tags(const struct work *work, int32_t rank)
{
    for (size_t i = work->by_rank.first[rank]; i < work->by_rank.first[rank + 1]; i++)
        if (work->members[work->by_rank.items[i]].tagged)
            return 1;
    return 0;
}

/* Where the tag changes from one operation to the next: the cycle as the operations show it. */
static int moments_of_operations(struct numbering *numbering, int32_t rank, struct moments *moments,
                                 struct error *error)
{
    struct sweep sweep;
    struct swept swept;
    int32_t last = -1;
    int more = begin(numbering, rank, &sweep, error) ? -1 : 1;
    while (more == 1 && (more = sweep_next(&sweep, &swept, error)) == 1) {
        if (swept.tag < 0 || swept.tag == last)
            continue;
        last = swept.tag;
        if (moments_add(moments, (uint64_t)last, swept.issued_ns))
            more = error_no_memory(error);
    }
    sweep_end(&sweep);
    return more;
}

/* The tags set on each of a rank's members. */
static struct tag_state *tag_states(const struct work *work, int32_t rank)
{
    size_t first = work->by_rank.first[rank], count = work->by_rank.first[rank + 1] - first;
    struct tag_state *states = array_new(count, sizeof *states);
    for (size_t i = 0; states && i < count; i++)
        states[i] = tag_state_at_start();
    return states;
}

static void settle(struct numbering *numbering, struct tag_state *states, struct step_teller *teller,
                   const struct swept *swept)
{
    struct work *work = numbering->work;
    struct work_run *run = &work->runs[numbering->run];
    struct joined_row *joined = swept->joined;
    joined->tag = swept->tag;
    if (joined->tag < 0)
        joined->tag = tag_at(work, swept->member, &states[swept->source], swept->issued_ns);
    joined->step = step_next(teller, work, swept);
    joined->number = series_number(numbering->series, swept);
    if (joined->step >= run->step_count)
        run->step_count = joined->step + 1;
}

static int load_marks(const struct numbering *numbering, int32_t rank, struct error *error)
{
    return work_load_marks(numbering->work, numbering->store, numbering->work->ranks[rank].process, error);
}

/* Everything is settled, and goes into the store block by block. */
static int number_once(struct numbering *numbering, int32_t rank, struct step_teller teller,
                       struct error *error)
{
    struct sweep sweep;
    struct swept swept;
    if (load_marks(numbering, rank, error))
        return -1;
    struct tag_state *states = tag_states(numbering->work, rank);
    if (!states)
        return error_no_memory(error);
    int more = begin(numbering, rank, &sweep, error) ? -1 : 1;
    sweep.writes = 1;
    while (more == 1 && (more = sweep_next(&sweep, &swept, error)) == 1) {
        settle(numbering, states, &teller, &swept);
        if (swept.joined->number < 0)
            more = error_no_memory(error);
    }
    sweep_end(&sweep);
    free(states);
    return more;
}

static int number_rank(struct numbering *numbering, int32_t rank, struct step_teller teller,
                       struct error *error)
{
    int failed, again;
    do {
        failed = number_once(numbering, rank, teller, error);
        again = numbering->series->has_found;
        series_forget_counts(numbering->series);
    } while (!failed && again);
    numbering->work->ranks[rank].is_numbered = 1;
    return failed;
}

/* What the steps are told by where there are tags. */
static int find_moments(struct numbering *numbering, int32_t rank, struct moments *moments,
                        struct error *error)
{
    if (load_marks(numbering, rank, error))
        return -1;
    if (moments_of_marks(moments, numbering->work, rank))
        return error_no_memory(error);
    return moments->count || !carries_tags(numbering->work, rank)
               ? 0
               : moments_of_operations(numbering, rank, moments, error);
}

static int number_by_tags(struct numbering *numbering, int32_t rank, struct error *error)
{
    struct moments moments = {.count = 0};
    int64_t *times = NULL;
    size_t count = 0;
    int failed = find_moments(numbering, rank, &moments, error);
    if (!failed && moments.count >= 2 && steps_from_tags(&moments, &times, &count))
        failed = error_no_memory(error);
    moments_release(&moments);
    if (!failed && count >= 2) {
        numbering->work->runs[numbering->run].step_source = STEPS_BY_TAGS;
        failed =
            number_rank(numbering, rank, (struct step_teller){.times = times, .time_count = count}, error);
    }
    free(times);
    return failed;
}

/* The rank of the run with the most operations; -1 when there are none. */
static int32_t busiest_rank(const struct work *work, int32_t run)
{
    int32_t best = -1;
    size_t most = 0;
    for (size_t i = 0; i < work->rank_count; i++) {
        size_t count = work->ranks[i].run == run ? count_operations(work, (int32_t)i) : 0;
        if (count > most) {
            best = (int32_t)i;
            most = count;
        }
    }
    return best;
}

static int number_alone(struct numbering *numbering, int32_t rank, struct error *error)
{
    size_t *starts, count;
    int failed =
        steps_from_period(numbering->blocks, numbering->work, rank, count_operations(numbering->work, rank),
                          &starts, &count, error) ||
        number_rank(numbering, rank, (struct step_teller){.starts = starts, .start_count = count}, error);
    free(starts);
    return failed ? -1 : 0;
}

/* How the steps of a run without tags are told. */
struct period {
    size_t *starts;
    size_t start_count;
    struct step_end *ends;
    size_t end_count;
};

/* Where the rank lost operations, what all ranks together have tells more than its own do. */
static int find_shared(const struct numbering *numbering, int32_t rank, int32_t world, struct period *period,
                       struct error *error)
{
    int lost;
    if (steps_have_losses(numbering->blocks, numbering->work, rank, world, &lost, error))
        return -1;
    if (!lost && period->start_count >= 2)
        return 0;
    if (steps_from_shared(numbering->blocks, numbering->work, world, &period->ends, &period->end_count,
                          error))
        return -1;
    if (period->end_count)
        period->start_count = period->end_count + 1;
    return 0;
}

static int find_period(const struct numbering *numbering, struct period *period, struct error *error)
{
    const struct work *work = numbering->work;
    int32_t rank = busiest_rank(work, numbering->run), world = work->runs[numbering->run].world;
    if (rank < 0)
        return 0;
    if (steps_from_period(numbering->blocks, work, rank, count_operations(work, rank), &period->starts,
                          &period->start_count, error))
        return -1;
    if (world >= 0 && find_shared(numbering, rank, world, period, error))
        return -1;
    if (period->start_count < 2 || world < 0 || period->end_count)
        return 0;
    return steps_find_ends(numbering->blocks, work, rank, period->starts, period->start_count, &period->ends,
                           &period->end_count, error);
}

static int number_by_period(struct numbering *numbering, int32_t rank, const struct period *period,
                            struct error *error)
{
    struct step_teller teller = {.world = numbering->work->runs[numbering->run].world};
    if (period->start_count < 2)
        return number_rank(numbering, rank, teller, error);
    if (period->end_count + 1 != period->start_count)
        return number_alone(numbering, rank, error);
    teller.ends = period->ends;
    teller.end_count = period->end_count;
    return number_rank(numbering, rank, teller, error);
}

/* The ranks whose own tags told nothing. */
static int number_others(struct numbering *numbering, struct error *error)
{
    struct work *work = numbering->work;
    struct work_run *run = &work->runs[numbering->run];
    struct period period = {.starts = NULL};
    int failed = run->step_source == STEPS_NONE ? find_period(numbering, &period, error) : 0;
    if (period.start_count >= 2)
        run->step_source = STEPS_BY_PERIOD;
    for (size_t i = 0; !failed && i < work->rank_count; i++)
        if (work->ranks[i].run == numbering->run && !work->ranks[i].is_numbered)
            failed = number_by_period(numbering, (int32_t)i, &period, error);
    free(period.starts);
    free(period.ends);
    return failed;
}

int run_number(struct work *work, int32_t run, struct store *store, struct blocks *blocks,
               struct series_table *series, struct error *error)
{
    struct numbering numbering = {
        .work = work, .store = store, .blocks = blocks, .series = series, .run = run};
    for (size_t i = 0; i < work->rank_count; i++)
        if (work->ranks[i].run == run && number_by_tags(&numbering, (int32_t)i, error))
            return -1;
    return number_others(&numbering, error);
}
