#include "analyse/baseline.h"

#include "analyse/place.h"

/* What stands out at each place of the step: own time, and lateness of hosts and of hidden origin. */

/*
 * Own time counts only where the operation before it is the one that usually is: across a gap in the trace it
 * would hold the lost operation.
 */
static int comparable(const struct baseline *baseline, const struct job *job,
                      const struct job_operation *operation)
{
    if (operation->own_ns == TIME_UNKNOWN || operation->position < 0)
        return 0;
    const struct job_operation *previous = &job->operations[job->operations[operation->previous].group];
    int32_t usual = baseline->predecessors[operation->rank][operation->position];
    return previous->position == usual &&
           previous->step == (usual < operation->position ? operation->step : operation->step - 1);
}

/*
 * The longest that another member waited in this operation; -1 where the trace cannot tell. A send goes
 * without its receiver: who comes late to receive makes others wait later on.
 */
static int64_t longest_wait_in(const struct job *job, const struct job_operation *operation)
{
    const struct job_instance *instance = &job->instances[operation->instance];
    int waits = function_is_full_exchange(operation->function) || operation->function == FUNCTION_SEND;
    if (!waits || instance->members < 2 || operation->start_ns == TIME_UNKNOWN ||
        operation->end_ns == TIME_UNKNOWN)
        return -1;
    int64_t mine = operation->end_ns - operation->start_ns, longest = 0;
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *other = job_member(job, instance, i);
        if (other->start_ns == TIME_UNKNOWN || other->end_ns == TIME_UNKNOWN)
            return -1;
        if (other->end_ns - other->start_ns - mine > longest)
            longest = other->end_ns - other->start_ns - mine;
    }
    return longest;
}

/* The same for all operations of its group; INT64_MAX where the trace cannot tell. */
static int64_t longest_wait_of_others(const struct job *job, const struct job_operation *operation)
{
    int64_t longest = -1;
    size_t at = (size_t)operation->group;
    for (; at < job->operation_count && job->operations[at].group == operation->group; at++) {
        int64_t wait = longest_wait_in(job, &job->operations[at]);
        if (wait > longest)
            longest = wait;
    }
    return longest < 0 ? INT64_MAX : longest;
}

/* What a place is measured by: own time, or lateness where own time is hidden. TIME_UNKNOWN: neither. */
typedef int64_t (*measure)(const struct baseline *baseline, const struct job *job,
                           const struct job_operation *operation);

static int64_t own_time(const struct baseline *baseline, const struct job *job,
                        const struct job_operation *operation)
{
    return comparable(baseline, job, operation) ? operation->own_ns : TIME_UNKNOWN;
}

/* The same since anything of the rank ended, on whatever stream: its operation may have waited for that. */
static int64_t idle_time(const struct baseline *baseline, const struct job *job,
                         const struct job_operation *operation)
{
    return comparable(baseline, job, operation) ? job_idle_time(job, operation) : TIME_UNKNOWN;
}

static int64_t host_lateness(const struct baseline *baseline, const struct job *job,
                             const struct job_operation *operation)
{
    return comparable(baseline, job, operation) ? job_lateness(job, operation) : TIME_UNKNOWN;
}

static int64_t hidden_lateness(const struct baseline *baseline, const struct job *job,
                               const struct job_operation *operation)
{
    if (operation->own_ns != TIME_UNKNOWN || operation->start_ns == TIME_UNKNOWN || operation->previous < 0 ||
        &job->operations[operation->group] != operation)
        return TIME_UNKNOWN;
    int64_t waited = longest_wait_of_others(job, operation);
    return waited == INT64_MAX ? TIME_UNKNOWN : waited;
}

static int64_t bounded(const struct job *job, const struct job_operation *operation, int64_t excess)
{
    int64_t waited = longest_wait_of_others(job, operation);
    return excess < waited ? excess : waited;
}

static void sum_lateness(const struct baseline *baseline, const struct role *role, const struct place *place)
{
    size_t steps = (size_t)baseline->step_count;
    for (size_t rank = 0; rank < role->rank_count; rank++)
        for (size_t step = (size_t)baseline->first_step; step < steps; step++)
            if (place->apart[rank * steps + step] != TIME_UNKNOWN)
                baseline->late_ns[(size_t)role->ranks[rank] * steps + step] +=
                    place->apart[rank * steps + step];
}

