#include "base/array.h"
#include "base/top_two.h"
#include "diagnose/suspect.h"
#include "job/stages.h"
#include "job/step_index.h"

#include <stdlib.h>

/* What a recorder hides that leaves point-to-point operations out, or algorithms and network steps. */

/* So many operations of a step are looked at, whatever a trace claims. */
enum { MOST_LOOKED_AT = 4096 };

/*
 * The least usual own time that the rank has before other operations of the kind in the same step. One of the
 * same place is none: where the record is lost that divides two steps, they are one.
 */
static int64_t least_of_kind(const struct job *job, const struct job_operation *operation)
{
    int64_t least = -1;
    if (operation->step < 0)
        return least;
    struct job_range range = job_operations_in(job, operation->rank, operation->step, operation->step);
    for (size_t i = range.first; i < range.end && i - range.first < MOST_LOOKED_AT; i++) {
        const struct job_operation *other = &job->operations[i];
        if (other->position >= 0 && other->position != operation->position &&
            other->step == operation->step && other->communicator == operation->communicator &&
            other->function == operation->function && other->own_ns != TIME_UNKNOWN &&
            (least < 0 || other->own_ns - other->beyond_ns < least))
            least = other->own_ns - other->beyond_ns;
    }
    return least;
}

/* To wait for another stage takes the work of several layers, where others of the kind come after one each.
 */
enum { TIMES_OTHERS = 3 };

int may_hide_pair(const struct job *job, const struct job_operation *operation)
{
    int64_t least = least_of_kind(job, operation);
    return operation->previous >= 0 &&
           (least < 0 || operation->own_ns - operation->beyond_ns > TIMES_OTHERS * least);
}

static int64_t excess_in_step(const struct job *job, int32_t rank, int32_t step)
{
    int64_t excess_ns = 0;
    struct job_range range = job_operations_in(job, rank, step, step);
    for (size_t i = range.first; i < range.end; i++)
        if (job->operations[i].step == step)
            excess_ns += job->operations[i].excess_ns;
    return excess_ns;
}

/* Per step, the rank that was late by itself the most, and the next one. */
static struct contest *find_latest(const struct job *job)
{
    struct contest *latest = array_new((size_t)job->step_count + 1, sizeof *latest);
    for (int32_t step = 0; latest && step < job->step_count; step++) {
        latest[step] = (struct contest){.rank = -1};
        for (size_t rank = 0; rank < job->rank_count; rank++)
            contest_enter(&latest[step], (int32_t)rank, excess_in_step(job, (int32_t)rank, step));
    }
    return latest;
}

/* In most of its steps another rank was late by itself too, by half as much. */
static int may_be_exchange(const struct suspect *suspect, const struct job *job, const struct contest *latest)
{
    int32_t shared = 0;
    for (int32_t step = suspect->first_step; step <= suspect->last_step; step++) {
        int64_t others = latest[step].rank == suspect->rank ? latest[step].second : latest[step].most;
        shared += others * 2 >= excess_in_step(job, suspect->rank, step);
    }
    return shared * 2 > suspect_steps(suspect);
}

int suspects_doubt_exchanges(struct suspects *suspects, const struct job *job)
{
    struct contest *latest;
    if (!job->blind_to_pairs || job->in_stages)
        return 0;
    latest = find_latest(job);
    for (size_t i = 0; latest && i < suspects->count; i++)
        if (suspects->items[i].kind != FINDING_NETWORK && may_be_exchange(&suspects->items[i], job, latest))
            suspects->items[i].ambiguous = 1;
    int failed = latest ? 0 : -1;
    free(latest);
    return failed;
}

int suspects_are_together(const struct suspect *a, const struct suspect *b)
{
    int32_t first = a->first_step > b->first_step ? a->first_step : b->first_step;
    int32_t last = a->last_step < b->last_step ? a->last_step : b->last_step;
    int32_t mine = suspect_steps(a), others = suspect_steps(b);
    return (last - first + 1) * 2 > (mine < others ? mine : others);
}

/* Whether a rank of another stage was late in the same steps by what may be receives: of the slow sends. */
static int has_receiver(const struct suspects *suspects, const struct suspect *network, const int32_t *stage)
{
    for (size_t i = 0; i < suspects->count; i++) {
        const struct suspect *other = &suspects->items[i];
        if (other->kind != FINDING_NETWORK && other->hides_pairs &&
            stage[other->rank] != stage[network->rank] && suspects_are_together(network, other))
            return 1;
    }
    return 0;
}

/* One step or two may be a moment that has passed, and what is slow then is told by who was late. */
enum { STEPS_TOLD = 3 };

static void join_hidden_sends(const struct suspects *suspects, struct suspect *network)
{
    for (size_t i = 0; i < suspects->count; i++) {
        const struct suspect *held = &suspects->items[i];
        if (held->kind == FINDING_NETWORK || !held->hides_pairs || held->rank != network->rank ||
            !suspects_are_together(network, held))
            continue;
        network->chance = held->chance < network->chance ? held->chance : network->chance;
        network->ahead = held->ahead > network->ahead ? held->ahead : network->ahead;
    }
}

