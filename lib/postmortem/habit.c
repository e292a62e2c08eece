#include "postmortem/habit.h"

enum { LOOK_BACK = 16384 }; /* operations, whatever a trace claims */

static int is_same_call(const struct job_operation *a, const struct job_operation *b)
{
    return a->function == b->function && a->bytes == b->bytes;
}

static int is_same_place(const struct job_operation *a, const struct job_operation *b)
{
    return a->position >= 0 && b->position >= 0 ? a->position == b->position : is_same_call(a, b);
}

enum habit habit_at(const struct job *job, int32_t operation)
{
    const struct job_operation *call = &job->operations[operation], *before = NULL, *next = NULL;
    size_t first = job->ranks[call->rank].first, at = (size_t)operation;
    int kept = 0, broken = 0;
    if (at - first > LOOK_BACK)
        first = at - LOOK_BACK;
    while (at-- > first) {
        const struct job_operation *here = &job->operations[at];
        if (here->communicator != call->communicator)
            continue;
        if (!before) {
            before = here;
        } else if (is_same_place(here, before)) {
            kept += is_same_call(next, call);
            broken += !is_same_call(next, call);
        }
        next = here;
    }
    return kept > broken ? HABIT_KEPT : broken > kept ? HABIT_BROKEN : HABIT_UNKNOWN;
}
