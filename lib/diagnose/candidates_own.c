#include "base/array.h"
#include "base/scale.h"
#include "baseline/cells.h"
#include "diagnose/suspect.h"
#include "job/groups.h"
#include "job/stages.h"
#include "job/step_index.h"

#include <stdlib.h>
#include <string.h>

/* Ranks that came late to their operations by themselves: excess own time, by rank and step. */

/*
 * Of the excess, one part in so many has to be lateness of the host: half; within a step less, since the
 * GPU's work beside communication then takes its time as well (suspect.h).
 */
enum { HOSTS_PART = 2, HOSTS_PART_WITHIN = 8 };

int is_late_by_host(const struct job *job, const struct job_operation *operation)
{
    if (operation->own_ns == TIME_UNKNOWN)
        return operation->enqueued_ns != TIME_UNKNOWN &&
               operation->start_ns - operation->enqueued_ns < operation->excess_ns / HOSTS_PART;
    int within = operation->previous >= 0 && job->operations[operation->previous].step == operation->step;
    return operation->late_beyond_ns != TIME_UNKNOWN &&
           operation->late_beyond_ns >= operation->excess_ns / (within ? HOSTS_PART_WITHIN : HOSTS_PART);
}

/*
 * Whether more than half of the excess is the host's: of that before operations whose own time is known,
 * where it is a quarter of all or more. Lateness of hidden origin does not say whose it is.
 */
static int is_mostly_hosts(const struct suspect *suspect, const struct job *job)
{
    int64_t host_ns[2] = {0, 0}, total_ns[2] = {0, 0}; /* [own time is known] */
    struct job_range range = suspect_operations(suspect, job);
    for (size_t i = range.first; i < range.end; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (!suspect_has_operation(suspect, operation))
            continue;
        int known = operation->own_ns != TIME_UNKNOWN;
        total_ns[known] += operation->excess_ns;
        if (is_late_by_host(job, operation))
            host_ns[known] += operation->excess_ns;
    }
    if (total_ns[1] * 3 >= total_ns[0])
        return host_ns[1] * 2 > total_ns[1];
    return (host_ns[0] + host_ns[1]) * 2 > total_ns[0] + total_ns[1];
}

static int64_t *cell_of(struct strength *strength, const struct job_operation *operation)
{
    return &strength->excess_ns[(size_t)operation->rank * (size_t)strength->steps + (size_t)operation->step];
}

/*
 * What a rank was late by before an operation and after it had last been on its communicator: who waits there
 * waits for that, too. Of this step and the one before.
 */
enum { LOOK_BACK = 4096 }; /* operations, whatever a trace claims */

static int64_t excess_since_last_met(const struct job *job, size_t at)
{
    const struct job_operation *operation = &job->operations[at];
    int64_t excess_ns = 0;
    size_t first = job->ranks[operation->rank].first;
    for (size_t i = at; i-- > first && at - i <= LOOK_BACK;) {
        const struct job_operation *before = &job->operations[i];
        if (before->communicator == operation->communicator || before->step < operation->step - 1)
            break;
        excess_ns += before->excess_ns;
    }
    return excess_ns;
}

static void gather_known(const struct job *job, struct strength *strength)
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
}

/*
 * Lateness whose origin is hidden counts as a rank's own in steps in which it was late by itself elsewhere,
 * by at least a quarter of that (`known_ns`, by cell; what is counted here speaks for no more of it); once.
 */
static void gather_of_hidden_origin(struct job *job, const int64_t *known_ns, struct strength *strength)
{
    for (size_t i = 0; i < job->operation_count; i++) {
        struct job_operation *operation = &job->operations[i];
        if (operation->hidden_ns <= 0 || operation->step < 0 ||
            known_ns[cell_of(strength, operation) - strength->excess_ns] * 4 < operation->hidden_ns)
            continue;
        int64_t counted_ns = excess_since_last_met(job, i);
        operation->excess_ns = operation->hidden_ns > counted_ns ? operation->hidden_ns - counted_ns : 0;
        operation->hidden_ns = 0;
        *cell_of(strength, operation) += operation->excess_ns;
    }
}

static int gather(struct job *job, struct strength *strength)
{
    size_t cells = strength->rank_count * (size_t)strength->steps;
    gather_known(job, strength);
    int64_t *known_ns = array_new(cells, sizeof *known_ns);
    if (!known_ns)
        return -1;
    memcpy(known_ns, strength->excess_ns, cells * sizeof *known_ns);
    gather_of_hidden_origin(job, known_ns, strength);
    free(known_ns);
    return 0;
}

int is_late_within(const struct job *job, const struct job_operation *operation)
{
    return operation->previous >= 0 && job->operations[operation->previous].step == operation->step &&
           is_late_by_host(job, operation);
}

/* Whether its host was late after an operation of all ranks ended the step: what it waits for then is over.
 */
