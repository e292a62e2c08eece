/*
 * Loads network steps and derives from them when kernels ended. Below: idle time and lateness of
 * operations.
 */
#include "base/base.h"
#include "job/internal.h"
#include "job/job.h"
#include "job/load.h"
#include "model/model.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>

/* Network steps, summed per proxy operation. */

/* Adds the part of a network wait after `covered_ns`, the end of the earlier waits. */
static void cover(struct job_traffic *traffic, const struct proxy_step *step, int64_t *covered_ns)
{
    int64_t begin = step->wait[WAIT_NETWORK].begin_ns, end = step->wait[WAIT_NETWORK].end_ns;
    if (begin == TIME_UNKNOWN || end == TIME_UNKNOWN)
        return;
    if (*covered_ns != TIME_UNKNOWN && *covered_ns > begin)
        begin = *covered_ns;
    if (end <= begin)
        return;
    traffic->busy_ns += end - begin;
    *covered_ns = end;
}

/* When the network steps of one proxy operation ended, and when its GPU was done; each may be TIME_UNKNOWN.
 */
struct step_ends {
    int64_t first_ns;
    int64_t last_ns;
    int64_t longest_ns; /* from one end to the next; 0: there is only one */
    int64_t gpu_done_ns;
};

static void note_end(struct step_ends *ends, int64_t end_ns)
{
    if (end_ns == TIME_UNKNOWN)
        return;
    if (ends->first_ns == TIME_UNKNOWN)
        ends->first_ns = ends->last_ns = end_ns;
    if (end_ns <= ends->last_ns)
        return;
    if (end_ns - ends->last_ns > ends->longest_ns)
        ends->longest_ns = end_ns - ends->last_ns;
    ends->last_ns = end_ns;
}

/* Sums the network steps of one proxy operation. Times are still on the host's clock. */
static int sum_steps(struct statement *statement, struct job_traffic *traffic, struct step_ends *ends,
                     struct error *error)
{
    size_t length;
    const void *blob = statement_blob(statement, 7, &length);
    struct unpack unpack;
    struct proxy_step step;
    int64_t covered_ns = TIME_UNKNOWN;
    *ends = (struct step_ends){TIME_UNKNOWN, TIME_UNKNOWN, 0, TIME_UNKNOWN};
    if (!blob)
        return 0;
    if (unpack_steps(&unpack, blob, length, statement_integer_or(statement, 5, 0)))
        return error_set(error, "operation %lld has damaged proxy steps",
                         (long long)statement_integer(statement, 0));
    int more;
    while ((more = unpack_next_step(&unpack, &step)) == 1) {
        int64_t begin = step.wait[WAIT_NETWORK].begin_ns, end = step.wait[WAIT_NETWORK].end_ns;
        int64_t wait_ns = begin == TIME_UNKNOWN || end == TIME_UNKNOWN ? 0 : end - begin;
        traffic->steps++;
        traffic->network_wait_ns += wait_ns;
        cover(traffic, &step, &covered_ns);
        if (wait_ns > traffic->network_wait_max_ns)
            traffic->network_wait_max_ns = wait_ns;
        note_end(ends, end);
        int64_t ready = step.wait[WAIT_GPU].end_ns;
        if (ready > ends->gpu_done_ns)
            ends->gpu_done_ns = ready;
    }
    return more < 0 ? error_set(error, "operation %lld has damaged proxy steps",
                                (long long)statement_integer(statement, 0))
                    : 0;
}

/* If the end of the kernel is unknown, the operation ended when its GPU last gave or took data. */
static void end_by_proxy(struct job_operation *operation, int64_t gpu_done_ns)
{
    if (gpu_done_ns == TIME_UNKNOWN || (operation->ends != ENDS_UNKNOWN && operation->ends != ENDS_BY_PROXY))
        return;
    if (operation->ends == ENDS_UNKNOWN || gpu_done_ns > operation->end_ns)
        operation->end_ns = gpu_done_ns;
    operation->ends = ENDS_BY_PROXY;
}

/* The stop may be too early if the operation is a tree, shares its kernel or has a channel without a stop. */
static int may_stop_early(const struct job *job, size_t at)
{
    if (job->operations[at].ends != ENDS_BY_KERNEL)
        return 0;
    return job->operations[at].is_tree || job->operations[at].incomplete ||
           (at && job_same_group(job, at - 1, at)) ||
           (at + 1 < job->operation_count && job_same_group(job, at, at + 1));
}

/*
 * One channel more has received from the network. Receiving is the last thing that the channels of a ring
 * between hosts do.
 */
