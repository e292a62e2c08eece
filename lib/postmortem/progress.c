#include "postmortem/progress.h"

#include "base/array.h"
#include "postmortem/recorded.h"

#include <stdlib.h>

enum lack { LACKS_END = 1, LACKS_START = 2, IS_FOLLOWED = 4, IS_SEEN = 8 };

/* A rank whose GPU finished something so many steps later is past what it called: steps follow each other. */
enum { STEPS_PAST = 2 };

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

/* Sends to some go over the network, to others not, and are recorded differently. */
static struct map_key like_key(const struct job *job, const struct job_operation *operation)
{
    const struct job_instance *instance = &job->instances[operation->instance];
    int32_t peer = operation->rank == instance->sender ? instance->receiver : instance->sender;
    uint64_t function = operation->function;
    if (function_is_point_to_point(operation->function))
        function |= (uint64_t)(uint32_t)(peer + 1) << 8;
    return (struct map_key){
        {(uint64_t)operation->rank, (uint64_t)operation->communicator, function, (uint64_t)operation->bytes}};
}

/* The last step in which each rank's GPU finished something. */
static void note_steps(struct passing *passing)
{
    for (size_t i = 0; i < passing->job->rank_count; i++)
        passing->finished_step[i] = -1;
    for (size_t i = 0; i < passing->job->operation_count; i++) {
        const struct job_operation *operation = &passing->job->operations[i];
        int32_t *step = &passing->finished_step[operation->rank];
        if (ended(operation) && operation->step > *step)
            *step = operation->step;
    }
}

/* Of each kind, whether anything was ever seen of it on the GPU; and what the last that others followed
 * lacks. */
static int note_likes(struct passing *passing)
{
    for (size_t i = 0; i < passing->job->operation_count; i++) {
        const struct job_operation *operation = &passing->job->operations[i];
        int has_start = operation->start_ns != TIME_UNKNOWN && !operation->inferred;
        int64_t *like = map_put(&passing->likes, like_key(passing->job, operation), 0, NULL);
        if (!like)
            return -1;
        if (has_start || ended(operation))
            *like |= IS_SEEN;
        if (passing_next_began(passing, (int32_t)i))
            *like = (*like & IS_SEEN) | IS_FOLLOWED | (ended(operation) ? 0 : LACKS_END) |
                    (has_start ? 0 : LACKS_START);
    }
    return 0;
}

int passing_init(struct passing *passing, const struct job *job)
{
    *passing = (struct passing){.job = job};
    map_init(&passing->likes);
    passing->next = array_new(job->operation_count, sizeof *passing->next);
    passing->finished_step = array_new(job->rank_count, sizeof *passing->finished_step);
    passing->lacking = list_lacking(job);
    if (!passing->next || !passing->finished_step || !passing->lacking)
        return -1;
    note_next(passing);
    note_steps(passing);
    return note_likes(passing);
}

void passing_release(struct passing *passing)
{
    map_release(&passing->likes);
    free(passing->next);
    free(passing->finished_step);
    free(passing->lacking);
}

int passing_next_began(const struct passing *passing, int32_t operation)
{
    int32_t next = passing->next[passing->job->operations[operation].group];
    return next >= 0 && passing->job->operations[next].start_ns != TIME_UNKNOWN;
}

/* Its rank was done with later steps. */
static int is_steps_ago(const struct passing *passing, const struct job_operation *operation)
{
    return operation->step >= 0 &&
           passing->finished_step[operation->rank] - (int64_t)operation->step >= STEPS_PAST;
}

int passing_is_past(const struct passing *passing, int32_t operation)
{
    const struct job_operation *of = &passing->job->operations[operation];
    return passing->job->finished_only || ended(of) || passing_next_began(passing, operation) ||
           is_steps_ago(passing, of);
}

/* Where the last of its like lacks its end though others followed, or nothing was ever seen of its like, that
 * it has none says nothing. */
static int ends_are_recorded(const struct passing *passing, int32_t operation)
{
    const int64_t *like =
        map_get(&passing->likes, like_key(passing->job, &passing->job->operations[operation]));
    return like && (*like & (IS_FOLLOWED | LACKS_END)) != (IS_FOLLOWED | LACKS_END) && (*like & IS_SEEN);
}

int passing_is_held(const struct passing *passing, int32_t operation)
{
    const struct job *job = passing->job;
    if (job->calls_only)
        return passing->lacking[job->operations[operation].instance];
    return !passing_is_past(passing, operation) && ends_are_recorded(passing, operation) &&
           job->ranks[job->operations[operation].rank].cut == CUT_NOT;
}

static int starts_are_recorded(const struct passing *passing, int32_t operation)
{
    const int64_t *like =
        map_get(&passing->likes, like_key(passing->job, &passing->job->operations[operation]));
    return like && (*like & (IS_FOLLOWED | LACKS_START)) == IS_FOLLOWED;
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
