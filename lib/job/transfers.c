#include "job/transfers.h"

#include "job/groups.h"

int64_t job_duration(const struct job_operation *operation)
{
    if (operation->start_ns == TIME_UNKNOWN || operation->end_ns == TIME_UNKNOWN)
        return TIME_UNKNOWN;
    return operation->end_ns > operation->start_ns ? operation->end_ns - operation->start_ns : 0;
}

int64_t job_received_ns(const struct job *job, const struct job_instance *instance)
{
    for (int32_t i = 0; instance->function == FUNCTION_SEND && i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        const struct job_operation *member = &job->operations[at];
        int64_t duration = job_duration(member);
        int is_told = member->ends == ENDS_BY_PROXY || (member->ends != ENDS_BY_HOST && !member->incomplete);
        if (member->function == FUNCTION_RECV && is_told && duration != TIME_UNKNOWN &&
            !job_is_grouped(job, at))
            return duration;
    }
    return INT64_MAX;
}

/*
 * A sending kernel is done once its data is in buffers: how long the transfer of a pair took shows in its
 * network steps, as the time in which at least one was on the wire. Waiting for the receiver is no part of
 * it, nor is what was on the wire before that came: nobody takes it there.
 */
static void measure_by_steps(struct job *job)
{
    for (size_t i = 0; i < job->traffic_count; i++) {
        const struct job_traffic *traffic = &job->traffic[i];
        struct job_instance *instance = &job->instances[job->operations[traffic->operation].instance];
        int64_t received_ns = job_received_ns(job, instance);
        int64_t busy_ns = traffic->busy_ns < received_ns ? traffic->busy_ns : received_ns;
        if (!traffic->by_receiver && instance->function == FUNCTION_SEND && busy_ns > instance->transfer_ns)
            instance->transfer_ns = busy_ns;
    }
}

/* Clocks are aligned well enough where they may be off by less than one part in so many of what they tell. */
enum { CLOCKS_PART = 4 };

/*
 * Otherwise it is the time from when both sides were there to the end of the receive, where their clocks are
 * aligned well enough to tell.
 */
static void measure_pair_by_clocks(struct job *job, struct job_instance *instance)
{
    const struct job_operation *send = NULL, *receive = NULL;
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *member = job_member(job, instance, i);
        *(member->function == FUNCTION_SEND ? &send : &receive) = member;
    }
    if (!send || !receive || send->start_ns == TIME_UNKNOWN || receive->start_ns == TIME_UNKNOWN ||
        receive->end_ns == TIME_UNKNOWN || receive->ends == ENDS_ESTIMATED)
        return;
    int64_t sent = job_common_time(job, send, send->start_ns);
    int64_t began = job_common_time(job, receive, receive->start_ns);
    int64_t ended = job_common_time(job, receive, receive->end_ns);
    if (sent == TIME_UNKNOWN || began == TIME_UNKNOWN)
        return;
    int64_t transfer = ended - (sent > began ? sent : began);
    int64_t doubt = job_clock_doubt(job, send->rank, receive->rank);
    if (send->rank != receive->rank && transfer > instance->transfer_ns && doubt < transfer / CLOCKS_PART)
        instance->transfer_ns = transfer;
}

void job_measure_pairs(struct job *job)
{
    if (job->traffic_count)
        measure_by_steps(job);
    else
        for (size_t i = 0; i < job->instance_count; i++)
            if (job->instances[i].function == FUNCTION_SEND)
                measure_pair_by_clocks(job, &job->instances[i]);
}
