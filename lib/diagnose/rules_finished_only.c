#include "diagnose/rules_finished_only.h"

/* What a recorder hides that lists finished operations only, without algorithms and network steps. */

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
static int may_be_leaf(const struct job *job, const struct baseline *baseline,
                       const struct job_operation *operation)
{
    if (operation->previous < 0 || job->operations[operation->previous].function != FUNCTION_ALL_REDUCE)
        return 0;
    return others_went_on(job, &job->operations[operation->previous]) >=
           excess_of(baseline, job, operation).excess_ns / 2;
}

static double measure_leaf(const struct suspect *suspect, const struct job *job,
                           const struct baseline *baseline)
{
    int64_t held_ns = 0;
    struct job_range range = suspect_operations(suspect, job);
    for (size_t i = range.first; i < range.end; i++)
        if (suspect_has_operation(suspect, &job->operations[i], excess_ns_at(&baseline->excess, i)) &&
            may_be_leaf(job, baseline, &job->operations[i]))
            held_ns += excess_ns_at(&baseline->excess, i);
    return ratio_of(held_ns, suspect->total_ns);
}

/*
 * Where nobody waited for it (a twentieth at most) where that can be read, how much of what it was late by
 * comes after operations with a root: that ends them before the others do, and is idle then.
 */
static double measure_behind_root(const struct suspect *suspect, const struct job *job,
                                  const struct baseline *baseline)
{
    int64_t after_ns = 0;
    if (ratio_of(suspect->margin_ns, suspect->total_ns) >= limit_of(LIMIT_WAITED))
        return NOT_ASKED;
    struct job_range range = suspect_operations(suspect, job);
    for (size_t i = range.first; i < range.end; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (!suspect_has_operation(suspect, operation, excess_ns_at(&baseline->excess, i)) ||
            operation->previous < 0)
            continue;
        enum function before = job->operations[operation->previous].function;
        if (function_is_full_exchange(operation->function) && !function_is_full_exchange(before) &&
            !function_is_point_to_point(before))
            after_ns += excess_ns_at(&baseline->excess, i);
    }
    return ratio_of(after_ns, suspect->total_ns);
}

void suspects_doubt_unrecorded(struct suspects *suspects, const struct job *job,
                               const struct baseline *baseline)
{
    for (size_t i = 0; job->finished_only && i < suspects->count; i++) {
        struct suspect *suspect = &suspects->items[i];
        if (suspect->kind == FINDING_NETWORK)
            continue;
        suspect_ask(suspect, RULE_LEAF_OF_TREE, measure_leaf(suspect, job, baseline));
        suspect_ask(suspect, RULE_BEHIND_ROOT, measure_behind_root(suspect, job, baseline));
    }
}
