#include "postmortem/left_loop.h"

/* The only rank of which something is recorded, in a job of several; -1. */
static int32_t only_recorded(const struct job *job)
{
    int32_t only = -1;
    if (job->expected_ranks < 2 || job_recorded_ranks(job) != 1)
        return -1;
    for (size_t i = 0; i < job->rank_count; i++)
        if (job->ranks[i].count)
            only = (int32_t)i;
    return only;
}

/* Whether it is known of all that it called since its last whole step that it ended. */
static int has_finished_all(const struct absence *absence, int32_t rank)
{
    const struct course_of_rank *course = &absence->programme.ranks[rank];
    for (int32_t at = course->first; at < course->first + course->called; at++)
        if (!passing_is_past(&absence->passing, at))
            return 0;
    return 1;
}

static int add_finding(const struct absence *absence, int32_t rank, struct findings *findings)
{
    const struct job *job = absence->job;
    const struct course_of_rank *course = &absence->programme.ranks[rank];
    int32_t last = course->first + course->called - 1;
    struct finding *finding = findings_add_at(findings, job, FINDING_ENDED_EARLY, rank,
                                              &job->instances[job->operations[last].instance]);
    if (!finding)
        return -1;
    finding->stops_job = 1;
    finding->confidence = CONFIDENCE_MEDIUM;
    figures_add(&finding->figures, "call", course->followed % course->length);
    figures_add(&finding->figures, "calls", course->length);
    return buffer_printf(
        &finding->evidence,
        "The trace of this rank ends after operation %d of %d in a step, with no unfinished operation. It is "
        "not waiting, and the other ranks cannot finish the step without it. The other ranks left no trace",
        (int)(course->followed % course->length), (int)course->length);
}

int find_left_loop(const struct absence *absence, struct findings *findings)
{
    const struct job *job = absence->job;
    int32_t rank = only_recorded(job);
    if (rank < 0 || job->finished_only || job->most_cut || job->ranks[rank].cut != CUT_NOT ||
        absence->pieces > 1 || !programme_is_midway(&absence->programme, rank) ||
        !has_finished_all(absence, rank))
        return 0;
    return add_finding(absence, rank, findings);
}