static int is_late_after_all(const struct job *job, const struct job_operation *operation)
{
    if (operation->previous < 0 || !is_late_by_host(job, operation))
        return 0;
    const struct job_operation *previous = &job->operations[operation->previous];
    return job->communicators[previous->communicator].size >= (int64_t)job->rank_count &&
           function_is_full_exchange(previous->function) &&
           all_have_left(job, previous, operation->excess_ns / 2);
}

/* Whether what a rank was late by there may be a receive that the recorder leaves out (blind.c). */
static int is_hidden_pair(const struct job *job, const struct job_operation *operation)
{
    return job_hides_pairs_of_stages(job) && !is_late_within(job, operation) &&
           !is_late_after_all(job, operation) && may_hide_pair(job, operation);
}

static void gather_hidden(const struct job *job, struct strength *strength)
{
    for (size_t i = 0; i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (operation->excess_ns > 0 && is_hidden_pair(job, operation))
            strength->hidden_ns[cell_of(strength, operation) - strength->excess_ns] += operation->excess_ns;
    }
}

/* The position at which a rank was latest in a step; -1: at none. */
static int32_t latest_position(const struct job *job, int32_t rank, int32_t step)
{
    int64_t most_ns = 0;
    int32_t position = -1;
    struct job_range range = job_operations_in(job, rank, step, step);
    for (size_t i = range.first; i < range.end; i++)
        if (job->operations[i].excess_ns > most_ns) {
            most_ns = job->operations[i].excess_ns;
            position = job->operations[i].position;
        }
    return position;
}

static int is_known_at(const struct job *job, const struct baseline *baseline, int32_t rank, int32_t position,
                       int32_t step)
{
    int32_t role = baseline->role_of_rank[rank];
    if (position < 0 || role < 0)
        return 1;
    int32_t cell = baseline_cell(baseline, role, position, (size_t)baseline->rank_in_role[rank], step);
    return cell >= 0 && job->operations[cell].own_is_known;
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
            int32_t before = latest_position(job, (int32_t)rank, step - 1);
            int32_t after = latest_position(job, (int32_t)rank, step + 1);
            strength->blank[here - strength->excess_ns] =
                !is_known_at(job, baseline, (int32_t)rank, before, step) ||
                !is_known_at(job, baseline, (int32_t)rank, after, step);
        }
}

/*
 * How much later than the last but one it came; the whole excess where that cannot be read, nothing where no
 * other member left a record that would show it waiting.
 */
static int64_t margin_of(const struct job *job, const struct job_operation *operation)
{
    const struct job_instance *instance = &job->instances[operation->instance];
    int64_t mine = operation->end_ns - operation->start_ns, nearest = INT64_MAX;
    if (!function_is_full_exchange(operation->function) && operation->function != FUNCTION_SEND)
        return 0;
    if (operation->end_ns == TIME_UNKNOWN || !function_is_full_exchange(operation->function))
        return operation->excess_ns;
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *other = job_member(job, instance, i);
        if (other->start_ns == TIME_UNKNOWN || other->end_ns == TIME_UNKNOWN)
            return operation->excess_ns;
        int64_t after = other->end_ns - other->start_ns - mine;
        if (other != operation && after < nearest)
            nearest = after;
    }
    if (nearest < 0 || nearest == INT64_MAX)
        return 0;
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

/*
 * Own time that may hide something else: after a send, whose end its proxy or the host tells only roughly, or
 * a receive of which only the host does.
 */
static int may_hide(const struct job *job, const struct job_operation *operation)
{
    if (operation->previous < 0)
        return 0;
    const struct job_operation *previous = &job->operations[operation->previous];
    if (is_late_within(job, operation))
        return 0;
    return (previous->function == FUNCTION_SEND && previous->ends != ENDS_BY_KERNEL) ||
           (previous->function == FUNCTION_RECV && previous->ends == ENDS_BY_HOST);
}

/*
 * Of sends and receives called as one the kernel ends with the last, whichever that is: where the host alone
 * says when some of them ended, what comes after may have waited for any.
 */
static int has_open_end(const struct job *job, int32_t previous)
{
    if (previous < 0 || !job->finished_only || !job_is_grouped(job, previous))
        return 0;
    size_t at = (size_t)job->operations[previous].group;
    for (; at < job->operation_count && job->operations[at].group == job->operations[previous].group; at++)
        if (job->operations[at].ends == ENDS_BY_HOST)
            return 1;
    return 0;
}

/* Of a suspicion, what may be something else. */
struct doubt {
    int64_t known_ns;       /* whose own time is known */
    int64_t ends_ns;        /* that may be the rough end of a send or a receive */
    int64_t pairs_ns;       /* that may be a receive which the recorder leaves out (blind.c) */
    int64_t groups_ns;      /* that may be what was called as one with the operation before */
    int32_t clear_of_pairs; /* steps in which enough is none that the recorder leaves out */
    int32_t clear_steps;    /* nor a rough end */
};

