/*
 * Ranks that lost operations or tags take their steps from the other ranks. Called by numbering.c.
 */
#include "base/base.h"
#include "join/internal.h"
#include "join/numbering.h"
#include "join/steps.h"

#include <stdlib.h>
#include <string.h>

/*
 * Whether a member lacks operations that others of its communicator have. What a recorder leaves out is
 * missing on all of them. Where numbers repeat, they cannot tell.
 */
static int has_lost(const struct work *work, const struct missing *missing, int32_t member)
{
    const struct grouping *of = &work->by_communicator;
    int32_t communicator = work->members[member].communicator;
    int lost = 0;
    for (size_t i = of->first[communicator]; i < of->first[communicator + 1]; i++) {
        const struct missing *other = &missing[of->items[i]];
        if (!work->members[of->items[i]].operations)
            continue;
        if (other->count == NUMBERS_REPEAT)
            return 0;
        lost |= missing[member].count > other->count ||
                (missing[member].count == other->count && missing[member].hash != other->hash);
    }
    return lost;
}

static int has_losses(const struct work *work, const struct missing *missing, int32_t rank)
{
    for (size_t i = work->by_rank.first[rank]; i < work->by_rank.first[rank + 1]; i++)
        if (missing[work->by_rank.items[i]].count > 0 && has_lost(work, missing, work->by_rank.items[i]))
            return 1;
    return 0;
}

/* Whether members have other collectives at the beginnings of steps. Where numbers repeat, it is unknown. */
static int disagrees(const struct work *work, const struct missing *missing, int32_t communicator)
{
    const struct grouping *of = &work->by_communicator;
    const struct missing *known = NULL;
    int differ = 0;
    for (size_t i = of->first[communicator]; i < of->first[communicator + 1]; i++) {
        const struct missing *here = &missing[of->items[i]];
        if (here->count == NUMBERS_REPEAT)
            return 0;
        if (!here->seen)
            continue;
        differ |= known && known->begins != here->begins;
        known = here;
    }
    return differ;
}

/* What is known of a rank. */
enum {
    LOST = 1,    /* it lost operations */
    SUSPECT = 2, /* its steps may be others than those of its peers */
    REPEATS = 4, /* its numbers repeat, so they do not show steps */
    LATE = 8     /* its record begins after several steps */
};

/* The ranks of a run. */
struct crowd {
    const int32_t *all;
    size_t count;
    unsigned char *known; /* owned; what is known of each */
    int any;              /* what is known of any of them */
};

static void suspect_members(struct crowd *crowd, const struct work *work, const struct missing *missing,
                            const unsigned char *apart)
{
    for (size_t i = 0; i < crowd->count; i++) {
        const struct grouping *of = &work->by_rank;
        for (size_t j = of->first[crowd->all[i]]; j < of->first[crowd->all[i] + 1]; j++) {
            int32_t member = of->items[j];
            if (apart[work->members[member].communicator])
                crowd->known[i] |= SUSPECT;
            if (missing[member].count == NUMBERS_REPEAT)
                crowd->known[i] |= REPEATS;
        }
        if (has_losses(work, missing, crowd->all[i]))
            crowd->known[i] |= LOST;
        crowd->any |= crowd->known[i];
    }
}

static int crowd_init(struct crowd *crowd, const struct work *work, int32_t run,
                      const struct missing *missing)
{
    const struct grouping *communicators = &work->communicators_of_run;
    size_t first = work->ranks_of_run.first[run];
    unsigned char *apart = array_new(work->communicator_count, 1);
    *crowd = (struct crowd){.all = work->ranks_of_run.items + first,
                            .count = work->ranks_of_run.first[run + 1] - first};
    crowd->known = array_new(crowd->count, 1);
    int failed = !apart || !crowd->known;
    for (size_t i = communicators->first[run]; !failed && i < communicators->first[run + 1]; i++)
        apart[communicators->items[i]] = (unsigned char)disagrees(work, missing, communicators->items[i]);
    if (!failed)
        suspect_members(crowd, work, missing, apart);
    free(apart);
    return failed ? -1 : 0;
}

