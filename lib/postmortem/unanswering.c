#include "postmortem/unanswering.h"

#include <string.h>

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

/* WARNING_OTHER where the rank answers. */
static enum warning_kind state_of(const struct job *job, int32_t rank)
{
    int is_silent = 0;
    for (size_t i = 0; i < job->warning_count; i++) {
        const struct job_warning *warning = &job->warnings[i];
        if (warning->rank == rank && warning->kind == WARNING_DEAD)
            return WARNING_DEAD;
        is_silent |= warning->rank == rank && warning->kind == WARNING_SILENT;
    }
    return is_silent ? WARNING_SILENT : WARNING_OTHER;
}

static int add(const struct job *job, int32_t rank, enum warning_kind state, enum confidence confidence,
               struct findings *findings)
{
    int is_dead = state == WARNING_DEAD;
    int32_t instance = first_without(job, rank);
    if (instance < 0 || is_accused(findings, rank))
        return 0;
    struct finding *finding = findings_add_at(findings, job, is_dead ? FINDING_ENDED_EARLY : FINDING_MISSING,
                                              rank, &job->instances[instance]);
    if (!finding)
        return -1;
    finding->stops_job = 1;
    finding->confidence = confidence;
    return buffer_append_text(
        &finding->evidence,
        is_dead ? "NCCL's RAS considers its process dead: it has not been reached for a minute. How "
                  "far it came is not known"
                : "Its process does not answer NCCL's RAS, which has a thread of its own there: it is "
                  "stopped, or its host is cut off. How far it came is not known");
}

int find_unanswering(const struct job *job, struct findings *findings)
{
    size_t count = 0;
    for (size_t i = 0; job->watch.is_watched && i < job->rank_count; i++)
        count += state_of(job, (int32_t)i) != WARNING_OTHER;
    enum confidence confidence = 2 * count < job->rank_count ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
    for (size_t i = 0; count && i < job->rank_count; i++) {
        enum warning_kind state = state_of(job, (int32_t)i);
        if (state != WARNING_OTHER && add(job, (int32_t)i, state, confidence, findings))
            return -1;
    }
    return 0;
}
