/*
 * Finds tag, step and occurrence number of every operation of a run and writes them to the store, rank by
 * rank, before instances.c joins the operations. Steps come from the program if it numbers them, else from
 * tags, else from the period of the operations.
 */
#include "join/numbering.h"
#include "base/base.h"
#include "join/internal.h"
#include "join/steps.h"

#include <stdlib.h>
#include <string.h>

/* A rank that is being numbered. */
struct numbering {
    struct work *work; /* the worker's, like `blocks` */
    struct blocks *blocks;
    const struct ranks *ranks;
    int32_t rank;
    struct series_table *series;
};

static struct numbering numbering_of(const struct ranks *ranks, struct pool_worker *worker, size_t number)
{
    int32_t rank = ranks->items[number];
    return (struct numbering){.work = &worker->work,
                              .blocks = &worker->blocks,
                              .ranks = ranks,
                              .rank = rank,
                              .series = &ranks->series[rank]};
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

/* A moment is an operation whose tag differs from that of the operation before. */
static int moments_of_operations(struct numbering *numbering, struct moments *moments, struct error *error)
{
    struct cursor cursor;
    struct issued_operation issued;
    int32_t last = -1;
    int64_t number = 0;
    int more =
        cursor_begin_rank(&cursor, numbering->blocks, numbering->work, numbering->rank, error) ? -1 : 1;
    moments->of_operations = 1;
    for (; more == 1 && (more = cursor_next(&cursor, &issued, error)) == 1; number++) {
        if (issued.tag < 0 || issued.tag == last)
            continue;
        last = issued.tag;
        if (moments_add(moments, (uint64_t)last + 1, number))
            more = error_no_memory(error);
    }
    cursor_end(&cursor);
    return more;
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
        span->begins +=
            hash_mix(hash_mix((uint64_t)span->steps, (uint64_t)issued->sequence), issued->function);
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
    joined->step = run->step_source == STEPS_TOLD ? told_step(run, issued) : step_next(locator, work, issued);
    joined->number = series_number(numbering->series, issued);
    if (joined->step >= *step_count)
        *step_count = joined->step + 1;
}

static int load_marks(const struct numbering *numbering, struct error *error)
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
    if (load_marks(numbering, error))
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

static int number_rank(struct numbering *numbering, struct step_locator locator, struct error *error)
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

/* Each worker has its own numbers of texts. 0: no text. */
static int find_symbol(struct numbering *numbering, const char *text, uint64_t *symbol, struct error *error)
{
    int64_t number = text ? intern_put(&numbering->work->texts, text, strlen(text)) : 0;
    *symbol = text ? (uint64_t)number + 1 : 0;
    return number < 0 ? error_no_memory(error) : 0;
}

/* Finds the tags that show the steps, if there are any. */
static int find_moments(struct numbering *numbering, struct moments *moments, struct error *error)
{
    if (load_marks(numbering, error))
        return -1;
    if (moments_of_marks(moments, numbering->work, numbering->rank))
        return error_no_memory(error);
    if (moments->count || !carries_tags(numbering->work, numbering->rank))
        return 0;
    return find_symbol(numbering, numbering->ranks->begin, &moments->begin, error) ||
           moments_of_operations(numbering, moments, error);
}

static int number_by_tags(void *context, struct pool_worker *worker, size_t number, struct error *error)
{
    struct ranks *ranks = context;
    struct numbering numbering = numbering_of(ranks, worker, number);
    struct moments moments = {.count = 0};
    struct step_locator locator = {.times = NULL};
    int failed = find_moments(&numbering, &moments, error);
    if (!failed && moments.count >= 2 && steps_from_tags(&moments, &locator))
        failed = error_no_memory(error);
    moments_release(&moments);
    if (!failed && locator.time_count + locator.start_count >= 2) {
        worker->work.ranks[numbering.rank].by_tags = 1;
        failed = number_rank(&numbering, locator, error);
    }
    free(locator.times);
    free(locator.starts);
    return failed;
}

/*
 * The rank of the run with most operations; of several, the one with the lowest global rank; -1: no
 * operations.
 */
static int32_t busiest_rank(const struct work *work, int32_t run)
{
    int32_t best = -1;
    size_t most = 0;
    for (size_t i = work->ranks_of_run.first[run]; i < work->ranks_of_run.first[run + 1]; i++) {
        int32_t rank = work->ranks_of_run.items[i];
        size_t count = count_operations(work, rank);
        if (count > most ||
            (best >= 0 && count == most && work->ranks[rank].global_rank < work->ranks[best].global_rank)) {
            best = rank;
            most = count;
        }
    }
    return best;
}

static int number_alone(struct numbering *numbering, struct error *error)
{
    struct own_steps own;
    int failed =
        steps_from_period(numbering->blocks, numbering->work, numbering->rank,
                          count_operations(numbering->work, numbering->rank), &own, error) ||
        number_rank(numbering, (struct step_locator){.starts = own.starts, .start_count = own.count}, error);
    own_steps_release(&own);
    return failed ? -1 : 0;
}

/*
 * Whether the steps of a rank can be used although operations are missing. If all ranks lack the same ones, a
 * filter left them out, and the rest still repeats. Not if a step has only one operation: then it is unknown
 * which of several it is.
 */
static int is_enough(const struct own_steps *own)
{
    return own->count >= 2 && own->starts[own->count - 1] - own->starts[0] >= 2 * (own->count - 1);
}

/*
 * Layers and buckets repeat within a step. If a filter left out an operation of each step, its number is
 * missing once in several of these cycles, which shows how many of them are a step.
 */
static int are_parts(const struct own_steps *own, size_t by_filter)
{
    return by_filter >= 2 && own->count >= 2 * by_filter;
}

/* If the rank lost operations, the operations of all ranks together show the steps better than its own. */
static int find_shared(struct pool_worker *worker, int32_t rank, struct period *period, struct error *error)
{
    int lost = 0, more = 0;
    size_t by_filter = 0;
    for (size_t i = 0; !lost && i < period->shared.count; i++)
        if (steps_have_losses(&worker->blocks, &worker->work, rank, period->shared.items[i], &lost, error))
            return -1;
    if (!lost && period->own.count >= 2)
        return 0;
    if (steps_from_shared(&worker->blocks, &worker->work, rank, &period->shared, &period->ends,
                          &period->end_count, &more, &by_filter, error))
        return -1;
    if (!more && is_enough(&period->own) && !are_parts(&period->own, by_filter))
        period->end_count = 0;
    if (period->end_count)
        period->own.count = period->end_count + 1;
    return 0;
}

/*
 * Finds the ends of steps on the communicators that all ranks share. If some are missing, their count does
 * not fit the steps.
 */
static int find_ends(struct pool_worker *worker, int32_t rank, struct period *period, struct error *error)
{
    free(period->ends);
    period->ends = NULL;
    period->end_count = 0;
    if (find_shared(worker, rank, period, error))
        return -1;
    if (period->own.count < 2 || period->end_count)
        return 0;
    free(period->ends);
    return steps_find_ends(&worker->blocks, &worker->work, rank, &period->own, &period->shared, &period->ends,
                           &period->end_count, error);
}

/*
 * The communicator with as many ranks as the world that comes next by hash, so that the order of files does
 * not matter; `after` -1: the first. -1: none. The world itself may have only sends and receives, which have
 * no numbers.
 */
static int32_t next_alike(const struct work *work, int32_t world, int32_t after)
{
    const struct work_communicator *like = &work->communicators[world];
    const struct grouping *of = &work->communicators_of_run;
    int32_t next = -1;
    for (size_t at = of->first[like->run]; at < of->first[like->run + 1]; at++) {
        int32_t i = of->items[at];
        const struct work_communicator *here = &work->communicators[i];
        uint64_t hash = (uint64_t)here->hash;
        if (here->member_count == like->member_count &&
            (after < 0 || hash > (uint64_t)work->communicators[after].hash) &&
            (next < 0 || hash < (uint64_t)work->communicators[next].hash))
            next = i;
    }
    return next;
}

/*
 * If a rank was replaced by another, no communicator has all ranks, but several that follow each other may
 * have them together.
 */
static int find_without_world(struct pool_worker *worker, int32_t run, int32_t rank, struct period *period,
                              struct error *error)
{
    const struct work *work = &worker->work;
    int32_t widest = shared_widest(work, rank, period->own.lives);
    int holds_all = 0;
    if (widest < 0)
        return 0;
    if (shared_list(&period->shared, work, rank, period->own.lives, widest) ||
        communicators_cover_run(&period->shared, work, run, &holds_all))
        return error_no_memory(error);
    return holds_all ? find_ends(worker, rank, period, error) : 0;
}

static int find_period(struct pool_worker *worker, int32_t run, struct period *period, struct error *error)
{
    enum { MOST_ALIKE = 4 }; /* a limit on what a trace may claim */
    const struct work *work = &worker->work;
    int32_t rank = busiest_rank(work, run), world = work->runs[run].world;
    if (rank < 0)
        return 0;
    if (steps_from_period(&worker->blocks, work, rank, count_operations(work, rank), &period->own, error))
        return -1;
    if (world < 0)
        return find_without_world(worker, run, rank, period, error);
    int32_t shared = next_alike(work, world, -1);
    for (int i = 0; i < MOST_ALIKE && shared >= 0 && !period_has_steps(period); i++) {
        if (shared_list(&period->shared, work, rank, period->own.lives, shared))
            return error_no_memory(error);
        if (find_ends(worker, rank, period, error))
            return -1;
        shared = next_alike(work, world, shared);
    }
    return 0;
}

/* If no communicators are shared by all ranks, each rank uses its own period. */
static int number_by_period(void *context, struct pool_worker *worker, size_t number, struct error *error)
{
    const struct ranks *ranks = context;
    const struct period *period = &ranks->period;
    struct numbering numbering = numbering_of(ranks, worker, number);
    struct step_locator locator = {.shared = &period->shared};
    int has_world = worker->work.runs[worker->work.ranks[numbering.rank].run].world >= 0;
    if (has_world && period->own.count < 2)
        return number_rank(&numbering, locator, error);
    if (!period_has_steps(period))
        return number_alone(&numbering, error);
    locator.ends = period->ends;
    locator.end_count = period->end_count;
    return number_rank(&numbering, locator, error);
}

/* The first tag of a rank. */
struct first_tag {
    const char *text; /* text of the first worker; NULL: none */
    size_t operations;
};

static int find_first_tag(struct ranks *ranks, int32_t rank, struct first_tag *first, struct error *error)
{
    struct pool_worker *worker = &ranks->worker_pool->items[0];
    struct cursor cursor;
    struct issued_operation issued = {.tag = -1};
    int more = cursor_begin_rank(&cursor, &worker->blocks, &worker->work, rank, error) ? -1 : 1;
    while (more == 1 && issued.tag < 0)
        more = cursor_next(&cursor, &issued, error);
    first->text = more == 1 ? intern_text(&worker->work.texts, issued.tag) : NULL;
    first->operations = count_operations(&worker->work, rank);
    cursor_end(&cursor);
    return more < 0 ? -1 : 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct first_tag *)a)->text, ((const struct first_tag *)b)->text);
}

