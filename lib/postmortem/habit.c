#include "postmortem/habit.h"

enum { LOOK_BACK = 16384 }; /* operations, whatever a trace claims */

static int is_same_call(const struct job_operation *a, const struct job_operation *b)
{
    return a->function == b->function && a->bytes == b->bytes;
}

static int is_same_place(const struct job *job, const int32_t *positions, size_t a, size_t b)
{
    return positions[a] >= 0 && positions[b] >= 0 ? positions[a] == positions[b]
                                                  : is_same_call(&job->operations[a], &job->operations[b]);
}

enum habit habit_at(const struct job *job, const int32_t *positions, int32_t operation)
{
    const struct job_operation *call = &job->operations[operation], *next = NULL;
    size_t first = job->ranks[call->rank].first, at = (size_t)operation, before = at;
    int kept = 0, broken = 0;
    if (at - first > LOOK_BACK)
        first = at - LOOK_BACK;
    while (at-- > first) {
        const struct job_operation *here = &job->operations[at];
        if (here->communicator != call->communicator)
            continue;
        if (!next) {
            before = at;
        } else if (is_same_place(job, positions, at, before)) {
            kept += is_same_call(next, call);
            broken += !is_same_call(next, call);
        }
        next = here;
    }
    return kept > broken ? HABIT_KEPT : broken > kept ? HABIT_BROKEN : HABIT_UNKNOWN;
}
