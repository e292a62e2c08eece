#include "analyse/tails.h"

#include "base/map.h"

/* What nobody gets past before all have come. */
static int is_told(const struct job *job, const struct job_operation *operation)
{
    return operation->step >= 0 && function_is_full_exchange(operation->function) &&
           job_sequence(job, operation) >= 0;
}

static struct map_key key_of(const struct job_operation *operation, int32_t rank)
{
    return (struct map_key){{(uint64_t)operation->communicator, operation->function, (uint64_t)rank}};
}

/* The greatest sequence numbers: of each rank, and (as rank -1) of all. */
static int note_greatest(struct map *greatest, const struct job *job)
{
    for (size_t i = 0; i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int64_t sequence = job_sequence(job, operation);
        for (int of_all = 0; of_all < 2 && is_told(job, operation); of_all++) {
            int64_t *here =
                map_put(greatest, key_of(operation, of_all ? -1 : operation->rank), sequence, NULL);
            if (!here)
                return -1;
            *here = *here > sequence ? *here : sequence;
        }
    }
    return 0;
}

int job_find_tails(struct job *job)
{
    struct map greatest;
    map_init(&greatest);
    int failed = job->finished_only ? 0 : note_greatest(&greatest, job);
    for (size_t i = 0; i < job->rank_count; i++)
        job->ranks[i].tail_step = INT32_MAX;
    for (size_t i = 0; !failed && !job->finished_only && i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int32_t *tail_step = &job->ranks[operation->rank].tail_step;
        int64_t sequence = job_sequence(job, operation);
        if (is_told(job, operation) && *map_get(&greatest, key_of(operation, operation->rank)) == sequence &&
            *map_get(&greatest, key_of(operation, -1)) > sequence + 1 && operation->step < *tail_step)
            *tail_step = operation->step;
    }
    map_release(&greatest);
    return failed ? -1 : 0;
}
