#include "postmortem/recorded.h"

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

int lacks_a_recorded(const struct job *job, const struct job_instance *instance)
{
    if (instance->function == FUNCTION_SEND)
        return instance->members < instance->expected && is_recorded(job, instance->sender) &&
               is_recorded(job, instance->receiver);
    int32_t came = 0;
    for (int32_t i = 0; i < instance->members; i++)
        came += is_recorded(job, job_member(job, instance, i)->rank);
    return came < count_recorded(job, &job->communicators[instance->communicator]);
}
