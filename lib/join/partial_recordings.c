/*
 * Aligns the ranks of recordings that cover only part of a job and have no sequence numbers, such as those of
 * PyTorch's profiler. Finds a place (the cut) that is the same in the operations of all ranks, and sets the
 * numbers at which the operations of each member start. Runs before numbering.c.
 */
#include "base/base.h"
#include "join/internal.h"
#include "model/model.h"
#include "store/store.h"

#include <stdlib.h>

enum {
    COLLECTIVES_MOST = 2048, /* the most collectives that are compared, per member */
    SHIFTS_EACH_WAY = 64,    /* shifts tried on each side of the one that the clocks suggest */
    TIMES_BETTER = 4         /* how many times better the right order must fit the clocks than any other */
};

struct collective {
    int64_t end_ns;
    uint64_t what; /* hash of function and size */
};

/* The first collectives of a member. */
struct record {
    struct collective *items; /* owned */
    size_t count;
    int32_t rank;
    int64_t shift; /* index of its first collective in the reference */
};

struct records {
    struct record *items; /* owned */
    size_t count;
    const struct record *reference;
};

static int read_block(struct record *record, size_t *capacity, struct operation_rows *rows,
                      struct error *error)
{
    static const int column = OPERATION_DEVICE_END;
    const struct block_reader *reader = &rows->reader;
    if (stored_block_unpack(&rows->reader, rows->block_id, &column, 1, error))
        return -1;
    for (size_t i = 0; i < reader->count && record->count < COLLECTIVES_MOST; i++) {
        size_t row = rows->order[i];
        enum function function = (enum function)reader->values[OPERATION_FUNCTION][row];
        if (function_is_point_to_point(function))
            continue;
        if (array_reserve((void **)&record->items, capacity, record->count + 1, sizeof *record->items))
            return error_no_memory(error);
        record->items[record->count++] = (struct collective){
            block_value(reader, OPERATION_DEVICE_END, row, TIME_UNKNOWN),
            hash_mix((uint64_t)function, (uint64_t)block_value(reader, OPERATION_BYTES, row, COUNT_UNKNOWN))};
    }
    return 0;
}

static int read_record(struct record *record, const struct work *work, int32_t member, struct blocks *blocks,
                       struct error *error)
{
    struct block_place *places = NULL;
    size_t count = 0, capacity = 0;
    struct operation_rows *rows = operation_rows_new();
    int failed = rows ? 0 : error_no_memory(error);
    record->rank = work->members[member].job_rank;
    failed = failed || blocks_list(blocks, work->members[member].id, &places, &count, error);
    for (size_t i = 0; !failed && i < count && record->count < COLLECTIVES_MOST; i++) {
        rows->member = member;
        failed =
            blocks_read(blocks, places[i].id, 0, rows, error) || read_block(record, &capacity, rows, error);
    }
    operation_rows_free(rows);
    free(places);
    return failed ? -1 : 0;
}

/* The reference is the record with most collectives. */
static int read_records(struct records *records, const struct work *work, int32_t communicator,
                        struct blocks *blocks, struct error *error)
{
    const struct grouping *of = &work->by_communicator;
    size_t first = of->first[communicator], count = of->first[communicator + 1] - first;
    records->items = array_new(count, sizeof *records->items);
    if (!records->items)
        return error_no_memory(error);
    for (records->count = 0; records->count < count;) {
        struct record *record = &records->items[records->count++];
        if (read_record(record, work, of->items[first + records->count - 1], blocks, error))
            return -1;
        if (!records->reference || record->count > records->reference->count)
            records->reference = record;
    }
    return 0;
}

static void records_release(struct records *records)
{
    for (size_t i = 0; i < records->count; i++)
        free(records->items[i].items);
    free(records->items);
}

/* Whether at least half of the shorter record is in both. */
static int is_enough(const struct record *record, const struct record *reference, size_t both)
{
    size_t least = record->count < reference->count ? record->count : reference->count;
    return both > 0 && both * 2 >= least;
}

/*
 * The average time between the ends in the two records; -1: the order does not fit, or too few collectives
 * are in both.
 */
