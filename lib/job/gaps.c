#include "job/gaps.h"

#include "job/excerpts.h"
#include "job/sequences.h"

#include "base/array.h"
#include "base/hash.h"

#include <stdlib.h>

/*
 * Gaps: operations that are absent between others of their sequence on the same rank. Sequence numbers count
 * per communicator and function, so that a gap is a record that was lost, or that the recorder left out; what
 * came before the first one too.
 */

/* The numbers of one communicator and function that all its ranks could have shown. */
struct shared {
    int64_t least;
    int64_t greatest;
    int32_t ranks;
    int32_t alike;   /* ranks that showed the same of them as the first */
    int64_t missing; /* on all ranks */
    int64_t count;   /* of the first rank, and a sum over them that tells sets apart */
    uint64_t sum;
    int64_t count_here; /* of the rank that is being looked at */
    uint64_t sum_here;
};

struct numbers {
    const struct job *job;
    int64_t seen;
    int64_t span; /* numbers from the least to the greatest */
    int64_t series;
    int64_t least;         /* number of all: recorders count from 0 or from 1 */
    int64_t late[2];       /* series that begin in the middle, where they do from either */
    struct shared *shared; /* by excerpt, communicator and function */
};

/* Recorders lose a few at the beginning, too: in the middle begins what lacks as much as a quarter of it. */
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
    /* Later excerpts begin in the middle of all. */
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
 * What a filter leaves out, it leaves out on all ranks alike: an operation has one size. Of a communicator of
 * some ranks only that hides who waited for whom, as a loss does.
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

/* What a recorder says that it overwrote, no filter left out. */
static void take_overwritten(int64_t overwritten, int64_t *left_out)
{
    *left_out -= *left_out < overwritten ? *left_out : overwritten;
}

int job_count_gaps(struct job *job, struct error *error)
{
    /* Numbers of calls count whatever function it is, and records of the ring's beginning are lost by design.
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
