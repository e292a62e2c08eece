/*
 * Indexes of operations and instances by step, missing records in sequences, and pipeline stages. Made at the
 * end of loading.
 */
#include "base/base.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include <stdlib.h>

/* Indexes by step, for analyses that examine few steps of a long run many times. */

/* Limits of tables of ranks by steps: cells per operation, and a number that is always allowed. */
enum { CELLS_AN_OPERATION = 64, CELLS_ALWAYS = 1 << 24 };

int job_steps_are_sparse(const struct job *job, int64_t operations)
{
    uint64_t cells = (uint64_t)job->rank_count * (uint64_t)(job->step_count < 0 ? -1 : job->step_count);
    return cells > CELLS_ALWAYS + CELLS_AN_OPERATION * (uint64_t)operations;
}

void job_ignore_sparse_steps(struct job *job)
{
    /* Excerpts were chosen from steps that had been accepted. */
    if (job->excerpt_count || !job_steps_are_sparse(job, (int64_t)job->operation_count))
        return;
    job->step_count = job->first_step = 0;
    for (size_t i = 0; i < job->operation_count; i++)
        job->operations[i].step = -1;
    for (size_t i = 0; i < job->instance_count; i++)
        job->instances[i].step = -1;
}

static int has_step(const struct job *job, int32_t step)
{
    return step >= 0 && step < job->step_count;
}

static int index_operations(struct job *job)
{
    size_t steps = (size_t)job->step_count;
    job->operations_of_step = array_new(job->rank_count * steps, sizeof *job->operations_of_step);
    for (size_t i = 0; job->operations_of_step && i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (!has_step(job, operation->step))
            continue;
        struct job_span *span =
            &job->operations_of_step[(size_t)operation->rank * steps + (size_t)operation->step];
        if (!span->end)
            span->first = (int32_t)i;
        span->end = (int32_t)i + 1;
    }
    return job->operations_of_step ? 0 : -1;
}

/* A counting sort by step. */
static int index_instances(struct job *job)
{
    size_t steps = (size_t)job->step_count;
    job->step_end = array_new(steps + 1, sizeof *job->step_end);
    job->by_step = array_new(job->instance_count, sizeof *job->by_step);
    if (!job->step_end || !job->by_step)
        return -1;
    for (size_t i = 0; i < job->instance_count; i++)
        if (has_step(job, job->instances[i].step))
            job->step_end[job->instances[i].step + 1]++;
    for (size_t step = 0; step < steps; step++)
        job->step_end[step + 1] += job->step_end[step];
    /* step_end of each step counts up from its beginning to its end. */
    for (size_t i = 0; i < job->instance_count; i++)
        if (has_step(job, job->instances[i].step))
            job->by_step[job->step_end[job->instances[i].step]++] = (int32_t)i;
    return 0;
}

int job_index_steps(struct job *job, struct error *error)
{
    return index_operations(job) || index_instances(job) ? error_no_memory(error) : 0;
}

struct job_range job_operations_in(const struct job *job, int32_t rank, int32_t first_step, int32_t last_step)
{
    struct job_range all = {0, 0};
    for (int32_t step = first_step; step <= last_step; step++) {
        const struct job_span *here =
            &job->operations_of_step[(size_t)rank * (size_t)job->step_count + (size_t)step];
        if (!here->end)
            continue;
        if (!all.end || (size_t)here->first < all.first)
            all.first = (size_t)here->first;
        if ((size_t)here->end > all.end)
            all.end = (size_t)here->end;
    }
    return all;
}

struct job_range job_instances_in(const struct job *job, int32_t first_step, int32_t last_step)
{
    return (struct job_range){first_step > 0 ? job->step_end[first_step - 1] : 0, job->step_end[last_step]};
}

/*
 * Gaps: operations missing between others of their sequence on the same rank. Sequence numbers count per
 * communicator and function. So a gap is a record that was lost or that the recorder left out, and the same
 * holds for numbers before the first one.
 */

/* The numbers of one communicator and function that all its ranks could have recorded. */
struct shared {
    int64_t least;
    int64_t greatest;
    int32_t ranks;
    int32_t alike;   /* ranks that recorded the same numbers as the first rank */
    int64_t missing; /* on all ranks */
    int64_t count;   /* of the first rank: the number of records, and a sum that identifies the set */
    uint64_t sum;
    int64_t count_here; /* of the current rank */
    uint64_t sum_here;
};

struct numbers {
    const struct job *job;
    int64_t seen;
    int64_t span; /* sum of greatest - least + 1 */
    int64_t series;
    int64_t least;         /* over all sequences: recorders count from 0 or from 1 */
    int64_t late[2];       /* sequences that begin late, if counting starts at 0 and at 1 */
    struct shared *shared; /* by excerpt, communicator and function */
};

/*
 * Recorders also lose a few records at the beginning. A sequence begins late if more than FEW and more than a
 * quarter of its records are missing there.
 */
enum { FEW = 2, PARTS = 4 };

static int begins_late(const struct series *series, int64_t first)
{
    int64_t before = series->least - first;
    return before > FEW && before > series->count / PARTS;
}

static void share(struct shared *shared, const struct series *series)
{
    int first = shared->ranks++ == 0;
    shared->least = first || series->least > shared->least ? series->least : shared->least;
    shared->greatest = first || series->greatest < shared->greatest ? series->greatest : shared->greatest;
    shared->missing += series->greatest - series->least + 1 - series->count;
}

static size_t place_of(const struct job *job, size_t excerpt, int32_t communicator, uint8_t function)
{
    return (excerpt * job->communicator_count + (size_t)communicator) * FUNCTION_COUNT +
           (function < FUNCTION_COUNT ? function : FUNCTION_OTHER);
}