static int64_t distance(const struct record *record, const struct record *reference, int64_t shift)
{
    size_t both = 0, timed = 0;
    double sum = 0;
    for (size_t i = shift < 0 ? (size_t)-shift : 0; i < record->count; i++) {
        size_t at = (size_t)((int64_t)i + shift);
        if (at >= reference->count)
            break;
        if (record->items[i].what != reference->items[at].what)
            return -1;
        both++;
        if (record->items[i].end_ns == TIME_UNKNOWN || reference->items[at].end_ns == TIME_UNKNOWN)
            continue;
        double apart = (double)record->items[i].end_ns - (double)reference->items[at].end_ns;
        sum += apart < 0 ? -apart : apart;
        timed++;
    }
    if (!timed || !is_enough(record, reference, both))
        return -1;
    return scale(1, sum / (double)timed);
}

/* The shift at which the record's first known end is nearest to an end in the reference. */
static int64_t nearest(const struct record *record, const struct record *reference)
{
    size_t first = 0, best = 0;
    while (first < record->count && record->items[first].end_ns == TIME_UNKNOWN)
        first++;
    if (first == record->count)
        return 0;
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < reference->count; i++) {
        if (reference->items[i].end_ns == TIME_UNKNOWN)
            continue;
        int64_t apart = reference->items[i].end_ns - record->items[first].end_ns;
        apart = apart < 0 ? -apart : apart;
        if (apart < least) {
            least = apart;
            best = i;
        }
    }
    return (int64_t)best - (int64_t)first;
}

/* 1 if one shift is clearly better than all others. */
static int find_shift(struct record *record, const struct record *reference)
{
    int64_t middle = nearest(record, reference), best = -1, second = -1;
    for (int64_t shift = middle - SHIFTS_EACH_WAY; shift <= middle + SHIFTS_EACH_WAY; shift++) {
        int64_t apart = distance(record, reference, shift);
        if (apart < 0)
            continue;
        if (best < 0 || apart < best) {
            second = best;
            best = apart;
            record->shift = shift;
        } else if (second < 0 || apart < second) {
            second = apart;
        }
    }
    return best >= 0 && (second < 0 || best < second / TIMES_BETTER);
}

/* Stores the first collective that all records have; 0: there is none. */
static int place_all(const struct records *records, int64_t *places)
{
    int64_t common = 0;
    for (size_t i = 0; i < records->count; i++)
        common = records->items[i].shift > common ? records->items[i].shift : common;
    for (size_t i = 0; i < records->count; i++) {
        const struct record *record = &records->items[i];
        int64_t place = common - record->shift;
        if (place >= (int64_t)record->count)
            return 0;
        places[record->rank] = place;
    }
    return 1;
}

/*
 * Finds the first collective that all members of a communicator have, by the times at which they ended. Ranks
 * end a collective at the same time, as far as their clocks agree, and the order of functions and sizes must
 * fit. If another order would fit almost as well, there is no result.
 *
 * `places` gets the index of that collective among those of its rank, by job rank. 1; 0 if not clear; -1 on
 * error.
 */
static int overlap_find(const struct work *work, int32_t communicator, struct blocks *blocks, int64_t *places,
                        struct error *error)
{
    struct records records = {.count = 0};
    int failed = read_records(&records, work, communicator, blocks, error);
    int is_clear = !failed && records.reference && records.reference->count > 0;
    for (size_t i = 0; i < records.count && is_clear; i++)
        is_clear = find_shift(&records.items[i], records.reference);
    is_clear = is_clear && place_all(&records, places);
    records_release(&records);
    return failed ? -1 : is_clear;
}

/*
 * Steps without any recorded operation are rare. Step numbers that would give more steps per operation are
 * ignored.
 */
enum { STEPS_OF_AN_OPERATION = 64 };

/*
 * From this number on, steps are counted from the last multiple of it, so that earlier steps take no memory.
 */
enum { FEW_STEPS = 100 };

/* Steps and numbers in the records of a rank. */
struct rank_survey {
    size_t operations;
    size_t without_number;
    int64_t first_step; /* -1: the program does not number steps */
    int64_t last_step;
};

/* Numbers in the records of a member. */
struct member_survey {
    int64_t first_sequence; /* smallest recorded sequence number; -1: a collective has none */
    size_t collectives;
    struct numbers *before; /* owned: how many operations of each kind come before the cut */
};

/* How the cut is defined: the same place in the operations of every rank. */
enum cut_kind { CUT_NOWHERE, CUT_BY_STEP, CUT_BY_SEQUENCE, CUT_BY_PLACE };

