#include "postmortem/recorded.h"

#include "base/array.h"

#include <stdlib.h>

int is_recorded(const struct job *job, int32_t rank)
{
    return rank >= 0 && job->ranks[rank].count && job->ranks[rank].cut == CUT_NOT;
}

int32_t count_recorded(const struct job *job, const struct job_communicator *communicator)
{
    int32_t recorded = 0;
    for (size_t i = 0; i < communicator->seat_count; i++)
        recorded += is_recorded(job, communicator->seats[i].rank);
    return recorded;
}

/* `recorded`: ranks of its communicator that are. */
static int lacks_a_recorded(const struct job *job, const struct job_instance *instance, int32_t recorded)
{
    if (instance->function == FUNCTION_SEND)
        return instance->members < instance->expected && is_recorded(job, instance->sender) &&
               is_recorded(job, instance->receiver);
    int32_t came = 0;
    for (int32_t i = 0; i < instance->members; i++)
        came += is_recorded(job, job_member(job, instance, i)->rank);
    return came < recorded;
}

unsigned char *list_lacking(const struct job *job)
{
    unsigned char *lacking = array_new(job->instance_count, 1);
    int32_t *recorded = array_new(job->communicator_count, sizeof *recorded);
    for (size_t i = 0; recorded && i < job->communicator_count; i++)
        recorded[i] = count_recorded(job, &job->communicators[i]);
    for (size_t i = 0; lacking && recorded && i < job->instance_count; i++)
        lacking[i] = (unsigned char)lacks_a_recorded(job, &job->instances[i],
                                                     recorded[job->instances[i].communicator]);
    if (!recorded) {
        free(lacking);
        lacking = NULL;
    }
    free(recorded);
    return lacking;
}
