#include "analyse/tails.h"

#include "base/map.h"

#include <stdlib.h>

/* What nobody gets past before all have come. */
static int is_told(const struct job *job, const struct job_operation *operation)
{
    return operation->step >= 0 && function_is_full_exchange(operation->function) &&
           job_sequence(job, operation) >= 0;
}

enum { PAST_BY_ANY = -1 };

static struct map_key key_of(const struct job_operation *operation, int32_t rank)
{
    return (struct map_key){{(uint64_t)operation->communicator, operation->function, (uint64_t)rank}};
}

static int note(struct map *greatest, struct map_key key, int64_t sequence)
{
    int64_t *here = map_put(greatest, key, sequence, NULL);
    if (!here)
        return -1;
    *here = *here > sequence ? *here : sequence;
    return 0;
}

/* The greatest sequence numbers: those that each rank began, and those that somebody got past. */
static int note_greatest(struct map *greatest, const struct job *job, const int64_t *next_starts)
{
    int failed = 0;
    for (size_t i = 0; !failed && i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int64_t sequence = job_sequence(job, operation);
        if (!is_told(job, operation))
            continue;
        failed = note(greatest, key_of(operation, operation->rank), sequence) ||
                 (next_starts[i] != TIME_UNKNOWN && note(greatest, key_of(operation, PAST_BY_ANY), sequence));
    }
    return failed;
}

static int is_last_recorded(const struct map *greatest, const struct job *job,
                            const struct job_operation *operation)
{
    int64_t sequence = job_sequence(job, operation);
    const int64_t *past = map_get(greatest, key_of(operation, PAST_BY_ANY));
    return past && *past > sequence && *map_get(greatest, key_of(operation, operation->rank)) == sequence;
}

int job_find_tails(struct job *job)
{
    for (size_t i = 0; i < job->rank_count; i++)
        job->ranks[i].tail_step = INT32_MAX;
    if (job->finished_only)
        return 0;
    struct map greatest;
    int64_t *next_starts = job_next_starts(job);
    map_init(&greatest);
    int failed = !next_starts || note_greatest(&greatest, job, next_starts);
    for (size_t i = 0; !failed && i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int32_t *tail_step = &job->ranks[operation->rank].tail_step;
        if (is_told(job, operation) && operation->step < *tail_step &&
            is_last_recorded(&greatest, job, operation))
            *tail_step = operation->step;
    }
    map_release(&greatest);
    free(next_starts);
    return failed ? -1 : 0;
}