static int add_series(void *context, const struct series *series)
{
    struct numbers *numbers = context;
    if (!numbers->job->communicators[series->communicator].hash)
        return 0;
    numbers->seen += series->count;
    numbers->span += series->greatest - series->least + 1;
    share(&numbers->shared[place_of(numbers->job, series->excerpt, series->communicator, series->function)],
          series);
    /* All sequences begin late in later excerpts. */
    if (series->excerpt)
        return 0;
    numbers->series++;
    numbers->least = series->least < numbers->least ? series->least : numbers->least;
    for (int first = 0; first < 2; first++)
        numbers->late[first] += begins_late(series, first);
    return 0;
}

static void look_at_rank(const struct job *job, const struct job_rank *rank, struct shared *shared)
{
    size_t excerpt = 0;
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        const struct job_operation *operation = &job->operations[i];
        excerpt = job->excerpt_count && operation->step >= 0 ? job_excerpt_of(job, operation->step) : excerpt;
        struct shared *here = &shared[place_of(job, excerpt, operation->communicator, operation->function)];
        int64_t sequence = job_sequence(job, operation);
        if (sequence < here->least || sequence > here->greatest || here->ranks == 0)
            continue;
        here->count_here++;
        here->sum_here += hash_mix(0, (uint64_t)sequence);
    }
}

static void compare_rank(struct shared *shared, size_t count)
{
    for (struct shared *here = shared; here < shared + count; here++) {
        if (here->count_here == 0)
            continue;
        if (here->alike == 0) {
            here->count = here->count_here;
            here->sum = here->sum_here;
        }
        here->alike += here->count == here->count_here && here->sum == here->sum_here;
        here->count_here = 0;
        here->sum_here = 0;
    }
}

/*
 * A size filter leaves an operation out on all ranks, since it has the same size everywhere. In a
 * communicator of only some ranks this hides who waited for whom, as a loss does.
 */
static void count_left_out(struct job *job, struct shared *shared, size_t count)
{
    for (size_t i = 0; i < job->rank_count; i++) {
        look_at_rank(job, &job->ranks[i], shared);
        compare_rank(shared, count);
    }
    for (size_t i = 0; i < count; i++) {
        const struct shared *here = &shared[i];
        if (here->ranks < 2 || here->alike < here->ranks)
            continue;
        job->left_out += here->missing;
        size_t communicator = i / FUNCTION_COUNT % job->communicator_count;
        if (job->communicators[communicator].size == job->expected_ranks)
            job->left_out_by_all += here->missing;
    }
}

/* Records that a recorder reports as overwritten were not left out by a filter. */
static void take_overwritten(int64_t overwritten, int64_t *left_out)
{
    *left_out -= *left_out < overwritten ? *left_out : overwritten;
}

int job_count_gaps(struct job *job, struct error *error)
{
    /*
     * The numbers of calls count across functions, and the recorder's ring buffer loses the beginning by
     * design.
     */
    if (job->calls)
        return 0;
    size_t excerpts = job->excerpt_count ? job->excerpt_count : 1;
    size_t count = excerpts * job->communicator_count * FUNCTION_COUNT;
    struct numbers numbers = {
        .job = job, .least = INT64_MAX, .shared = array_new(count, sizeof *numbers.shared)};
    int failed = !numbers.shared || job_each_series(job, add_series, &numbers);
    if (!failed && job->finished_only)
        count_left_out(job, numbers.shared, count);
    free(numbers.shared);
    if (failed)
        return error_no_memory(error);
    take_overwritten(job->overwritten, &job->left_out);
    take_overwritten(job->overwritten, &job->left_out_by_all);
    job->missing_sequence = numbers.span > numbers.seen ? numbers.span - numbers.seen : 0;
    job->sequences = numbers.series;
    job->late_sequences = numbers.late[numbers.least == 1];
    return 0;
}

static int is_narrow(const struct job *job, const struct job_communicator *communicator)
{
    return communicator->size < (int64_t)job->rank_count && !communicator->follows_whole_communicator;
}

/* Returns whether it merged several stages. */
static int unite_members(const struct job_communicator *communicator, int32_t *stage)
{
    int32_t first = -1;
    int united = 0;
    for (size_t i = 0; i <= communicator->member_list_count; i++) {
        int32_t rank =
            i < communicator->member_list_count ? communicator->member_list[i].rank : communicator->silent;
        if (rank < 0)
            continue;
        if (first < 0)
            first = rank;
        united |= disjoint_unite(stage, first, rank);
    }
    return united;
}

int32_t *stages_find(const struct job *job)
{
    int32_t *stage = array_new(job->rank_count, sizeof *stage);
    int united = 0;
    if (!stage)
        return NULL;
    disjoint_init(stage, job->rank_count);
    for (size_t i = 0; i < job->communicator_count; i++)
        if (is_narrow(job, &job->communicators[i]))
            united |= unite_members(&job->communicators[i], stage);
    for (size_t i = 0; i < job->rank_count; i++)
        stage[i] = united ? disjoint_root(stage, (int32_t)i) : 0;
    return stage;
}

int job_find_stages(struct job *job)
{
    int32_t *stage = stages_find(job);
    if (!stage)
        return -1;
    job->in_stages = 0;
    for (size_t i = 0; i < job->rank_count; i++)
        job->in_stages |= stage[i] != stage[0];
    free(stage);
    return 0;
}

int job_lacks_stage_p2p(const struct job *job)
{
    return job->blind_to_pairs && job->in_stages;
}

/* With fewer operations per thread, starting threads costs more time than it saves. */
enum { OPERATIONS_A_THREAD = 2048 };

size_t job_threads(const struct job *job)
{
    return parallel_threads(job->threads, job->operation_count, OPERATIONS_A_THREAD);
}
