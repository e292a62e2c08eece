#include "postmortem/divergence.h"

#include "postmortem/habit.h"

/* Ranks that wait for each other in different operations of one communicator. */

/* The first pending operation of a rank on a communicator; -1. */
static int32_t first_pending(const struct absence *absence, int32_t rank, int32_t communicator)
{
    const struct job_rank *of = &absence->job->ranks[rank];
    for (size_t i = of->first; i < of->first + of->count; i++) {
        const struct job_operation *operation = &absence->job->operations[i];
        if (operation->communicator == communicator && !function_is_point_to_point(operation->function) &&
            absence->pending[operation->instance])
            return (int32_t)i;
    }
    return -1;
}

/*
 * Of two sides, who is to blame for not calling the same: the smaller one; of two equal ones the one that
 * called something else than it is used to, when the other did not. -1: not `mine`; where nobody can say,
 * both with low confidence.
 */
static int confidence_in(size_t mine, size_t theirs, enum habit my_habit, enum habit their_habit)
{
    if (mine != theirs)
        return mine < theirs ? CONFIDENCE_HIGH : -1;
    if (my_habit == HABIT_BROKEN && their_habit == HABIT_KEPT)
        return CONFIDENCE_MEDIUM;
    return my_habit == HABIT_KEPT && their_habit == HABIT_BROKEN ? -1 : CONFIDENCE_LOW;
}

static int add_mismatch(const struct absence *absence, int32_t at, int confidence, struct findings *findings)
{
    const struct job *job = absence->job;
    const struct job_operation *operation = &job->operations[at];
    const struct job_instance *mine = &job->instances[operation->instance];
    const struct job_instance *theirs = &job->instances[absence->ranks[operation->rank].missing_from];
    struct finding *finding = findings_add_at(findings, job, FINDING_MISMATCH, operation->rank, theirs);
    if (!finding)
        return -1;
    finding->stops_job = 1;
    finding->confidence = (enum confidence)confidence;
    if (confidence == CONFIDENCE_LOW && finding_add_candidate(finding, operation->rank))
        return -1;
    const char *name = function_name(mine->function);
    return say_waiting(absence, absence->ranks[operation->rank].missing_from, finding) ||
           buffer_printf(&finding->evidence, ". Rank %s is waiting in %s #%lld on the same communicator",
                         job->ranks[operation->rank].name, name ? name : "another operation",
                         (long long)mine->sequence);
}

static int32_t first_member(const struct job *job, const struct job_instance *instance)
{
    return job->instance_members[instance->first_member];
}

int find_mismatches(const struct absence *absence, struct findings *findings)
{
    const struct job *job = absence->job;
    for (size_t rank = 0; rank < job->rank_count; rank++) {
        int32_t other = absence->ranks[rank].missing_from;
        int32_t at =
            other < 0 ? -1 : first_pending(absence, (int32_t)rank, job->instances[other].communicator);
        if (at < 0)
            continue;
        const struct job_instance *mine = &job->instances[job->operations[at].instance];
        const struct job_instance *theirs = &job->instances[other];
        /* Who keeps to its programme waits there for somebody else. */
        if (absence->programme.ranks[rank].course == COURSE_KEPT)
            continue;
        int tie = mine->members == theirs->members;
        int confidence =
            confidence_in((size_t)mine->members, (size_t)theirs->members,
                          tie ? habit_at(job, absence->positions, at) : HABIT_UNKNOWN,
                          tie ? habit_at(job, absence->positions, first_member(job, theirs)) : HABIT_UNKNOWN);
        if (confidence >= 0 && add_mismatch(absence, at, confidence, findings))
            return -1;
    }
    return 0;
}