struct windows {
    struct work *work;
    int32_t run;
    const int32_t *ranks; /* the ranks of the run */
    size_t rank_count;
    struct rank_survey *of_ranks;     /* owned; one for each rank of the work */
    struct member_survey *of_members; /* owned; one for each member of the work */
    /* owned; for each communicator a recorded number that all its members have; -1: none */
    int64_t *sequences;
    enum cut_kind cut;
    int64_t value;        /* of the cut: a step, or a number on the communicator */
    int32_t communicator; /* the communicator of the cut; all ranks are in it */
    int64_t *places;      /* owned; for each rank, the index of the cut among its collectives there */
};

static int is_collective(const struct issued_operation *issued)
{
    return !function_is_point_to_point((enum function)issued->function);
}

/*
 * The recorded number of a collective on its communicator, from the program or else from the recorder; -1:
 * none.
 */
static int64_t number_of(const struct issued_operation *issued)
{
    return issued->told_sequence >= 0 ? issued->told_sequence : issued->sequence;
}

static void survey_member(struct member_survey *member, const struct issued_operation *issued)
{
    if (function_is_point_to_point((enum function)issued->function))
        return;
    if (!member->collectives++)
        member->first_sequence = number_of(issued);
    else if (number_of(issued) < 0)
        member->first_sequence = -1;
    else if (member->first_sequence > number_of(issued))
        member->first_sequence = number_of(issued);
}

static void survey_operation(struct windows *windows, struct rank_survey *rank,
                             const struct issued_operation *issued)
{
    rank->operations++;
    rank->without_number += issued->sequence < 0;
    if (issued->told_step >= 0 && (rank->first_step < 0 || issued->told_step < rank->first_step))
        rank->first_step = issued->told_step;
    if (issued->told_step > rank->last_step)
        rank->last_step = issued->told_step;
    survey_member(&windows->of_members[issued->member], issued);
}

static int survey_rank(void *context, struct pool_worker *worker, size_t number, struct error *error)
{
    struct windows *windows = context;
    int32_t rank = windows->ranks[number];
    struct rank_survey *extent = &windows->of_ranks[rank];
    struct cursor cursor;
    struct issued_operation issued;
    *extent = (struct rank_survey){.first_step = -1, .last_step = -1};
    int more = cursor_begin_rank(&cursor, &worker->blocks, &worker->work, rank, error) ? -1 : 1;
    while (more == 1 && (more = cursor_next(&cursor, &issued, error)) == 1)
        survey_operation(windows, extent, &issued);
    cursor_end(&cursor);
    return more;
}

/*
 * Whether an operation is at the cut or after it. `collectives`: how many on the cut's communicator came
 * before it.
 */
static int is_cut(const struct windows *windows, const struct issued_operation *issued, int64_t collectives)
{
    const struct work_member *member = &windows->work->members[issued->member];
    int is_there = member->communicator == windows->communicator && is_collective(issued);
    switch (windows->cut) {
    case CUT_BY_STEP:
        return issued->told_step >= windows->value;
    case CUT_BY_SEQUENCE:
        return is_there && number_of(issued) >= windows->value;
    case CUT_BY_PLACE:
        return is_there && collectives >= windows->places[member->job_rank];
    default:
        return 1;
    }
}

/*
 * Whether an operation comes before the cut. The numbers of its own communicator take precedence over its
 * place.
 */
static int comes_before(const struct windows *windows, const struct issued_operation *issued, int is_past)
{
    int64_t sequence = windows->sequences[windows->work->members[issued->member].communicator];
    return is_collective(issued) && sequence >= 0 ? number_of(issued) < sequence : !is_past;
}

static int count_operation(struct numbers *before, const struct issued_operation *issued)
{
    static const struct numbers none;
    int64_t number = numbers_next(&none, before, issued->function, issued->peer);
    if (!is_collective(issued) && number >= before->most_pairs)
        before->most_pairs = number + 1;
    return number < 0 ? -1 : 0;
}

static int count_rank(void *context, struct pool_worker *worker, size_t number, struct error *error)
{
    struct windows *windows = context;
    int64_t collectives = 0;
    int is_past = 0;
    struct cursor cursor;
    struct issued_operation issued;
    int more =
        cursor_begin_rank(&cursor, &worker->blocks, &worker->work, windows->ranks[number], error) ? -1 : 1;
    while (more == 1 && (more = cursor_next(&cursor, &issued, error)) == 1) {
        const struct work_member *member = &windows->work->members[issued.member];
        is_past = is_past || is_cut(windows, &issued, collectives);
        collectives += member->communicator == windows->communicator && is_collective(&issued);
        if (comes_before(windows, &issued, is_past) &&
            count_operation(windows->of_members[issued.member].before, &issued))
            more = error_no_memory(error);
    }
    cursor_end(&cursor);
    return more;
}