/* What is none of either, in one step. */
struct clear {
    int32_t step;
    int64_t of_pairs_ns;
    int64_t of_both_ns;
};

static void close_step(struct doubt *doubt, const struct clear *clear, int64_t least_ns)
{
    doubt->clear_of_pairs += clear->of_pairs_ns >= least_ns;
    doubt->clear_steps += clear->of_both_ns >= least_ns;
}

static struct doubt doubt_of(const struct suspect *suspect, const struct job *job, int64_t least_ns)
{
    struct doubt doubt = {0};
    struct clear clear = {.step = suspect->first_step};
    struct job_range range = suspect_operations(suspect, job);
    for (size_t i = range.first; i < range.end; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (!suspect_has_operation(suspect, operation))
            continue;
        if (operation->step != clear.step) {
            close_step(&doubt, &clear, least_ns);
            clear = (struct clear){.step = operation->step};
        }
        int within = is_late_within(job, operation);
        int may_be_end = may_hide(job, operation),
            may_be_pair = !may_be_end && is_hidden_pair(job, operation);
        if (operation->own_ns != TIME_UNKNOWN)
            doubt.known_ns += operation->excess_ns;
        if (may_be_end)
            doubt.ends_ns += operation->excess_ns;
        if (may_be_pair)
            doubt.pairs_ns += operation->excess_ns;
        else
            clear.of_pairs_ns += operation->excess_ns;
        if (!may_be_end && !may_be_pair)
            clear.of_both_ns += operation->excess_ns;
        if (has_open_end(job, operation->previous) && !within)
            doubt.groups_ns += operation->excess_ns;
    }
    close_step(&doubt, &clear, least_ns);
    return doubt;
}

/*
 * Whether most of a suspicion is doubtful, and the rest would not do by itself (`least_ns` a step), is less
 * than a quarter, which may come along with it, or is there in fewer than half of the steps.
 */
static int is_mostly(const struct suspect *suspect, const struct doubt *doubt, int64_t doubtful_ns,
                     int32_t clear_steps, int64_t least_ns)
{
    int32_t steps = suspect_steps(suspect);
    int64_t rest_ns = suspect->total_ns - doubtful_ns;
    return doubtful_ns * 2 > doubt->known_ns && (steps < 2 || rest_ns < steps * least_ns ||
                                                 rest_ns * 4 < suspect->total_ns || clear_steps * 2 < steps);
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
        if (suspect_has_operation(suspect, &job->operations[i]) && job->operations[i].position == 0)
            first_ns += job->operations[i].excess_ns;
    return job->in_stages && suspect->first_step > baseline->first_step && first_ns * 2 > suspect->total_ns;
}

/*
 * A suspicion is ambiguous when most of it may be something else. Where only the end of sends is doubtful,
 * several steps in a row speak for it all the same. The first step after the warm-up alone may still be part
 * of that.
 */
static void mark_ambiguous(struct suspect *suspect, const struct job *job, const struct baseline *baseline,
                           int64_t least_ns)
{
    struct doubt doubt = doubt_of(suspect, job, least_ns);
    int is_alone = suspect->first_step == suspect->last_step;
    int may_be_other =
        is_mostly(suspect, &doubt, doubt.ends_ns + doubt.pairs_ns, doubt.clear_steps, least_ns);
    suspect->hides_pairs = is_mostly(suspect, &doubt, doubt.pairs_ns, doubt.clear_of_pairs, least_ns);
    suspect->ambiguous = (may_be_other && (job->blind_to_pairs || is_alone)) ||
                         doubt.groups_ns * 2 > suspect->total_ns ||
                         suspect->last_step == baseline->first_step;
}

int suspect_own(struct suspects *suspects, struct job *job, const struct baseline *baseline,
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
    if (!strength.unbounded_ns || !strength.hidden_ns || !strength.blank || gather(job, &strength)) {
        strength_release(&strength);
        return error_no_memory(error);
    }
    gather_hidden(job, &strength);
    int64_t least_ns = scale(baseline->median_step_ns, options->min_gain / 2);
    least_ns = least_ns > 0 ? least_ns : 1;
    mark_blank(job, baseline, &strength, least_ns);
    int failed = strength_find(&strength, least_ns, FINDING_COMPUTE, suspects);
    strength_release(&strength);
    if (failed)
        return error_no_memory(error);
    for (size_t i = first; i < suspects->count; i++) {
        suspects->items[i].margin_ns = total_margin(&suspects->items[i], job);
        suspects->items[i].shows_earlier = begins_steps(&suspects->items[i], job, baseline);
        mark_ambiguous(&suspects->items[i], job, baseline,
                       scale(baseline->median_step_ns, options->min_gain));
        if (is_mostly_hosts(&suspects->items[i], job))
            suspects->items[i].kind = FINDING_HOST;
    }
    return 0;
}