static void take_channel(struct job_operation *operation, uint8_t *channels)
{
    if (*channels == 0 || *channels == CHANNELS_MANY)
        return;
    operation->all_taken = --*channels == 0;
}

/* Keeps when data arrived, for communicators that lack the records of some member. */
static int keep_arrivals(struct job *job, const struct job_operation *operation,
                         const struct job_traffic *traffic, const struct step_ends *ends)
{
    const struct job_communicator *communicator = &job->communicators[operation->communicator];
    if (communicator->size <= (int64_t)communicator->member_list_count ||
        function_is_point_to_point(operation->function) || traffic->steps < 2 ||
        ends->first_ns == TIME_UNKNOWN)
        return 0;
    if (array_reserve((void **)&job->arrivals, &job->arrival_capacity, job->arrival_count + 1,
                      sizeof *job->arrivals))
        return -1;
    job->arrivals[job->arrival_count++] = (struct job_arrivals){.operation = traffic->operation,
                                                                .sender = traffic->sender,
                                                                .steps = traffic->steps,
                                                                .first_ns = ends->first_ns,
                                                                .last_ns = ends->last_ns,
                                                                .longest_ns = ends->longest_ns};
    return 0;
}

/* Until all traffic is loaded, an operation is identified by its position in the order of reading. */
static int read_traffic(struct loader *loader, struct statement *statement, struct error *error)
{
    struct job *job = loader->job;
    int64_t read = id_runs_find(&job->operation_ids, statement_integer(statement, 0));
    if (read < 0)
        return 0;
    struct job_operation *operation = &job->operations[loader->places[read]];
    int64_t *free_ns = &job->drafts.free_ns[loader->places[read]];
    int32_t peer = job_rank_in(job, operation->communicator, statement_integer(statement, 3));
    int receives = statement_integer(statement, 1) == DIRECTION_RECV;
    if (array_reserve((void **)&job->traffic, &job->traffic_capacity, job->traffic_count + 1,
                      sizeof *job->traffic))
        return error_no_memory(error);
    struct job_traffic *traffic = &job->traffic[job->traffic_count++];
    *traffic = (struct job_traffic){.sender = receives ? peer : operation->rank,
                                    .receiver = receives ? operation->rank : peer,
                                    .operation = (int32_t)read,
                                    .by_receiver = (uint8_t)receives};
    struct step_ends ends;
    if (sum_steps(statement, traffic, &ends, error))
        return -1;
    if (receives && keep_arrivals(job, operation, traffic, &ends))
        return error_no_memory(error);
    int64_t gpu_done_ns = ends.gpu_done_ns;
    /* An unfinished proxy operation does not show when its kernel ended. */
    if (statement_is_null(statement, 6))
        return 0;
    if (receives && gpu_done_ns != TIME_UNKNOWN)
        take_channel(operation, &loader->channels[read]);
    end_by_proxy(operation, gpu_done_ns);
    /* The kernel took the data that it received last until this time. */
    if (receives && gpu_done_ns > *free_ns && may_stop_early(job, (size_t)loader->places[read]))
        *free_ns = gpu_done_ns;
    return 0;
}

/* Traffic comes in the order of the files; entries of one operation must be adjacent. */
static int order_traffic(struct job *job)
{
    size_t count = job->traffic_count;
    struct sort_entry *order = array_new(count, sizeof *order), *scratch = array_new(count, sizeof *scratch);
    struct job_traffic *ordered = array_new(count, sizeof *ordered);
    int failed = !order || !scratch || !ordered;
    for (size_t i = 0; !failed && i < count; i++)
        order[i] = (struct sort_entry){job->traffic[i].operation, (int32_t)i};
    if (!failed)
        sort_entries(order, scratch, count);
    for (size_t i = 0; !failed && i < count; i++)
        ordered[i] = job->traffic[order[i].index];
    free(order);
    free(scratch);
    free(failed ? ordered : job->traffic);
    if (!failed)
        job->traffic = ordered;
    return failed ? -1 : 0;
}

static int is_ordered(const struct job *job)
{
    for (size_t i = 1; i < job->traffic_count; i++)
        if (job->traffic[i].operation < job->traffic[i - 1].operation)
            return 0;
    return 1;
}

static int by_operation(const void *a, const void *b)
{
    const struct job_arrivals *left = a, *right = b;
    return (left->operation > right->operation) - (left->operation < right->operation);
}

