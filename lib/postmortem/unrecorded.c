#include "postmortem/unrecorded.h"

#include "base/array.h"
#include "postmortem/call_states.h"

#include <stdlib.h>

int unrecorded_init(struct unrecorded *unrecorded, const struct job *job)
{
    *unrecorded = (struct unrecorded){
        .job = job, .recorded = array_new(job->communicator_count, sizeof *unrecorded->recorded)};
    if (!unrecorded->recorded)
        return -1;
    for (size_t i = 0; i < job->rank_count; i++) {
        unrecorded->ranks += call_is_recorded(job, (int32_t)i);
        unrecorded->present += job->ranks[i].process_id >= 0;
    }
    for (size_t i = 0; i < job->communicator_count; i++)
        for (size_t k = 0; k < job->communicators[i].seat_count; k++)
            unrecorded->recorded[i] += call_is_recorded(job, job->communicators[i].seats[k].rank);
    return 0;
}

void unrecorded_release(struct unrecorded *unrecorded)
{
    free(unrecorded->recorded);
}

static int are_few(int64_t recorded, int64_t all, double times)
{
    return (double)recorded < times * (double)(all - recorded);
}

int unrecorded_can_be_named(const struct unrecorded *unrecorded, int32_t communicator)
{
    const struct job_communicator *of = &unrecorded->job->communicators[communicator];
    double times = limit_of(of->size_is_known ? LIMIT_RECORDS : LIMIT_RECORDS_UNSIZED);
    return !are_few(unrecorded->recorded[communicator], of->size, times) &&
           !are_few(unrecorded->ranks, unrecorded->job->expected_ranks, times);
}

void unrecorded_doubt(const struct unrecorded *unrecorded, const struct findings *findings,
                      int32_t communicator, struct finding *finding)
{
    finding_ask(findings, finding, RULE_UNRECORDED, 1);
    finding_ask(findings, finding, RULE_UNSIZED, !unrecorded->job->communicators[communicator].size_is_known);
    int64_t absent = unrecorded->job->expected_ranks - unrecorded->present;
    finding_ask(findings, finding, RULE_HALF_ABSENT, (double)absent / (double)unrecorded->present);
}