static int ask(void *context, struct pool_worker *worker, size_t number, struct error *error)
{
    struct ranks *ranks = context;
    return step_votes_of_rank(&ranks->votes[worker - ranks->worker_pool->items], &worker->blocks,
                              &worker->work, ranks->items[number], error);
}

/* Asks the ranks in ranks->items. */
static int ask_ranks(struct ranks *ranks, size_t count, struct step_table *table, struct error *error)
{
    size_t workers = ranks->worker_pool->count;
    ranks->votes = array_new(workers, sizeof *ranks->votes);
    if (!ranks->votes)
        return error_no_memory(error);
    for (size_t i = 0; i < workers; i++)
        step_votes_init(&ranks->votes[i]);
    int failed = worker_pool_run(ranks->worker_pool, ask, ranks, count, error);
    for (size_t i = 1; !failed && i < workers; i++)
        if (step_votes_merge(&ranks->votes[0], &ranks->votes[i]))
            failed = error_no_memory(error);
    if (!failed && step_table_init(table, &ranks->votes[0]))
        failed = error_no_memory(error);
    for (size_t i = 0; i < workers; i++)
        step_votes_release(&ranks->votes[i]);
    free(ranks->votes);
    return failed;
}

/* A rank whose steps are compared with the table. */
struct comparison {
    const struct step_table *table;
    struct own_answer *answer;
    int32_t rank;
    int has_ends;      /* its steps end with those of all ranks, as far as its record reaches */
    struct map shifts; /* shift -> number of collectives */
    int64_t most;      /* of these numbers */
};

static int take_answer(void *context, const struct work *work, const struct issued_operation *issued)
{
    struct comparison *comparison = context;
    struct own_answer *answer = comparison->answer;
    int32_t own = issued->joined->step;
    int is_last;
    answer->count++;
    answer->before += answer->first < 0;
    if (step_number(issued) < 0)
        return 0;
    int32_t told =
        step_table_find(comparison->table, step_series(work, issued), step_number(issued), &is_last);
    if (told < 0)
        return 0;
    /*
     * The number of a transfer is too low if others were lost before. Where the recorder numbers them, that
     * is known (lost_pairs.c).
     */
    int is_past = told > own && own + 1 == work->ranks[comparison->rank].step_count;
    if (function_is_point_to_point(issued->function)) {
        answer->contradicts |= is_past && issued->own_number < 0;
        return 0;
    }
    answer->first = answer->first < 0 ? told : answer->first;
    answer->last = told > answer->last ? told : answer->last;
    /* The others may have fewer steps. */
    if (own == told || (is_last && own > told))
        told = own;
    else
        answer->contradicts |= is_past || !comparison->has_ends;
    int64_t *count =
        map_put(&comparison->shifts, (struct map_key){{(uint64_t)((int64_t)told - own)}}, 0, NULL);
    if (!count)
        return -1;
    if (++*count > comparison->most) {
        comparison->most = *count;
        answer->shift = told - own;
    }
    return 0;
}

static int compare(void *context, struct pool_worker *worker, size_t number, struct error *error)
{
    struct ranks *ranks = context;
    int32_t rank = ranks->items[number];
    struct comparison comparison = {.table = ranks->table,
                                    .answer = &ranks->answers[rank],
                                    .rank = rank,
                                    .has_ends = period_has_steps(&ranks->period)};
    *comparison.answer = (struct own_answer){.first = -1, .last = -1};
    map_init(&comparison.shifts);
    int failed =
        rank_pass(&worker->blocks, &worker->work, rank, PASS_READS_RESULTS, take_answer, &comparison, error);
    map_release(&comparison.shifts);
    return failed;
}

/*
 * Whether a record begins after several steps, so that what comes before its first collective is not of
 * step 0. If that is more than a step, only the first collectives were lost.
 */
static int begins_late(const struct own_answer *answer)
{
    return answer->first >= 2 && answer->before * (answer->last - answer->first + 1) <= answer->count;
}

/* A rank that is told its steps. */
struct telling {
    const struct step_table *table;
    struct missing *missing;
    int32_t latest; /* greatest step that was told so far */
    int32_t last;   /* greatest step of its collectives */
    int has_ends;   /* its own steps end with those of all ranks */
    int is_own;     /* its own steps count as well, after the shift */
    int32_t shift;
    int32_t count;
};