int suspects_join_hidden_sends(struct suspects *suspects, const struct job *job)
{
    int32_t *stage = job->blind_to_pairs ? stages_find(job) : NULL;
    for (size_t i = 0; stage && i < suspects->count; i++) {
        struct suspect *network = &suspects->items[i];
        if (network->kind == FINDING_NETWORK && network->counted_steps >= STEPS_TOLD &&
            has_receiver(suspects, network, stage))
            join_hidden_sends(suspects, network);
    }
    int failed = job->blind_to_pairs && !stage;
    free(stage);
    return failed ? -1 : 0;
}

/* Per step, the greatest excess of an operation of it that nobody is to blame for. */
static int64_t *find_unexplained(const struct job *job)
{
    int64_t *most_ns = array_new((size_t)job->step_count + 1, sizeof *most_ns);
    for (size_t i = 0; most_ns && i < job->instance_count; i++) {
        const struct job_instance *instance = &job->instances[i];
        if (instance->culprit < 0 && instance->step >= 0 && instance->slow_ns > most_ns[instance->step])
            most_ns[instance->step] = instance->slow_ns;
    }
    return most_ns;
}

/* Of most of its steps, or those before them. */
static int has_greater_unexplained(const struct suspect *suspect, const int64_t *unexplained)
{
    int32_t steps = suspect_steps(suspect), found = 0;
    int64_t least_ns = 2 * (suspect->total_ns / steps);
    for (int32_t step = suspect->first_step; step <= suspect->last_step; step++)
        found += unexplained[step] >= least_ns || (step && unexplained[step - 1] >= least_ns);
    return found * 2 > steps;
}

/*
 * How long after this member another one ended, by the clocks: at least, less what they may be off (`sign`
 * -1), or at most (1). TIME_UNKNOWN where they do not tell.
 */
static int64_t ended_after(const struct job *job, const struct job_operation *member,
                           const struct job_operation *other, int sign)
{
    int64_t mine = job_common_time(job, member, member->end_ns);
    int64_t end = job_common_time(job, other, other->end_ns);
    int64_t doubt = job_clock_doubt(job, member->rank, other->rank);
    return mine == TIME_UNKNOWN || end == TIME_UNKNOWN ? TIME_UNKNOWN : end - mine + sign * doubt;
}

/* How long after this member the last one of its operation ended, at least. */
static int64_t others_went_on(const struct job *job, const struct job_operation *member)
{
    const struct job_instance *instance = &job->instances[member->instance];
    int64_t most_ns = 0;
    for (int32_t i = 0; i < instance->members; i++) {
        int64_t after_ns = ended_after(job, member, job_member(job, instance, i), -1);
        if (after_ns != TIME_UNKNOWN && after_ns > most_ns)
            most_ns = after_ns;
    }
    return most_ns;
}

int all_have_left(const struct job *job, const struct job_operation *member, int64_t after_ns)
{
    const struct job_instance *instance = &job->instances[member->instance];
    if (instance->members < instance->expected)
        return 0;
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *other = job_member(job, instance, i);
        int64_t most_ns = ended_after(job, member, other, 1);
        if (most_ns == TIME_UNKNOWN || (other != member && most_ns > after_ns))
            return 0;
    }
    return 1;
}

/* Whether the operation before may have been a tree, of which the rank was a leaf: it noted its stop early.
 */
static int may_be_leaf(const struct job *job, const struct job_operation *operation)
{
    if (operation->previous < 0 || job->operations[operation->previous].function != FUNCTION_ALL_REDUCE)
        return 0;
    return others_went_on(job, &job->operations[operation->previous]) >= operation->excess_ns / 2;
}

static int is_mostly_leaf(const struct suspect *suspect, const struct job *job)
{
    int64_t held_ns = 0;
    struct job_range range = suspect_operations(suspect, job);
    for (size_t i = range.first; i < range.end; i++)
        if (suspect_has_operation(suspect, &job->operations[i]) && may_be_leaf(job, &job->operations[i]))
            held_ns += job->operations[i].excess_ns;
    return held_ns * 2 > suspect->total_ns;
}

/* That others waited for less than one part in so many of what a rank was late by is as good as not at all.
 */
enum { WAITED_PART = 20 };

/*
 * Whether nobody waited for it (a twentieth at most) where that can be read, and it was late after operations
 * with a root: that ends them before the others do, and is idle then.
 */
static int may_have_ended_first(const struct suspect *suspect, const struct job *job)
{
    int64_t after_ns = 0;
    if (suspect->margin_ns * WAITED_PART >= suspect->total_ns)
        return 0;
    struct job_range range = suspect_operations(suspect, job);
    for (size_t i = range.first; i < range.end; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (!suspect_has_operation(suspect, operation) || operation->previous < 0)
            continue;
        enum function before = job->operations[operation->previous].function;
        if (function_is_full_exchange(operation->function) && !function_is_full_exchange(before) &&
            !function_is_point_to_point(before))
            after_ns += operation->excess_ns;
    }
    return after_ns * 2 > suspect->total_ns;
}

int suspects_doubt_unrecorded(struct suspects *suspects, const struct job *job)
{
    if (!job->finished_only)
        return 0;
    int64_t *unexplained = find_unexplained(job);
    for (size_t i = 0; unexplained && i < suspects->count; i++) {
        struct suspect *suspect = &suspects->items[i];
        if (suspect->kind != FINDING_NETWORK &&
            (has_greater_unexplained(suspect, unexplained) || is_mostly_leaf(suspect, job) ||
             may_have_ended_first(suspect, job)))
            suspect->ambiguous = 1;
    }
    int failed = unexplained ? 0 : -1;
    free(unexplained);
    return failed;
}
