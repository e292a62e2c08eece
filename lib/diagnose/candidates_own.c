#include "diagnose/candidates_own.h"

#include "base/array.h"
#include "base/scale.h"
#include "baseline/cells.h"
#include "diagnose/host_or_gpu.h"
#include "diagnose/rules_own_end.h"
#include "diagnose/significance.h"
#include "diagnose/step_runs.h"
#include "job/arrival.h"
#include "job/own_time.h"
#include "job/step_index.h"

#include <stdlib.h>
#include <string.h>

/* Ranks that came late to their operations by themselves: excess own time, by rank and step. */

/*
 * What a rank was late by before an operation and after it had last been on its communicator: who waits there
 * waits for that, too. Of this step and the one before.
 */
enum { LOOK_BACK = 4096 }; /* operations, whatever a trace claims */

static int64_t excess_since_last_met(const struct job *job, const struct baseline *baseline, size_t at)
{
    const struct job_operation *operation = &job->operations[at];
    int64_t excess_ns = 0;
    size_t first = job->ranks[operation->rank].first;
    for (size_t i = at; i-- > first && at - i <= LOOK_BACK;) {
        const struct job_operation *before = &job->operations[i];
        if (before->communicator == operation->communicator || before->step < operation->step - 1)
            break;
        excess_ns += excess_ns_at(&baseline->excess, i);
    }
    return excess_ns;
}

static void gather_known(const struct job *job, const struct baseline *baseline, struct strength *strength)
{
    for (size_t i = 0; i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (operation->step < 0)
            continue;
        *strength_cell(strength, (size_t)operation->rank, operation->step) +=
            excess_ns_at(&baseline->excess, i);
        if (excess_listed(&baseline->excess, i).beyond_ns > 0)
            strength->unbounded_ns[strength_cell(strength, (size_t)operation->rank, operation->step) -
                                   strength->excess_ns] += excess_listed(&baseline->excess, i).beyond_ns;
    }
}

/*
 * Lateness whose origin is hidden counts as a rank's own in steps in which it was late by itself elsewhere,
 * by at least a quarter of that (`known_ns`, by cell; what is counted here speaks for no more of it); once.
 */
static void gather_of_hidden_origin(const struct job *job, struct baseline *baseline, const int64_t *known_ns,
                                    struct strength *strength)
{
    for (size_t i = 0; i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int64_t hidden_ns = baseline->hidden[i].hidden_ns;
        if (hidden_ns <= 0 || operation->step < 0 ||
            known_ns[strength_cell(strength, (size_t)operation->rank, operation->step) -
                     strength->excess_ns] *
                    4 <
                hidden_ns)
            continue;
        int64_t counted_ns = excess_since_last_met(job, baseline, i);
        struct excess excess = excess_listed(&baseline->excess, i);
        excess.excess_ns = hidden_ns > counted_ns ? hidden_ns - counted_ns : 0;
        excess_put(&baseline->excess, i, excess);
        baseline->hidden[i].hidden_ns = 0;
        *strength_cell(strength, (size_t)operation->rank, operation->step) += excess.excess_ns;
    }
}

static int gather(const struct job *job, struct baseline *baseline, struct strength *strength)
{
    size_t cells = strength->rank_count * (size_t)strength->steps;
    gather_known(job, baseline, strength);
    int64_t *known_ns = array_new(cells, sizeof *known_ns);
    if (!known_ns)
        return -1;
    memcpy(known_ns, strength->excess_ns, cells * sizeof *known_ns);
    gather_of_hidden_origin(job, baseline, known_ns, strength);
    free(known_ns);
    return baseline->excess.failed ? -1 : 0;
}

static void gather_hidden(const struct job *job, const struct baseline *baseline, struct strength *strength)
{
    for (size_t i = 0; i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (excess_ns_at(&baseline->excess, i) > 0 && is_hidden_pair(job, baseline, operation))
            strength->hidden_ns[strength_cell(strength, (size_t)operation->rank, operation->step) -
                                strength->excess_ns] += excess_ns_at(&baseline->excess, i);
    }
}

/* The position at which a rank was latest in a step; -1: at none. */
static int32_t latest_position(const struct job *job, const struct baseline *baseline, int32_t rank,
                               int32_t step)
{
    int64_t most_ns = 0;
    int32_t position = -1;
    struct job_range range = job_operations_in(job, rank, step, step);
    for (size_t i = range.first; i < range.end; i++)
        if (excess_ns_at(&baseline->excess, i) > most_ns) {
            most_ns = excess_ns_at(&baseline->excess, i);
            position = baseline->positions[i];
        }
    return position;
}

static int is_known_at(const struct baseline *baseline, int32_t rank, int32_t position, int32_t step)
{
    int32_t role = baseline->role_of_rank[rank];
    if (position < 0 || role < 0)
        return 1;
    int32_t cell = baseline_cell(baseline, role, position, (size_t)baseline->rank_in_role[rank], step);
    return cell >= 0 && excess_listed(&baseline->excess, cell).beyond_ns != TIME_UNKNOWN;
}