/*
 * Numbers of lost transfers are unknown, so what the other side tells may be wrong. Up to its last
 * collective, a rank knows from those which step it is in; a transfer may only be the first of the next one.
 */
static int32_t step_of_transfer(struct telling *telling, int32_t own, int32_t told)
{
    if (telling->latest >= telling->last)
        telling->latest = told > telling->latest ? told : telling->latest;
    else if (told == telling->latest + 1 && !(telling->has_ends && own >= telling->latest))
        return told;
    return telling->latest;
}

static int give_step(void *context, const struct work *work, const struct issued_operation *issued)
{
    struct telling *telling = context;
    int is_pair = function_is_point_to_point(issued->function), is_last;
    int32_t own = telling->is_own && issued->joined->step >= 0 ? issued->joined->step + telling->shift : -1;
    int32_t told = -1;
    if (step_number(issued) >= 0)
        told = step_table_find(telling->table, step_series(work, issued), step_number(issued), &is_last);
    if (!is_pair && told > telling->latest)
        telling->latest = told;
    /* Where the recorder numbers transfers, lost_pairs.c finds their steps. */
    if (is_pair && issued->own_number >= 0)
        told = -1;
    int32_t step = is_pair ? step_of_transfer(telling, own, told) : telling->latest;
    step = own > step ? own : step;
    issued->joined->step = !is_pair && told >= 0 ? told : step;
    if (issued->joined->step >= telling->count)
        telling->count = issued->joined->step + 1;
    telling->missing[issued->member].pairs += pair_step_hash(work, issued);
    return 0;
}

static int tell(void *context, struct pool_worker *worker, size_t number, struct error *error)
{
    const struct ranks *ranks = context;
    struct work *work = &worker->work;
    int32_t rank = ranks->items[number];
    const struct own_answer *answer = &ranks->answers[rank];
    struct telling telling = {.table = ranks->table,
                              .missing = ranks->missing,
                              .latest = begins_late(answer) ? answer->first : 0,
                              .last = answer->last,
                              .has_ends = period_has_steps(&ranks->period),
                              .is_own = work->ranks[rank].by_tags || period_has_steps(&ranks->period),
                              .shift = work->ranks[rank].by_tags ? answer->shift : 0};
    for (size_t i = work->by_rank.first[rank]; i < work->by_rank.first[rank + 1]; i++)
        ranks->missing[work->by_rank.items[i]].pairs = 0;
    int failed = rank_pass(&worker->blocks, work, rank, PASS_CHANGES_RESULTS, give_step, &telling, error);
    work->ranks[rank].step_count = telling.count;
    return failed;
}

/* Whether the table has steps of all communicators of the rank on which it has collectives. */
static int can_be_told(const struct work *work, const struct missing *missing, const struct step_table *table,
                       int32_t rank)
{
    for (size_t i = work->by_rank.first[rank]; i < work->by_rank.first[rank + 1]; i++) {
        int32_t member = work->by_rank.items[i];
        if (missing[member].seen && !step_table_has(table, work->members[member].communicator))
            return 0;
    }
    return 1;
}

/*
 * The number of steps of most ranks that have any and lost nothing; of two that are equally frequent, the
 * greater one.
 */
static int32_t usual_count(const struct work *work, const struct crowd *crowd, int64_t *counts)
{
    size_t known = 0;
    for (size_t i = 0; i < crowd->count; i++)
        if (!(crowd->known[i] & LOST) && work->ranks[crowd->all[i]].step_count >= 2)
            counts[known++] = -(int64_t)work->ranks[crowd->all[i]].step_count;
    sort_integers(counts, known);
    return known ? (int32_t)-most_frequent_integer(counts, known) : 0;
}

/*
 * Lists the ranks to ask. If all ranks share a communicator, its operations show most steps even to a rank
 * that lost some, so all are asked. Else ranks that lost nothing know the steps.
 */
static size_t list_asked(const struct work *work, const struct crowd *crowd, int32_t usual, int shares,
                         int32_t *items)
{
    size_t asked = 0;
    for (size_t i = 0; i < crowd->count; i++)
        if (!(crowd->known[i] & REPEATS) && (shares || (usual >= 2 && !(crowd->known[i] & LOST) &&
                                                        work->ranks[crowd->all[i]].step_count == usual)))
            items[asked++] = crowd->all[i];
    return asked;
}

