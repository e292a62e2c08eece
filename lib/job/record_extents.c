#include "job/record_extents.h"

#include "base/array.h"
#include "job/sequences.h"

#include <stdlib.h>

static struct map_key key_of(int32_t communicator, uint8_t function, int32_t rank)
{
    return (struct map_key){{(uint64_t)communicator, function, (uint64_t)rank}};
}

static int note_series(void *context, const struct series *series)
{
    struct extents *extents = context;
    struct map_key key = key_of(series->communicator, series->function, series->rank);
    int64_t *last = map_put(&extents->last, key, series->greatest, NULL);
    if (last && *last < series->greatest)
        *last = series->greatest;
    return last ? 0 : -1;
}

/* Of each operation, whether it is known when the next of its stream started. NULL: no memory. */
static unsigned char *list_followed(const struct job *job)
{
    unsigned char *followed = array_new(job->operation_count, 1);
    for (size_t i = 0; followed && i < job->operation_count; i++)
        if (job->operations[i].previous >= 0)
            followed[job->operations[i].previous] = job->operations[i].start_ns != TIME_UNKNOWN;
    return followed;
}

static int note_past(struct extents *extents, const struct job *job, const unsigned char *followed)
{
    for (size_t i = 0; i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (!followed[i] || !function_is_full_exchange(operation->function))
            continue;
        int64_t sequence = job_sequence(job, operation);
        int64_t *here =
            map_put(&extents->past, key_of(operation->communicator, operation->function, 0), sequence, NULL);
        if (!here)
            return -1;
        *here = *here > sequence ? *here : sequence;
    }
    return 0;
}

int extents_init(struct extents *extents, const struct job *job)
{
    unsigned char *followed = list_followed(job);
    map_init(&extents->last);
    map_init(&extents->past);
    int failed = !followed || job_each_series(job, note_series, extents) || note_past(extents, job, followed);
    free(followed);
    return failed ? -1 : 0;
}

void extents_release(struct extents *extents)
{
    map_release(&extents->last);
    map_release(&extents->past);
}

const int64_t *extents_last(const struct extents *extents, int32_t rank, int32_t communicator,
                            uint8_t function)
{
    return map_get(&extents->last, key_of(communicator, function, rank));
}

int extents_lack(const struct extents *extents, int32_t rank, int32_t communicator, uint8_t function)
{
    const int64_t *last = extents_last(extents, rank, communicator, function);
    const int64_t *past = map_get(&extents->past, key_of(communicator, function, 0));
    return past && (!last || *last < *past);
}

/* Whether an operation is the last that is recorded of its rank's, and others got past more. */
static int is_last_recorded(const struct extents *extents, const struct job *job,
                            const struct job_operation *operation)
{
    const int64_t *last =
        extents_last(extents, operation->rank, operation->communicator, operation->function);
    return last && *last == job_sequence(job, operation) &&
           extents_lack(extents, operation->rank, operation->communicator, operation->function);
}

void job_find_tails(struct job *job, const struct extents *extents)
{
    for (size_t i = 0; i < job->rank_count; i++)
        job->ranks[i].tail_step = INT32_MAX;
    for (size_t i = 0; !job->finished_only && !job->is_windows && i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int32_t *tail_step = &job->ranks[operation->rank].tail_step;
        if (operation->step >= 0 && operation->step < *tail_step && is_last_recorded(extents, job, operation))
            *tail_step = operation->step;
    }
}
