#include "postmortem/progress.h"

#include "base/array.h"

#include <stdlib.h>

enum lack { LACKS_END = 1, LACKS_START = 2 };

static int ended(const struct job_operation *operation)
{
    return operation->end_ns != TIME_UNKNOWN && !operation->unfinished;
}

static void note_next(struct passing *passing)
{
    const struct job *job = passing->job;
    for (size_t i = 0; i < job->operation_count; i++)
        passing->next[i] = -1;
    for (size_t i = 0; i < job->operation_count; i++)
        if (job->operations[i].previous >= 0 && job->operations[i].group == (int32_t)i)
            passing->next[job->operations[job->operations[i].previous].group] = (int32_t)i;
}

static struct map_key like_key(const struct job_operation *operation)
{
    return (struct map_key){{(uint64_t)operation->rank, (uint64_t)operation->communicator,
                             operation->function, (uint64_t)operation->bytes}};
}

static int note_likes(struct passing *passing)
{
    for (size_t i = 0; i < passing->job->operation_count; i++) {
        const struct job_operation *operation = &passing->job->operations[i];
        if (!passing_next_began(passing, (int32_t)i))
            continue;
        int64_t *lacks = map_put(&passing->likes, like_key(operation), 0, NULL);
        if (!lacks)
            return -1;
        *lacks = (ended(operation) ? 0 : LACKS_END) |
                 (operation->start_ns != TIME_UNKNOWN && !operation->inferred ? 0 : LACKS_START);
    }
    return 0;
}

int passing_init(struct passing *passing, const struct job *job)
{
    *passing = (struct passing){.job = job};
    map_init(&passing->likes);
    passing->next = array_new(job->operation_count, sizeof *passing->next);
    if (!passing->next)
        return -1;
    note_next(passing);
    return note_likes(passing);
}

void passing_release(struct passing *passing)
{
    map_release(&passing->likes);
    free(passing->next);
}

int passing_next_began(const struct passing *passing, int32_t operation)
{
    int32_t next = passing->next[passing->job->operations[operation].group];
    return next >= 0 && passing->job->operations[next].start_ns != TIME_UNKNOWN;
}

int passing_is_past(const struct passing *passing, int32_t operation)
{
    return passing->job->finished_only || ended(&passing->job->operations[operation]) ||
           passing_next_began(passing, operation);
}

/* Where the last of its like lacks its end though others followed, that it has none says nothing. */
static int ends_are_recorded(const struct passing *passing, int32_t operation)
{
    const int64_t *lacks = map_get(&passing->likes, like_key(&passing->job->operations[operation]));
    return !lacks || !(*lacks & LACKS_END);
}

int passing_is_held(const struct passing *passing, int32_t operation)
{
    return !passing_is_past(passing, operation) && ends_are_recorded(passing, operation);
}

static int starts_are_recorded(const struct passing *passing, int32_t operation)
{
    const int64_t *lacks = map_get(&passing->likes, like_key(&passing->job->operations[operation]));
    return lacks && !(*lacks & LACKS_START);
}

int passing_waits(const struct passing *passing, int32_t operation)
{
    const struct job_operation *of = &passing->job->operations[operation];
    return of->start_ns != TIME_UNKNOWN && !of->inferred && passing_is_held(passing, operation);
}

int passing_never_began(const struct passing *passing, int32_t operation)
{
    return passing->job->operations[operation].start_ns == TIME_UNKNOWN &&
           !passing_is_past(passing, operation) && starts_are_recorded(passing, operation);
}