/*
 * Compares the ranks that may have other steps than their peers, and lists those to tell. If most ranks
 * contradict the table, it is not known who is right, and only those without any steps are told.
 */
static int list_told(const struct work *work, struct ranks *ranks, struct crowd *crowd, int shares,
                     int32_t *items, size_t *told, struct error *error)
{
    size_t compared = 0, wrong = 0, with_steps = 0;
    for (size_t i = 0; i < crowd->count; i++)
        if (crowd->known[i] & (SUSPECT | LOST) && !(crowd->known[i] & REPEATS))
            items[compared++] = crowd->all[i];
    if (worker_pool_run(ranks->worker_pool, compare, ranks, compared, error))
        return -1;
    for (size_t i = 0; i < crowd->count; i++) {
        int has_steps = work->ranks[crowd->all[i]].step_count >= 2;
        if (begins_late(&ranks->answers[crowd->all[i]]))
            crowd->any |= crowd->known[i] |= LATE;
        with_steps += has_steps;
        wrong += has_steps && ranks->answers[crowd->all[i]].contradicts;
    }
    *told = 0;
    for (size_t i = 0; i < crowd->count; i++) {
        int32_t rank = crowd->all[i];
        const struct own_answer *answer = &ranks->answers[rank];
        int is_wrong = (answer->contradicts &&
                        (shares || wrong * 2 <= with_steps || work->ranks[rank].step_count < 2)) ||
                       (shares && crowd->known[i] & LATE);
        if ((is_wrong || crowd->known[i] & LOST) && !(crowd->known[i] & REPEATS) &&
            (shares || can_be_told(work, ranks->missing, ranks->table, rank)))
            items[(*told)++] = rank;
    }
    return 0;
}

/*
 * Ranks whose steps are not known or wrong take them from the others. A rank is told if it has a partner that
 * was asked in each of its communicators.
 */
static int tell_steps(struct work *work, struct ranks *ranks, struct crowd *crowd, int32_t *items,
                      struct error *error)
{
    int shares = period_has_steps(&ranks->period);
    int64_t *counts = array_new(crowd->count, sizeof *counts);
    struct step_table table = {.items = NULL};
    size_t told;
    ranks->answers = array_new(work->rank_count, sizeof *ranks->answers);
    int failed = counts && ranks->answers ? 0 : error_no_memory(error);
    if (!failed) {
        int32_t usual = usual_count(work, crowd, counts);
        failed = ask_ranks(ranks, list_asked(work, crowd, usual, shares, items), &table, error);
    }
    ranks->table = &table;
    failed = failed || list_told(work, ranks, crowd, shares, items, &told, error) ||
             worker_pool_run(ranks->worker_pool, tell, ranks, told, error);
    ranks->table = NULL;
    step_table_release(&table);
    free(ranks->answers);
    free(counts);
    return failed ? -1 : 0;
}

static int make_plans(void *context, struct pool_worker *worker, size_t number, struct error *error)
{
    struct ranks *ranks = context;
    return pair_plans_make(&ranks->plans, &worker->blocks, &worker->work, ranks->items[number], error);
}

static int apply_plans(void *context, struct pool_worker *worker, size_t number, struct error *error)
{
    struct ranks *ranks = context;
    return pair_plans_apply(&ranks->plans, &worker->blocks, &worker->work, ranks->items[number], error);
}

/* Numbers the sends and receives again, so that those that were lost do not shift the others. */
static int number_pairs(struct work *work, int32_t run, struct ranks *ranks, int32_t *items,
                        struct error *error)
{
    const struct grouping *communicators = &work->communicators_of_run;
    size_t first = work->ranks_of_run.first[run], count = work->ranks_of_run.first[run + 1] - first;
    memcpy(items, work->ranks_of_run.items + first, count * sizeof *items);
    if (pair_plans_init(&ranks->plans, work->member_count)) {
        pair_plans_release(&ranks->plans);
        return error_no_memory(error);
    }
    int failed = worker_pool_run(ranks->worker_pool, make_plans, ranks, count, error);
    for (size_t i = communicators->first[run]; !failed && i < communicators->first[run + 1]; i++)
        if (pair_plans_agree(&ranks->plans, work, communicators->items[i]))
            failed = error_no_memory(error);
    failed = failed || worker_pool_run(ranks->worker_pool, apply_plans, ranks, count, error);
    pair_plans_release(&ranks->plans);
    return failed ? -1 : 0;
}