int loader_read_traffic(struct loader *loader, struct error *error)
{
    struct job *job = loader->job;
    if (loader_list_places(loader))
        return error_no_memory(error);
    if (loader_read(loader, schema_analysis_job_traffic, read_traffic, error))
        return -1;
    if (!is_ordered(job) && order_traffic(job))
        return error_no_memory(error);
    for (size_t i = 0; i < job->traffic_count; i++)
        job->traffic[i].operation = loader->places[job->traffic[i].operation];
    for (size_t i = 0; i < job->arrival_count; i++)
        job->arrivals[i].operation = loader->places[job->arrivals[i].operation];
    array_sort(job->arrivals, job->arrival_count, sizeof *job->arrivals, by_operation);
    return 0;
}

int job_is_own_estimated(const struct job *job, const struct job_operation *operation)
{
    return operation->own_ns != TIME_UNKNOWN && operation->previous >= 0 &&
           job->operations[operation->previous].ends == ENDS_ESTIMATED;
}

/* How many earlier operations are examined, for streams that an operation may have waited for. */
enum { LOOK_BACK = 64 };

/* When an operation was over: its end, or when it freed its stream, if later. */
static int64_t over_ns(const struct job *job, size_t at)
{
    int64_t hold = -1;
    if (job->operations[at].held)
        hold = find_id(job->holds, job->hold_count, sizeof *job->holds, job->hold_count, (int64_t)at);
    return hold < 0 ? job->operations[at].end_ns : job->holds[hold].until_ns;
}

int64_t job_idle_time(const struct job *job, const struct job_operation *operation)
{
    if (operation->own_ns == TIME_UNKNOWN || !job->ranks[operation->rank].has_streams)
        return operation->own_ns;
    size_t at = (size_t)(operation - job->operations), first = job->ranks[operation->rank].first;
    int64_t free_ns = operation->start_ns - operation->own_ns;
    for (size_t i = at; i-- > first && at - i <= LOOK_BACK;) {
        int64_t other_ns = over_ns(job, i);
        /* The clocks do not show precisely until when it occupied the stream; then its own end counts. */
        if (other_ns > operation->start_ns)
            other_ns = job->operations[i].end_ns;
        if (other_ns != TIME_UNKNOWN && job->operations[i].group != operation->group && other_ns > free_ns &&
            other_ns <= operation->start_ns)
            free_ns = other_ns;
    }
    return operation->start_ns - free_ns;
}

static int64_t bounded_of_rank(const struct job *job, const struct job_rank *rank)
{
    int64_t latest_ns = INT64_MIN, bounded = 0;
    for (size_t i = LOOK_BACK + 1; rank->has_streams && i < rank->count; i++) {
        const struct job_operation *operation = &job->operations[rank->first + i];
        int64_t over = over_ns(job, rank->first + i - LOOK_BACK - 1);
        latest_ns = over != TIME_UNKNOWN && over > latest_ns ? over : latest_ns;
        if (operation->own_ns == TIME_UNKNOWN || latest_ns > operation->start_ns ||
            latest_ns <= operation->start_ns - operation->own_ns)
            continue;
        bounded += latest_ns > operation->start_ns - job_idle_time(job, operation);
    }
    return bounded;
}

int64_t job_bounded_idle_times(const struct job *job)
{
    int64_t bounded = 0;
    for (size_t i = 0; i < job->rank_count; i++)
        bounded += bounded_of_rank(job, &job->ranks[i]);
    return bounded;
}

int64_t job_lateness_in(const struct job *job, const struct job_operation *operation, int64_t idle_ns)
{
    if (idle_ns == TIME_UNKNOWN || operation->enqueued_ns == TIME_UNKNOWN)
        return TIME_UNKNOWN;
    int64_t free_ns = operation->start_ns - idle_ns;
    /*
     * If the estimated end is too late, it hides when the stream became free, but it still shows how far
     * ahead the host was.
     */
    if (job_is_own_estimated(job, operation))
        return operation->enqueued_ns - free_ns < idle_ns ? operation->enqueued_ns - free_ns : idle_ns;
    int64_t late_ns = operation->enqueued_ns > free_ns ? operation->enqueued_ns - free_ns : 0;
    /* A host may be waiting for its GPU while the GPU computes, which is no lateness of the host. */
    int64_t busy_ns = job->gpu_busy_ns ? job->gpu_busy_ns[operation - job->operations] : 0;
    int64_t left_ns = busy_ns < idle_ns ? idle_ns - busy_ns : 0;
    return late_ns < left_ns ? late_ns : left_ns;
}

int64_t job_lateness(const struct job *job, const struct job_operation *operation)
{
    return job_lateness_in(job, operation, job_idle_time(job, operation));
}
