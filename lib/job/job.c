#include "job/job.h"

#include "align/align.h"
#include "base/array.h"

#include <stdlib.h>

const char *job_tag(const struct job *job, int32_t tag)
{
    return tag >= 0 ? intern_text(&job->tags, tag) : NULL;
}

int64_t job_delay(const struct job *job, const struct job_operation *operation)
{
    const struct job_rank *rank = &job->ranks[operation->rank];
    size_t number = (size_t)(operation - job->operations) - rank->first;
    return rank->has_gpu_clock ? rank->delays_ns[number / job_delay_block(job)] : 0;
}

int job_is_aligned(const struct job_rank *rank)
{
    return rank->clock_method != CLOCK_NONE && rank->clock_method != CLOCK_CONTRADICTORY;
}

int64_t job_common_host_time(const struct job_rank *rank, int64_t host_ns)
{
    if (host_ns == TIME_UNKNOWN || !job_is_aligned(rank))
        return TIME_UNKNOWN;
    return align_scaled(rank->clock_scale, rank->clock_origin_ns, host_ns) + rank->clock_offset_ns;
}

int64_t job_common_time(const struct job *job, const struct job_operation *operation, int64_t time_ns)
{
    if (time_ns == TIME_UNKNOWN)
        return TIME_UNKNOWN;
    return job_common_host_time(&job->ranks[operation->rank], time_ns + job_delay(job, operation));
}

int64_t *job_next_starts(const struct job *job)
{
    int64_t *next = array_new(job->operation_count, sizeof *next);
    for (size_t i = 0; next && i < job->operation_count; i++)
        next[i] = TIME_UNKNOWN;
    for (size_t i = 0; next && i < job->operation_count; i++)
        if (job->operations[i].previous >= 0)
            next[job->operations[i].previous] = job->operations[i].start_ns;
    return next;
}

int64_t job_operation_id(const struct job *job, size_t operation)
{
    return id_runs_at(&job->operation_ids, (size_t)job->read_order[operation]);
}

struct run_ranks job_run_ranks(const struct job *job)
{
    if (!job->rank_count)
        return (struct run_ranks){.expected = job->expected_ranks};
    return (struct run_ranks){.global_ranks = &job->ranks->global_rank,
                              .process_ids = &job->ranks->process_id,
                              .bytes = sizeof *job->ranks,
                              .count = job->rank_count,
                              .expected = job->expected_ranks};
}

int32_t job_rank_numbered(const struct job *job, int64_t global_rank)
{
    struct run_ranks ranks = job_run_ranks(job);
    return run_rank_numbered(&ranks, global_rank);
}

int32_t job_rank_in(const struct job *job, int64_t communicator, int64_t number)
{
    struct run_ranks ranks = job_run_ranks(job);
    return run_rank_in(&ranks, &job->communicators[communicator], number);
}

size_t job_silent_ranks(const struct job *job)
{
    size_t count = 0;
    for (size_t i = 0; i < job->rank_count; i++)
        count += job->ranks[i].count == 0;
    return count;
}

size_t job_recorded_ranks(const struct job *job)
{
    return job->rank_count - job_silent_ranks(job);
}

int64_t job_sequence(const struct job *job, const struct job_operation *operation)
{
    return job->instances[operation->instance].sequence;
}

static int32_t source_of(const struct job *job, size_t operation)
{
    int32_t source = job->sources ? job->sources[operation] : -1;
    return source < 0 && job->described ? job->described[operation] : source;
}

/* What members of an instance say, where all that say anything say the same; -1. */
static int32_t common_source(const struct job *job, const struct job_instance *instance)
{
    int32_t common = -1;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t source = source_of(job, (size_t)job->instance_members[instance->first_member + (uint32_t)i]);
        if (source >= 0 && common >= 0 && source != common)
            return -1;
        common = source >= 0 ? source : common;
    }
    return common;
}

const char *job_source(const struct job *job, size_t operation)
{
    int32_t source = source_of(job, operation);
    if (source < 0 && job->described && job->operations[operation].kind != OPERATION_POINT_TO_POINT)
        source = common_source(job, &job->instances[job->operations[operation].instance]);
    return source >= 0 ? intern_text(&job->tags, source) : NULL;
}

void job_drafts_release(struct job_drafts *drafts)
{
    free(drafts->issued_ns);
    free(drafts->free_ns);
    free(drafts->durations_ns);
    free(drafts->noticed_ns);
    free(drafts->streams);
    free(drafts->stream_ids);
    *drafts = (struct job_drafts){0};
}

void job_release(struct job *job)
{
    for (size_t i = 0; i < job->rank_count; i++) {
        free(job->ranks[i].name);
        free(job->ranks[i].delays_ns);
        roster_facts_release(&job->ranks[i].facts);
    }
    for (size_t i = 0; i < job->communicator_count; i++)
        job_communicator_release(&job->communicators[i]);
    roster_release(&job->roster);
    free(job->excerpts);
    free(job->step_numbers);
    free(job->step_source);
    free(job->run_name);
    free(job->ranks);
    free(job->communicators);
    free(job->operations);
    id_runs_release(&job->operation_ids);
    free(job->read_order);
    job_drafts_release(&job->drafts);
    free(job->initial_sync_ns);
    free(job->gpu_busy_ns);
    free(job->sources);
    free(job->described);
    free(job->calls);
    free(job->progress);
    free(job->starts);
    free(job->warnings);
    free(job->holds);
    free(job->instances);
    free(job->instance_members);
    free(job->traffic);
    free(job->operations_of_step);
    free(job->by_step);
    free(job->step_end);
    intern_release(&job->tags);
    *job = (struct job){0};
}
