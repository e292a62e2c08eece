#include "postmortem/usual_next.h"

/* Calls that are compared: as many as a micro-batch or a layer has, and more. */
enum { CONTEXT_CALLS = 32 };

static int are_alike(const struct job *job, int32_t one, int32_t other)
{
    const struct job_operation *a = &job->operations[one], *b = &job->operations[other];
    return a->communicator == b->communicator && a->function == b->function && a->bytes == b->bytes &&
           job->calls[one].peer == job->calls[other].peer &&
           (!job->sources || job->sources[one] == job->sources[other]);
}

/* How many calls up to `at` are like the last ones of the rank. */
static int32_t count_alike(const struct job *job, int32_t first, int32_t at, int32_t last)
{
    int32_t count = 0;
    while (count < CONTEXT_CALLS && at - count >= first && are_alike(job, at - count, last - count))
        count++;
    return count;
}

int32_t usual_next(const struct job *job, int32_t rank)
{
    int32_t first = (int32_t)job->ranks[rank].first, last = first + (int32_t)job->ranks[rank].count - 1;
    int32_t best = 0, next = -1;
    for (int32_t at = last - 1; at >= first && best < CONTEXT_CALLS; at--) {
        int32_t count = count_alike(job, first, at, last);
        if (count <= best)
            continue;
        best = count;
        next = at + 1;
    }
    return next;
}
