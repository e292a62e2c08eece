#include "analyse/finding.h"

#include "base/array.h"

#include <stdlib.h>

/* Ranks that came late to their operations by themselves: excess own time, by rank and step. */

/*
 * The host's part: the operation was handed to the GPU later than usual, by most of the excess. Otherwise the
 * GPU had it in its queue and was busy. A host that waits for GPU work after the last operation of a step is
 * late likewise: nothing in a trace of communication tells the two apart.
 */
static int is_late_by_host(const struct job_operation *operation)
{
    if (operation->own_ns == TIME_UNKNOWN)
        return operation->enqueued_ns != TIME_UNKNOWN &&
               operation->start_ns - operation->enqueued_ns < operation->excess_ns / 2;
    return operation->late_beyond_ns != TIME_UNKNOWN && operation->late_beyond_ns >= operation->excess_ns / 2;
}

static int64_t host_part(const struct suspect *suspect, const struct job *job)
{
    int64_t part = 0;
    struct job_range range = suspect_operations(suspect, job);
    for (size_t i = range.first; i < range.end; i++)
        if (suspect_has_operation(suspect, &job->operations[i]) && is_late_by_host(&job->operations[i]))
            part += job->operations[i].excess_ns;
    return part;
}

static int64_t *cell_of(struct strength *strength, const struct job_operation *operation)
{
    return &strength->excess_ns[(size_t)operation->rank * (size_t)strength->steps + (size_t)operation->step];
}

/*
 * Lateness whose origin is hidden counts as a rank's own in steps in which it was late by itself elsewhere,
 * by at least a quarter of that.
 */
static void gather(struct job *job, struct strength *strength)
{
    for (size_t i = 0; i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (operation->step < 0)
            continue;
        *cell_of(strength, operation) += operation->excess_ns;
        if (operation->beyond_ns > 0)
            strength->unbounded_ns[cell_of(strength, operation) - strength->excess_ns] +=
                operation->beyond_ns;
    }
    for (size_t i = 0; i < job->operation_count; i++) {
        struct job_operation *operation = &job->operations[i];
        if (operation->hidden_ns <= 0 || operation->step < 0 ||
            *cell_of(strength, operation) * 4 < operation->hidden_ns)
            continue;
        operation->excess_ns = operation->hidden_ns;
        operation->hidden_ns = 0;
        *cell_of(strength, operation) += operation->excess_ns;
    }
}

/* How much later than the last but one it came; the whole excess where that cannot be read. */
static int64_t margin_of(const struct job *job, const struct job_operation *operation)
{
    const struct job_instance *instance = &job->instances[operation->instance];
    int64_t mine = operation->end_ns - operation->start_ns, nearest = INT64_MAX;
    if (!function_is_full_exchange(operation->function) && !function_is_point_to_point(operation->function))
        return 0;
    if (operation->end_ns == TIME_UNKNOWN || !function_is_full_exchange(operation->function))
        return operation->excess_ns;
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *other =
            &job->operations[job->instance_members[instance->first_member + (size_t)i]];
        if (other->start_ns == TIME_UNKNOWN || other->end_ns == TIME_UNKNOWN)
            return operation->excess_ns;
        int64_t after = other->end_ns - other->start_ns - mine;
        if (other != operation && after < nearest)
            nearest = after;
    }
    nearest = nearest < 0 ? 0 : nearest;
    return nearest < operation->excess_ns ? nearest : operation->excess_ns;
}

static int64_t total_margin(const struct suspect *suspect, const struct job *job)
{
    int64_t total = 0;
    struct job_range range = suspect_operations(suspect, job);
    for (size_t i = range.first; i < range.end; i++)
        if (suspect_has_operation(suspect, &job->operations[i]))
            total += margin_of(job, &job->operations[i]);
    return total;
}

/* The least usual own time that the rank has before operations of the same kind in the same step. */
static int64_t least_of_kind(const struct job *job, const struct job_operation *operation)
{
    int64_t least = INT64_MAX;
    struct job_range range = job_operations_in(job, operation->rank, operation->step, operation->step);
    for (size_t i = range.first; i < range.end; i++) {
        const struct job_operation *other = &job->operations[i];
        if (other->step == operation->step && other->communicator == operation->communicator &&
            other->function == operation->function && other->own_ns != TIME_UNKNOWN &&
            other->own_ns - other->beyond_ns < least)
            least = other->own_ns - other->beyond_ns;
    }
    return least;
}

/*
 * Own time that may hide something else: after a send, whose end its proxy tells only roughly; and, where the
 * recorder leaves point-to-point operations out of a job of several communicators, where it is usually
 * several times what it is before others of the kind: a receive may sit there.
 */
static int may_hide(const struct job *job, const struct job_operation *operation)
{
    if (operation->previous < 0)
        return 0;
    const struct job_operation *previous = &job->operations[operation->previous];
    if (previous->function == FUNCTION_SEND && previous->ends == ENDS_BY_PROXY)
        return 1;
    return job->blind_to_pairs && job->communicator_count > 1 &&
           operation->own_ns - operation->beyond_ns > 3 * least_of_kind(job, operation);
}

/*
 * A suspicion is ambiguous when most of it may hide something else. Where only the end of sends is doubtful,
 * several steps in a row speak for it all the same. The first step after the warm-up alone may still be part
 * of that.
 */
static void mark_ambiguous(struct suspect *suspect, const struct job *job, const struct baseline *baseline)
{
    int64_t hidden = 0;
    struct job_range range = suspect_operations(suspect, job);
    for (size_t i = range.first; i < range.end; i++)
        if (suspect_has_operation(suspect, &job->operations[i]) && may_hide(job, &job->operations[i]))
            hidden += job->operations[i].excess_ns;
    int alone = suspect->first_step == suspect->last_step;
    suspect->ambiguous = (hidden * 2 > suspect->total_ns && (job->blind_to_pairs || alone)) ||
                         (alone && suspect->last_step == baseline->first_step);
}

int suspect_own(struct suspects *suspects, struct job *job, const struct baseline *baseline,
                const struct diagnose_options *options, struct error *error)
{
    struct strength strength;
    size_t first = suspects->count;
    if (strength_init(&strength, job, baseline))
        return error_no_memory(error);
    strength.unbounded_ns =
        array_new(job->rank_count * (size_t)(baseline->step_count + 1), sizeof *strength.unbounded_ns);
    if (!strength.unbounded_ns) {
        strength_release(&strength);
        return error_no_memory(error);
    }
    gather(job, &strength);
    int64_t least_ns = (int64_t)(options->min_gain * (double)baseline->median_step_ns / 2);
    int failed = strength_find(&strength, least_ns > 0 ? least_ns : 1, FINDING_COMPUTE, suspects);
    strength_release(&strength);
    if (failed)
        return error_no_memory(error);
    for (size_t i = first; i < suspects->count; i++) {
        suspects->items[i].margin_ns = total_margin(&suspects->items[i], job);
        mark_ambiguous(&suspects->items[i], job, baseline);
        if (host_part(&suspects->items[i], job) * 2 > suspects->items[i].total_ns)
            suspects->items[i].kind = FINDING_HOST;
    }
    return 0;
}