/* The tag of most ranks; if equal, of ranks with more operations, which lost fewer. */
static const char *usual_first(const struct first_tag *sorted, size_t count)
{
    const char *usual = NULL;
    size_t most_ranks = 0, most_operations = 0;
    for (size_t i = 0, end; i < count; i = end) {
        size_t operations = 0;
        for (end = i; end < count && strcmp(sorted[end].text, sorted[i].text) == 0; end++)
            operations += sorted[end].operations;
        if (end - i < most_ranks || (end - i == most_ranks && operations <= most_operations))
            continue;
        usual = sorted[i].text;
        most_ranks = end - i;
        most_operations = operations;
    }
    return usual;
}

/* Finds the tag that most ranks with tags begin with. A single rank may have lost its first operations. */
static int find_begin(struct ranks *ranks, size_t count, struct error *error)
{
    struct first_tag *firsts = array_new(count, sizeof *firsts);
    size_t found = 0;
    int failed = firsts ? 0 : error_no_memory(error);
    for (size_t i = 0; !failed && i < count; i++) {
        if (!carries_tags(&ranks->worker_pool->items[0].work, ranks->items[i]))
            continue;
        failed = find_first_tag(ranks, ranks->items[i], &firsts[found], error);
        found += !failed && firsts[found].text;
    }
    if (!failed) {
        array_sort(firsts, found, sizeof *firsts, by_text);
        ranks->begin = usual_first(firsts, found);
    }
    free(firsts);
    return failed;
}