/* The values of a place become what is beyond the usual; returns sigma. */
static int64_t measure_values(const struct baseline *baseline, const struct job *job, int32_t role,
                              int32_t position, struct place *place, double sigmas, measure value_of)
{
    size_t ranks = baseline->roles[role].rank_count, steps = (size_t)baseline->step_count;
    for (size_t rank = 0; rank < ranks; rank++)
        for (int32_t step = 0; step < baseline->step_count; step++) {
            int32_t cell = baseline_cell(baseline, role, position, rank, step);
            place->value[rank * steps + (size_t)step] =
                cell >= 0 ? value_of(baseline, job, &job->operations[cell]) : TIME_UNKNOWN;
        }
    return value_of != hidden_lateness
               ? place_measure_alike(place, ranks, baseline->first_step, baseline->step_count, sigmas, 1,
                                     NULL)
               : place_measure(place, ranks, baseline->first_step, baseline->step_count);
}

static void measure_place(const struct baseline *baseline, struct job *job, int32_t role, int32_t position,
                          struct place *place, double sigmas, measure value_of)
{
    size_t ranks = baseline->roles[role].rank_count, steps = (size_t)baseline->step_count;
    int64_t sigma = measure_values(baseline, job, role, position, place, sigmas, value_of);
    if (value_of == host_lateness)
        sum_lateness(baseline, &baseline->roles[role], place);
    for (size_t rank = 0; rank < ranks; rank++)
        for (int32_t step = baseline->first_step; step < baseline->step_count; step++) {
            int64_t excess = place->value[rank * steps + (size_t)step];
            if (excess == TIME_UNKNOWN)
                continue;
            struct job_operation *operation =
                &job->operations[baseline_cell(baseline, role, position, rank, step)];
            if (value_of == own_time) {
                operation->beyond_ns = excess;
                operation->own_is_known = 1;
            }
            if (value_of == host_lateness)
                operation->late_beyond_ns = excess;
            if (excess <= 0)
                continue;
            int stands_out = (double)excess > sigmas * (double)sigma;
            if (value_of == hidden_lateness && excess > 2 * sigma) {
                operation->hidden_ns = excess;
                operation->hidden_stands_out = (uint8_t)stands_out;
            } else if (value_of == own_time && stands_out) {
                operation->excess_ns = bounded(job, operation, excess);
            }
        }
}

/*
 * Waiting on one stream is own time on another, of all that wait for the same one: where ranks have several
 * streams, the time in which nothing was under way on any of them tells who was late, if the own time grew,
 * too. (By itself it grows where what ran beside it is over sooner.) `own` was measured at the same place.
 */
static void take_idle_time(const struct baseline *baseline, struct job *job, int32_t role, int32_t position,
                           const struct place *own, struct place *place, double sigmas)
{
    size_t ranks = baseline->roles[role].rank_count, steps = (size_t)baseline->step_count;
    int64_t sigma = measure_values(baseline, job, role, position, place, sigmas, idle_time);
    for (size_t rank = 0; rank < ranks; rank++)
        for (int32_t step = baseline->first_step; step < baseline->step_count; step++) {
            size_t cell = rank * steps + (size_t)step;
            int64_t excess = place->value[cell], grown = own->apart[cell];
            if (excess == TIME_UNKNOWN)
                continue;
            struct job_operation *operation =
                &job->operations[baseline_cell(baseline, role, position, rank, step)];
            if (operation->excess_ns > excess)
                operation->excess_ns = excess > 0 ? excess : 0;
            if (grown == TIME_UNKNOWN || (double)excess <= sigmas * (double)sigma || grown < excess / 2)
                continue;
            excess = bounded(job, operation, excess < grown ? excess : grown);
            if (excess > operation->excess_ns)
                operation->excess_ns = excess;
        }
}

static int has_streams(const struct job *job, const struct role *role)
{
    for (size_t rank = 0; rank < role->rank_count; rank++)
        if (job->ranks[role->ranks[rank]].has_streams)
            return 1;
    return 0;
}

int baseline_measure_places(const struct baseline *baseline, struct job *job, double sigmas)
{
    for (size_t i = 0; i < baseline->role_count; i++) {
        struct place place = {0}, own = {0};
        size_t ranks = baseline->roles[i].rank_count, steps = (size_t)baseline->step_count;
        int several_streams = has_streams(job, &baseline->roles[i]);
        int failed = place_init(&place, ranks, steps) || place_init(&own, ranks, steps);
        for (int32_t position = 0; !failed && position < baseline->roles[i].length; position++) {
            measure_place(baseline, job, (int32_t)i, position, &own, sigmas, own_time);
            if (several_streams)
                take_idle_time(baseline, job, (int32_t)i, position, &own, &place, sigmas);
            measure_place(baseline, job, (int32_t)i, position, &place, sigmas, hidden_lateness);
            measure_place(baseline, job, (int32_t)i, position, &place, sigmas, host_lateness);
        }
        place_release(&place);
        place_release(&own);
        if (failed)
            return -1;
    }
    return 0;
}