/* Steps between two in which a rank was late, where nothing is known of the place at which it was: lost. */
static void mark_blank(const struct job *job, const struct baseline *baseline, struct strength *strength,
                       int64_t least_ns)
{
    for (size_t rank = 0; rank < strength->rank_count; rank++)
        for (int32_t step = strength->first_step + 1; step + 1 < strength->steps; step++) {
            const int64_t *here = &strength->excess_ns[rank * (size_t)strength->steps + (size_t)step];
            if (here[-1] < least_ns || here[0] >= least_ns || here[1] < least_ns)
                continue;
            int32_t before = latest_position(job, baseline, (int32_t)rank, step - 1);
            int32_t after = latest_position(job, baseline, (int32_t)rank, step + 1);
            strength->blank[here - strength->excess_ns] =
                !is_known_at(baseline, (int32_t)rank, before, step) ||
                !is_known_at(baseline, (int32_t)rank, after, step);
        }
}

/*
 * How much later than the last but one it came; the whole excess where that cannot be read, nothing where no
 * other member left a record that would show it waiting.
 */
static int64_t margin_of(const struct job *job, const struct baseline *baseline, size_t at)
{
    int64_t excess_ns = excess_ns_at(&baseline->excess, at);
    const struct job_operation *operation = &job->operations[at];
    const struct job_instance *instance = &job->instances[operation->instance];
    int64_t mine = arrival_stay_ns(job, (int32_t)at), nearest = INT64_MAX;
    if (!arrival_is_told(instance, operation->function))
        return 0;
    if (mine == TIME_UNKNOWN || operation->function == FUNCTION_SEND)
        return excess_ns;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t other = job_member_at(job, instance, i);
        int64_t stay_ns = arrival_stay_ns(job, other);
        if (stay_ns == TIME_UNKNOWN)
            return excess_ns;
        if ((size_t)other != at && stay_ns - mine < nearest)
            nearest = stay_ns - mine;
    }
    if (nearest < 0 || nearest == INT64_MAX)
        return 0;
    return nearest < excess_ns ? nearest : excess_ns;
}

static int64_t total_margin(const struct suspect *suspect, const struct job *job,
                            const struct baseline *baseline)
{
    int64_t total = 0;
    struct job_range range = suspect_operations(suspect, job);
    for (size_t i = range.first; i < range.end; i++)
        if (suspect_has_operation(suspect, &job->operations[i], excess_ns_at(&baseline->excess, i)))
            total += margin_of(job, baseline, i);
    return total;
}

static int rests_on_estimates(const struct suspect *suspect, const struct job *job,
                              const struct baseline *baseline)
{
    int64_t estimated_ns = 0;
    struct job_range range = suspect_operations(suspect, job);
    for (size_t i = range.first; i < range.end; i++)
        if (suspect_has_operation(suspect, &job->operations[i], excess_ns_at(&baseline->excess, i)) &&
            job_is_own_estimated(job, &job->operations[i]))
            estimated_ns += excess_ns_at(&baseline->excess, i);
    return estimated_ns * 2 > suspect->total_ns;
}

/*
 * Whether most of a suspicion is before the operations that begin its steps. Where there are stages, those
 * that wait for such a rank begin late, too: by their clocks the step before was longer.
 */
static int begins_steps(const struct suspect *suspect, const struct job *job, const struct baseline *baseline)
{
    int64_t first_ns = 0;
    struct job_range range = suspect_operations(suspect, job);
    for (size_t i = range.first; i < range.end; i++)
        if (suspect_has_operation(suspect, &job->operations[i], excess_ns_at(&baseline->excess, i)) &&
            baseline->positions[i] == 0)
            first_ns += excess_ns_at(&baseline->excess, i);
    return job->in_stages && suspect->first_step > baseline->first_step && first_ns * 2 > suspect->total_ns;
}

int suspect_own(struct suspects *suspects, const struct job *job, struct baseline *baseline,
                const struct diagnose_options *options, struct error *error)
{
    struct strength strength;
    size_t first = suspects->count;
    if (strength_init(&strength, job, baseline))
        return error_no_memory(error);
    size_t cells = job->rank_count * (size_t)(baseline->step_count + 1);
    strength.unbounded_ns = array_new(cells, sizeof *strength.unbounded_ns);
    strength.hidden_ns = array_new(cells, sizeof *strength.hidden_ns);
    strength.blank = array_new(cells, sizeof *strength.blank);
    if (!strength.unbounded_ns || !strength.hidden_ns || !strength.blank ||
        gather(job, baseline, &strength)) {
        strength_release(&strength);
        return error_no_memory(error);
    }
    gather_hidden(job, baseline, &strength);
    int64_t least_ns = scale(baseline->median_step_ns, options->min_gain / 2);
    least_ns = least_ns > 0 ? least_ns : 1;
    mark_blank(job, baseline, &strength, least_ns);
    int failed = strength_find(&strength, least_ns, FINDING_COMPUTE, suspects);
    strength_release(&strength);
    if (failed)
        return error_no_memory(error);
    for (size_t i = first; i < suspects->count; i++) {
        suspects->items[i].margin_ns = total_margin(&suspects->items[i], job, baseline);
        suspects->items[i].on_estimates = rests_on_estimates(&suspects->items[i], job, baseline);
        suspects->items[i].shows_earlier = begins_steps(&suspects->items[i], job, baseline);
        suspect_doubt_own(&suspects->items[i], job, baseline,
                          scale(baseline->median_step_ns, options->min_gain));
        if (is_mostly_hosts(&suspects->items[i], job, baseline))
            suspects->items[i].kind = FINDING_HOST;
    }
    return 0;
}
