#include "job/own_time.h"

#include "base/ids.h"
#include "job/groups.h"

void job_infer_start(struct job *job, size_t at)
{
    struct job_operation *operation = &job->operations[at];
    int64_t duration_ns = job_draft_duration(job, at);
    if (operation->start_ns != TIME_UNKNOWN || duration_ns == TIME_UNKNOWN || operation->previous < 0)
        return;
    operation->previous = job_last_of_group(job, operation->previous);
    const struct job_operation *previous = &job->operations[operation->previous];
    if (previous->end_ns == TIME_UNKNOWN)
        return;
    operation->start_ns =
        previous->end_ns > operation->enqueued_ns ? previous->end_ns : operation->enqueued_ns;
    operation->end_ns = job->drafts.free_ns[at] = operation->start_ns + duration_ns;
    operation->ends = ENDS_BY_HOST;
    operation->inferred = 1;
}

void job_measure_own(struct job *job, struct job_operation *operation)
{
    operation->own_ns = TIME_UNKNOWN;
    if (operation->previous < 0 || operation->start_ns == TIME_UNKNOWN || operation->inferred ||
        &job->operations[operation->group] != operation)
        return;
    /* Where starts are inferred, ends of a group are known only now. */
    if (job->operations[operation->previous].inferred)
        operation->previous = job_last_of_group(job, operation->previous);
    int64_t free_ns = job->drafts.free_ns[operation->previous];
    if (free_ns == TIME_UNKNOWN)
        return;
    operation->own_ns = operation->start_ns - free_ns;
    /* Ends that are not the kernel's own are seen late: the next kernel may have begun by then. */
    if (operation->own_ns < 0)
        operation->own_ns = 0;
}

int job_is_own_estimated(const struct job *job, const struct job_operation *operation)
{
    return operation->own_ns != TIME_UNKNOWN && operation->previous >= 0 &&
           job->operations[operation->previous].ends == ENDS_ESTIMATED;
}

/* Of streams that an operation may have waited for, so many operations back are looked at. */
enum { LOOK_BACK = 64 };

/* When an operation was over: its end, or when it let go of its stream if that was later. */
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
        /* Clocks do not tell exactly until when: not longer than it ran, then. */
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
    /* Too late an end hides when the stream was free: how far ahead the host was still shows. */
    if (job_is_own_estimated(job, operation))
        return operation->enqueued_ns - free_ns < idle_ns ? operation->enqueued_ns - free_ns : idle_ns;
    int64_t late_ns = operation->enqueued_ns > free_ns ? operation->enqueued_ns - free_ns : 0;
    /* While its GPU computes, a host may wait for it: that is no lateness of the host's. */
    int64_t busy_ns = job->gpu_busy_ns ? job->gpu_busy_ns[operation - job->operations] : 0;
    int64_t left_ns = busy_ns < idle_ns ? idle_ns - busy_ns : 0;
    return late_ns < left_ns ? late_ns : left_ns;
}

int64_t job_lateness(const struct job *job, const struct job_operation *operation)
{
    return job_lateness_in(job, operation, job_idle_time(job, operation));
}