/* Step numbers of the program: those that some rank has, and those that all ranks have. */
struct told_steps {
    int64_t first;
    int64_t last;
    int64_t first_of_all;
    int64_t last_of_all;
};

/* 0: a rank has no step numbers, or they are implausible. */
static int find_told_steps(const struct windows *windows, struct told_steps *steps)
{
    size_t most = 0;
    *steps = (struct told_steps){INT64_MAX, -1, -1, INT64_MAX};
    for (size_t i = 0; i < windows->rank_count; i++) {
        const struct rank_survey *rank = &windows->of_ranks[windows->ranks[i]];
        if (!rank->operations)
            continue;
        if (rank->first_step < 0)
            return 0;
        most = rank->operations > most ? rank->operations : most;
        steps->first = rank->first_step < steps->first ? rank->first_step : steps->first;
        steps->last = rank->last_step > steps->last ? rank->last_step : steps->last;
        steps->first_of_all = rank->first_step > steps->first_of_all ? rank->first_step : steps->first_of_all;
        steps->last_of_all = rank->last_step < steps->last_of_all ? rank->last_step : steps->last_of_all;
    }
    /* Cost must be in proportion to what a trace contains. */
    return steps->last >= 0 &&
           (uint64_t)(steps->last - steps->first) < STEPS_OF_AN_OPERATION * (uint64_t)most;
}

/* Uses the program's step numbers. From the first step that all ranks have, their operations are the same. */
static void take_told_steps(struct windows *windows, const struct told_steps *steps)
{
    struct work_run *run = &windows->work->runs[windows->run];
    run->step_base = steps->first < FEW_STEPS ? 0 : steps->first - steps->first % FEW_STEPS;
    run->first_step = (int32_t)(steps->first - run->step_base);
    run->step_count = (int32_t)(steps->last - run->step_base + 1);
    run->step_source = STEPS_TOLD;
    windows->cut = steps->first_of_all <= steps->last_of_all ? CUT_BY_STEP : CUT_NOWHERE;
    windows->value = steps->first_of_all;
}

/* The greatest of the members' first numbers; -1: a member has no numbers. */
static int64_t common_sequence(const struct windows *windows, int32_t communicator)
{
    const struct grouping *of = &windows->work->by_communicator;
    int64_t first = 0;
    for (size_t i = of->first[communicator]; i < of->first[communicator + 1]; i++) {
        const struct member_survey *member = &windows->of_members[of->items[i]];
        if (!member->collectives)
            continue;
        if (member->first_sequence < 0)
            return -1;
        first = member->first_sequence > first ? member->first_sequence : first;
    }
    return first;
}

static void find_sequences(const struct windows *windows)
{
    const struct grouping *of = &windows->work->communicators_of_run;
    for (size_t i = of->first[windows->run]; i < of->first[windows->run + 1]; i++)
        windows->sequences[of->items[i]] = common_sequence(windows, of->items[i]);
}

static int choose_cut(struct windows *windows, struct worker_pool *pool, struct error *error)
{
    const struct work_run *run = &windows->work->runs[windows->run];
    struct told_steps steps;
    windows->communicator = run->world;
    if (find_told_steps(windows, &steps)) {
        take_told_steps(windows, &steps);
        return 0;
    }
    if (run->world < 0)
        return 0;
    windows->value = windows->sequences[run->world];
    if (windows->value >= 0) {
        windows->cut = CUT_BY_SEQUENCE;
        return 0;
    }
    int found = overlap_find(windows->work, run->world, &pool->items[0].blocks, windows->places, error);
    windows->cut = found == 1 ? CUT_BY_PLACE : CUT_NOWHERE;
    return found < 0 ? -1 : 0;
}

static void raise(int64_t *most, int64_t value)
{
    *most = value > *most ? value : *most;
}

/*
 * For each kind, the most operations that a member has before the cut. The operations after the cut are
 * numbered from there.
 */
static void find_most(const struct windows *windows, int32_t communicator, struct numbers *most)
{
    const struct grouping *of = &windows->work->by_communicator;
    for (size_t i = of->first[communicator]; i < of->first[communicator + 1]; i++) {
        const struct numbers *before = windows->of_members[of->items[i]].before;
        for (int function = 0; function < FUNCTION_COUNT; function++)
            raise(&most->collectives[function], before->collectives[function]);
        raise(&most->most_pairs, before->most_pairs);
    }
}

