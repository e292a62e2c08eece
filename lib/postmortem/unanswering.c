#include "postmortem/unanswering.h"

#include <stdio.h>

static int is_member(const struct job *job, const struct job_instance *instance, int32_t rank)
{
    for (int32_t i = 0; i < instance->members; i++)
        if (job_member(job, instance, i)->rank == rank)
            return 1;
    return 0;
}

static int is_seated(const struct job_communicator *communicator, int32_t rank)
{
    for (size_t i = 0; i < communicator->seat_count; i++)
        if (communicator->seats[i].rank == rank)
            return 1;
    return 0;
}

/* The first operation of its communicators that it is not known to have launched; -1. */
static int32_t first_without(const struct job *job, int32_t rank)
{
    for (size_t i = 0; i < job->instance_count; i++)
        if (is_seated(&job->communicators[job->instances[i].communicator], rank) &&
            !is_member(job, &job->instances[i], rank))
            return (int32_t)i;
    return -1;
}

static int is_accused(const struct findings *findings, int32_t rank)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].rank == rank && findings->items[i].stops_job)
            return 1;
    return 0;
}

/* What RAS says of a rank that does not answer; NULL where it does. */
static const struct job_warning *silence_of(const struct job *job, int32_t rank)
{
    const struct job_warning *silent = NULL;
    for (size_t i = 0; i < job->warning_count; i++) {
        const struct job_warning *warning = &job->warnings[i];
        if (warning->rank == rank && warning->kind == WARNING_DEAD)
            return warning;
        if (warning->rank == rank && warning->kind == WARNING_SILENT)
            silent = warning;
    }
    return silent;
}

static int say(const struct job_warning *silence, struct buffer *evidence)
{
    char process[48] = "Its process";
    if (silence->pid > 0)
        snprintf(process, sizeof process, "Its process %lld", (long long)silence->pid);
    return buffer_printf(
        evidence,
        silence->kind == WARNING_DEAD
            ? "%s is dead according to NCCL's RAS, which could not reach it for a minute. Its "
              "progress is unknown"
            : "%s does not answer NCCL's RAS, which has its own thread there: the process "
              "is stopped, or its host is unreachable. Its progress is unknown",
        process);
}

/* Where RAS counts no operations at all, there is none that it has not launched. */
static int add(const struct job *job, int32_t rank, const struct job_warning *silence,
               enum confidence confidence, struct findings *findings)
{
    int32_t instance = first_without(job, rank);
    if (is_accused(findings, rank))
        return 0;
    enum finding_kind kind = silence->kind == WARNING_DEAD ? FINDING_ENDED_EARLY : FINDING_MISSING;
    struct finding *finding = instance < 0
                                  ? findings_add(findings)
                                  : findings_add_at(findings, job, kind, rank, &job->instances[instance]);
    if (!finding)
        return -1;
    finding->kind = kind;
    finding->rank = rank;
    finding->stops_job = 1;
    finding->confidence = confidence;
    return say(silence, &finding->evidence);
}

int find_unanswering(const struct job *job, struct findings *findings)
{
    size_t count = 0;
    for (size_t i = 0; job->watch.is_watched && i < job->rank_count; i++)
        count += silence_of(job, (int32_t)i) != NULL;
    enum confidence confidence = 2 * count < job->rank_count ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
    for (size_t i = 0; count && i < job->rank_count; i++) {
        const struct job_warning *silence = silence_of(job, (int32_t)i);
        if (silence && add(job, (int32_t)i, silence, confidence, findings))
            return -1;
    }
    return 0;
}
