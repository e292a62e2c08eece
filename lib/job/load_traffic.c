#include "job/load_traffic.h"

#include "base/array.h"
#include "base/keyed.h"
#include "job/groups.h"
#include "model/pack.h"
#include "schemas.h"
#include "store/statement.h"

#include <stdlib.h>

/* The network steps of a run, summed by proxy operation. */

/* Counts a wait for the network as far as it reaches beyond `covered_ns`, the end of those before it. */
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

/* Network steps of one proxy operation, summed. Times are still on the host's clock. */
static int sum_steps(struct statement *statement, struct job_traffic *traffic, int64_t *gpu_done_ns,
                     struct error *error)
{
    size_t length;
    const void *blob = statement_blob(statement, 7, &length);
    struct unpack unpack;
    struct proxy_step step;
    int64_t covered_ns = TIME_UNKNOWN;
    *gpu_done_ns = TIME_UNKNOWN;
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
        int64_t ready = step.wait[WAIT_GPU].end_ns;
        if (ready > *gpu_done_ns)
            *gpu_done_ns = ready;
    }
    return more < 0 ? error_set(error, "operation %lld has damaged proxy steps",
                                (long long)statement_integer(statement, 0))
                    : 0;
}

/* An operation whose kernel's end is unknown ended when its GPU had last given or taken data. */
static void lend_end(struct job_operation *operation, int64_t gpu_done_ns)
{
    if (gpu_done_ns == TIME_UNKNOWN || (operation->ends != ENDS_UNKNOWN && operation->ends != ENDS_BY_PROXY))
        return;
    if (operation->ends == ENDS_UNKNOWN || gpu_done_ns > operation->end_ns)
        operation->end_ns = gpu_done_ns;
    operation->ends = ENDS_BY_PROXY;
}

/* Of an operation that shares its kernel, or has a channel without a stop, the stop may come too soon. */
static int may_stop_early(const struct job *job, size_t at)
{
    if (job->operations[at].ends != ENDS_BY_KERNEL)
        return 0;
    return job->operations[at].incomplete || (at && job_same_group(job, at - 1, at)) ||
           (at + 1 < job->operation_count && job_same_group(job, at, at + 1));
}

/* One channel fewer has not received from the network, as those of a ring between hosts do last of all. */
static void take_channel(struct job_operation *operation, uint8_t *channels)
{
    if (*channels == 0 || *channels == CHANNELS_MANY)
        return;
    operation->all_taken = --*channels == 0;
}

/* An operation's number is that under which it was read until all traffic is there. */
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
    int64_t gpu_done_ns;
    if (sum_steps(statement, traffic, &gpu_done_ns, error))
        return -1;
    /* A proxy operation that never ended does not say when its kernel did. */
    if (statement_is_null(statement, 6))
        return 0;
    if (receives && gpu_done_ns != TIME_UNKNOWN)
        take_channel(operation, &loader->channels[read]);
    lend_end(operation, gpu_done_ns);
    /* What its kernel received last, it took until then. */
    if (receives && gpu_done_ns > *free_ns && may_stop_early(job, (size_t)loader->places[read]))
        *free_ns = gpu_done_ns;
    return 0;
}

/* Traffic comes in order of the files; what belongs to one operation is to stand together. */
static int order_traffic(struct job *job)
{
    size_t count = job->traffic_count;
    struct keyed *order = array_new(count, sizeof *order), *scratch = array_new(count, sizeof *scratch);
    struct job_traffic *ordered = array_new(count, sizeof *ordered);
    int failed = !order || !scratch || !ordered;
    for (size_t i = 0; !failed && i < count; i++)
        order[i] = (struct keyed){job->traffic[i].operation, (int32_t)i};
    if (!failed)
        keyed_sort(order, scratch, count);
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
    return 0;
}