/* The distance between the numbers of members if it is unknown which of their operations are the same. */
static const int64_t apart = INT64_C(1) << 40;

/* Changes the counts before the cut to the numbers at which the operations start. */
static void number_from(const struct windows *windows, int32_t communicator, const struct numbers *most,
                        int64_t place, struct numbers *numbers)
{
    int is_joined = windows->cut != CUT_NOWHERE;
    int64_t beyond = is_joined ? 0 : place * apart;
    for (int function = 0; function < FUNCTION_COUNT; function++)
        numbers->collectives[function] = most->collectives[function] - numbers->collectives[function] +
                                         (windows->sequences[communicator] < 0 ? beyond : 0);
    numbers->most_pairs = most->most_pairs + beyond;
}

static void number_members(struct windows *windows, int32_t communicator)
{
    const struct grouping *of = &windows->work->by_communicator;
    struct numbers most = {.most_pairs = 0};
    find_most(windows, communicator, &most);
    for (size_t i = of->first[communicator]; i < of->first[communicator + 1]; i++) {
        struct work_member *member = &windows->work->members[of->items[i]];
        struct numbers **before = &windows->of_members[of->items[i]].before;
        if (!windows->of_ranks[member->job_rank].without_number)
            continue;
        number_from(windows, communicator, &most, (int64_t)(i - of->first[communicator]), *before);
        member->first_numbers = *before;
        *before = NULL;
    }
}

static int init(struct windows *windows, struct error *error)
{
    const struct work *work = windows->work;
    windows->of_ranks = array_new(work->rank_count, sizeof *windows->of_ranks);
    windows->of_members = array_new(work->member_count, sizeof *windows->of_members);
    windows->sequences = array_new(work->communicator_count, sizeof *windows->sequences);
    windows->places = array_new(work->rank_count, sizeof *windows->places);
    int failed = !windows->of_ranks || !windows->of_members || !windows->sequences || !windows->places;
    for (size_t i = 0; !failed && i < windows->rank_count; i++)
        for (size_t j = work->by_rank.first[windows->ranks[i]];
             !failed && j < work->by_rank.first[windows->ranks[i] + 1]; j++)
            failed = !(windows->of_members[work->by_rank.items[j]].before = numbers_new());
    return failed ? error_no_memory(error) : 0;
}

static void release(struct windows *windows)
{
    for (size_t i = 0; windows->of_members && i < windows->work->member_count; i++)
        numbers_free(windows->of_members[i].before);
    free(windows->of_ranks);
    free(windows->of_members);
    free(windows->sequences);
    free(windows->places);
}

/* Whether a rank has operations without numbers. */
static int has_windows(const struct windows *windows)
{
    for (size_t i = 0; i < windows->rank_count; i++)
        if (windows->of_ranks[windows->ranks[i]].without_number)
            return 1;
    return 0;
}

static int align(struct windows *windows, struct worker_pool *pool, struct error *error)
{
    const struct grouping *of = &windows->work->communicators_of_run;
    if (init(windows, error) || worker_pool_run(pool, survey_rank, windows, windows->rank_count, error))
        return -1;
    if (!has_windows(windows))
        return 0;
    find_sequences(windows);
    if (choose_cut(windows, pool, error) ||
        worker_pool_run(pool, count_rank, windows, windows->rank_count, error))
        return -1;
    for (size_t i = of->first[windows->run]; i < of->first[windows->run + 1]; i++)
        number_members(windows, of->items[i]);
    return 0;
}

/* Only recorders that do not know NCCL's communicator hash can lack numbers. */
static int may_have_windows(const struct work *work, int32_t run)
{
    const struct grouping *of = &work->communicators_of_run;
    for (size_t i = of->first[run]; i < of->first[run + 1]; i++)
        if (work->communicators[of->items[i]].is_named)
            return 1;
    return 0;
}

int run_align_windows(struct work *work, int32_t run, struct worker_pool *pool, struct error *error)
{
    const struct grouping *ranks = &work->ranks_of_run;
    struct windows windows = {.work = work,
                              .run = run,
                              .ranks = ranks->items + ranks->first[run],
                              .rank_count = ranks->first[run + 1] - ranks->first[run]};
    if (!may_have_windows(work, run))
        return 0;
    int failed = align(&windows, pool, error);
    release(&windows);
    return failed;
}