/* Whether all sends of a run have their receives in the same step, as far as they have no numbers. */
static int are_equal(const struct work *work, int32_t run, const struct missing *missing)
{
    const struct grouping *communicators = &work->communicators_of_run, *of = &work->by_communicator;
    for (size_t i = communicators->first[run]; i < communicators->first[run + 1]; i++) {
        uint64_t sum = 0;
        int32_t communicator = communicators->items[i];
        for (size_t j = of->first[communicator]; j < of->first[communicator + 1]; j++)
            sum += missing[of->items[j]].pairs;
        if (sum)
            return 0;
    }
    return 1;
}

static int count_pairs(void *context, struct pool_worker *worker, size_t number, struct error *error)
{
    struct ranks *ranks = context;
    return pair_counts_of_rank(&ranks->counts[worker - ranks->worker_pool->items], &worker->blocks,
                               &worker->work, ranks->items[number], error);
}

static int place_pairs(void *context, struct pool_worker *worker, size_t number, struct error *error)
{
    struct ranks *ranks = context;
    return pair_counts_apply(&ranks->counts[0], &worker->blocks, &worker->work, ranks->items[number], error);
}

/* The same for sends and receives without numbers. */
static int number_unnumbered(const struct work *work, int32_t run, struct ranks *ranks, int32_t *items,
                             struct error *error)
{
    size_t first = work->ranks_of_run.first[run], count = work->ranks_of_run.first[run + 1] - first;
    size_t workers = ranks->worker_pool->count;
    memcpy(items, work->ranks_of_run.items + first, count * sizeof *items);
    ranks->counts = array_new(workers, sizeof *ranks->counts);
    if (!ranks->counts)
        return error_no_memory(error);
    for (size_t i = 0; i < workers; i++)
        pair_counts_init(&ranks->counts[i]);
    int failed = worker_pool_run(ranks->worker_pool, count_pairs, ranks, count, error);
    for (size_t i = 1; !failed && i < workers; i++)
        if (pair_counts_merge(&ranks->counts[0], &ranks->counts[i]))
            failed = error_no_memory(error);
    if (!failed && pair_counts_settle(&ranks->counts[0]))
        failed = worker_pool_run(ranks->worker_pool, place_pairs, ranks, count, error);
    for (size_t i = 0; i < workers; i++)
        pair_counts_release(&ranks->counts[i]);
    free(ranks->counts);
    return failed ? -1 : 0;
}

int period_has_steps(const struct period *period)
{
    return period->own.count >= 2 && period->end_count + 1 == period->own.count;
}

int lossy_ranks_mend(struct work *work, int32_t run, struct ranks *ranks, int32_t *items, struct error *error)
{
    struct crowd crowd;
    int failed = crowd_init(&crowd, work, run, ranks->missing) ? error_no_memory(error) : 0;
    /* Tags show steps even if operations were lost. */
    int by_tags = work->runs[run].step_source == STEPS_BY_TAGS;
    for (size_t i = 0; !failed && by_tags && i < crowd.count; i++)
        crowd.known[i] &= (unsigned char)~LOST;
    crowd.any &= by_tags ? ~LOST : crowd.any;
    if (!failed && crowd.any & (LOST | SUSPECT))
        failed = tell_steps(work, ranks, &crowd, items, error);
    if (!failed && crowd.any & (LOST | LATE))
        failed = number_pairs(work, run, ranks, items, error);
    /* Steps that each rank has by itself may begin at different transfers. */
    int are_common = by_tags || period_has_steps(&ranks->period);
    if (!failed && are_common && !are_equal(work, run, ranks->missing))
        failed = number_unnumbered(work, run, ranks, items, error);
    free(crowd.known);
    return failed ? -1 : 0;
}