/* Stores the ranks of a run that are not numbered yet in `items`. */
static size_t list_ranks(const struct work *work, int32_t run, int32_t *items)
{
    size_t count = 0;
    for (size_t i = work->ranks_of_run.first[run]; i < work->ranks_of_run.first[run + 1]; i++)
        if (!work->ranks[work->ranks_of_run.items[i]].is_numbered)
            items[count++] = work->ranks_of_run.items[i];
    return count;
}

/* The program numbers its steps. */
static int number_as_told(void *context, struct pool_worker *worker, size_t number, struct error *error)
{
    struct numbering numbering = numbering_of(context, worker, number);
    return number_rank(&numbering, (struct step_locator){.times = NULL}, error);
}

/* First the ranks whose tags show their steps, then the others. */
static int number_untold(struct work *work, int32_t run, struct ranks *ranks, int32_t *items,
                         struct error *error)
{
    struct work_run *of = &work->runs[run];
    const int32_t *first = work->ranks_of_run.items + work->ranks_of_run.first[run];
    const int32_t *end = work->ranks_of_run.items + work->ranks_of_run.first[run + 1];
    size_t count = list_ranks(work, run, items);
    if (find_begin(ranks, count, error) ||
        worker_pool_run(ranks->worker_pool, number_by_tags, ranks, count, error))
        return -1;
    for (const int32_t *rank = first; rank < end; rank++)
        if (work->ranks[*rank].by_tags)
            of->step_source = STEPS_BY_TAGS;
    if (of->step_source == STEPS_NONE &&
        find_period(&ranks->worker_pool->items[0], run, &ranks->period, error))
        return -1;
    if (ranks->period.own.count >= 2)
        of->step_source = STEPS_BY_PERIOD;
    if (worker_pool_run(ranks->worker_pool, number_by_period, ranks, list_ranks(work, run, items), error))
        return -1;
    return 0;
}

static int number_all(struct work *work, int32_t run, struct ranks *ranks, int32_t *items,
                      struct error *error)
{
    struct work_run *of = &work->runs[run];
    if (of->step_source == STEPS_TOLD)
        return worker_pool_run(ranks->worker_pool, number_as_told, ranks, list_ranks(work, run, items),
                               error);
    if (number_untold(work, run, ranks, items, error) || lossy_ranks_mend(work, run, ranks, items, error))
        return -1;
    for (size_t i = work->ranks_of_run.first[run]; i < work->ranks_of_run.first[run + 1]; i++)
        if (work->ranks[work->ranks_of_run.items[i]].step_count > of->step_count)
            of->step_count = work->ranks[work->ranks_of_run.items[i]].step_count;
    if (of->step_source == STEPS_NONE && of->step_count >= 2)
        of->step_source = STEPS_BY_PERIOD;
    return 0;
}

int run_number(struct work *work, int32_t run, struct worker_pool *pool, struct series_table *series,
               struct error *error)
{
    size_t count = work->ranks_of_run.first[run + 1] - work->ranks_of_run.first[run];
    int32_t *items = array_new(count, sizeof *items);
    struct ranks ranks = {.worker_pool = pool,
                          .items = items,
                          .series = series,
                          .missing = array_new(work->member_count, sizeof *ranks.missing)};
    int failed =
        items && ranks.missing ? number_all(work, run, &ranks, items, error) : error_no_memory(error);
    free(ranks.missing);
    own_steps_release(&ranks.period.own);
    free(ranks.period.ends);
    free(items);
    return failed;
}
