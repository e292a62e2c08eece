#include "analyse/edges.h"
#include "analyse/finding.h"

#include "base/array.h"
#include "base/scale.h"

#include <stdlib.h>

/* Ranks that came late to their operations by themselves: excess own time, by rank and step. */

/*
 * The host's part: the operation was handed to the GPU later than usual, when that had nothing to do, by half
 * of the excess. Otherwise the GPU had it in its queue and was busy. Within a step an eighth is enough:
 * computation that runs beside communication is late with the host, and then takes its time. A host that
 * waits for GPU work after the last operation of a step is late likewise: nothing in a trace of communication
 * tells the two apart.
 */
static int is_late_by_host(const struct job *job, const struct job_operation *operation)
{
    if (operation->own_ns == TIME_UNKNOWN)
        return operation->enqueued_ns != TIME_UNKNOWN &&
               operation->start_ns - operation->enqueued_ns < operation->excess_ns / 2;
    int within = operation->previous >= 0 && job->operations[operation->previous].step == operation->step;
    return operation->late_beyond_ns != TIME_UNKNOWN &&
           operation->late_beyond_ns >= operation->excess_ns / (within ? 8 : 2);
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

/*
 * Lateness whose origin is hidden counts as a rank's own in steps in which it was late by itself elsewhere,
 * by at least a quarter of that; once.
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
        int64_t counted_ns = excess_since_last_met(job, i);
        operation->excess_ns = operation->hidden_ns > counted_ns ? operation->hidden_ns - counted_ns : 0;
        operation->hidden_ns = 0;
        *cell_of(strength, operation) += operation->excess_ns;
    }
}

/* Whether its host was late within the step: that hides nothing. It waits for its GPU at the end of one. */
static int is_late_within(const struct job *job, const struct job_operation *operation)
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
    return job->blind_to_pairs && job->in_stages && !is_late_within(job, operation) &&
           !is_late_after_all(job, operation) && may_hide_pair(job, operation);
}

static void gather_hidden(const struct job *job, struct strength *strength)
{
    for (size_t i = 0; i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (operation->step >= 0 && operation->excess_ns > 0 && is_hidden_pair(job, operation))
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

/* How much later than the last but one it came; the whole excess where that cannot be read. */
static int64_t margin_of(const struct job *job, const struct job_operation *operation)
{
    const struct job_instance *instance = &job->instances[operation->instance];
    int64_t mine = operation->end_ns - operation->start_ns, nearest = INT64_MAX;
    if (!function_is_full_exchange(operation->function) && operation->function != FUNCTION_SEND)
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
                         (is_alone && suspect->last_step == baseline->first_step);
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
    if (!strength.unbounded_ns || !strength.hidden_ns || !strength.blank) {
        strength_release(&strength);
        return error_no_memory(error);
    }
    gather(job, &strength);
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
        mark_ambiguous(&suspects->items[i], job, baseline,
                       scale(baseline->median_step_ns, options->min_gain));
        if (is_mostly_hosts(&suspects->items[i], job))
            suspects->items[i].kind = FINDING_HOST;
    }
    return 0;
}

/* A greater suspicion of that rank in the same step; NULL. */
static const struct suspect *greater_suspect(const struct suspects *suspects, const struct suspect *than,
                                             int32_t rank, int32_t step)
{
    for (size_t i = 0; i < suspects->count; i++) {
        const struct suspect *suspect = &suspects->items[i];
        if (suspect->rank == rank && step >= suspect->first_step && step <= suspect->last_step &&
            suspect->total_ns / suspect_steps(suspect) > than->total_ns / suspect_steps(than))
            return suspect;
    }
    return NULL;
}

/*
 * Whether the own time before an operation may be waiting for somebody else under suspicion: the group before
 * it received from them, and no kernel says when. Or for the rank's own network, itself
 * under greater suspicion: the group before it sent or received by that, or what is late is a send, and only
 * the host says when.
 */
static int may_have_waited(const struct suspects *suspects, const struct suspect *suspect,
                           const struct job *job, const struct job_operation *operation)
{
    if (operation->previous < 0)
        return 0;
    const struct suspect *mine =
        job->finished_only ? greater_suspect(suspects, suspect, operation->rank, operation->step) : NULL;
    int network = mine && mine->kind == FINDING_NETWORK;
    if (network && operation->function == FUNCTION_SEND && operation->ends == ENDS_BY_HOST)
        return 1;
    size_t at = (size_t)job->operations[operation->previous].group, first = at;
    for (; at < job->operation_count && job->operations[at].group == (int32_t)first; at++) {
        const struct job_operation *pair = &job->operations[at];
        int32_t sender = job->instances[pair->instance].sender;
        if ((pair->function != FUNCTION_RECV && pair->function != FUNCTION_SEND) ||
            pair->ends == ENDS_BY_KERNEL)
            continue;
        if ((network && pair->ends == ENDS_BY_HOST) ||
            (pair->function == FUNCTION_RECV && sender >= 0 &&
             greater_suspect(suspects, suspect, sender, operation->step)))
            return 1;
    }
    return 0;
}

/* What the slow links of an instance may have held a member for: all their extra waiting, one after another.
 */
static int64_t most_held(const struct edges *edges, size_t instance)
{
    int64_t held_ns = 0;
    for (size_t i = edges->first[instance]; edges->count && i < edges->first[instance + 1]; i++)
        if (edges->items[i].over_ns > 0)
            held_ns += edges->items[i].extra_ns;
    return held_ns;
}

/*
 * Whether the own time before an operation may be waiting for a slow network: of the operation before it only
 * some channels tell their stop, and another may have been held by a link under greater suspicion, for most
 * of that time, as may the leaf of a tree, whose data come after every stop there is; or, where no network
 * steps say, by what made the whole operation that much slower than usual. Within a step a late host waits
 * for no GPU.
 */
static int may_have_been_held(const struct suspects *suspects, const struct suspect *suspect,
                              const struct job *job, const struct edges *edges,
                              const struct job_operation *operation)
{
    if (operation->previous < 0)
        return 0;
    const struct job_operation *previous = &job->operations[operation->previous];
    const struct job_instance *instance = &job->instances[previous->instance];
    if ((!previous->incomplete && !previous->is_tree) ||
        (is_late_by_host(job, operation) && previous->step == operation->step))
        return 0;
    if (!edges->count)
        return instance->beyond_ns != TIME_UNKNOWN && instance->beyond_ns >= operation->excess_ns / 2;
    return instance->culprit >= 0 && instance->culprit != operation->rank &&
           operation->excess_ns / 2 <= most_held(edges, (size_t)previous->instance) &&
           greater_suspect(suspects, suspect, instance->culprit, previous->step);
}

/* Whether another rank was late in the same steps, most of them, by about as much. */
static int is_twin(const struct suspect *a, const struct suspect *b)
{
    int64_t mine = a->total_ns / suspect_steps(a);
    int64_t other = b->total_ns / suspect_steps(b);
    int64_t apart = mine > other ? mine - other : other - mine;
    return b->kind != FINDING_NETWORK && b->rank != a->rank && suspects_are_together(a, b) &&
           apart * 5 <= (mine > other ? mine : other);
}

/*
 * Three ranks and more that are late by the same in the same steps have a cause in common that the trace does
 * not show. Of them, one alone whose host was late is that cause. Where the recorder leaves sends and
 * receives out, two are enough, whatever their hosts; but not one whose lateness may be such a receive while
 * this rank's is none: that may have waited for this one. Nor, in stages, where it is known what may be a
 * receive, one whose lateness is none either.
 */
static int has_hidden_cause(const struct suspects *suspects, const struct suspect *suspect,
                            const struct job *job)
{
    size_t twins = 0, hosts = 0, peers = 0;
    for (size_t i = 0; i < suspects->count; i++)
        if (is_twin(suspect, &suspects->items[i])) {
            twins++;
            hosts += suspects->items[i].kind == FINDING_HOST;
            peers += suspect->hides_pairs || (!suspects->items[i].hides_pairs && !job->in_stages);
        }
    if (job->blind_to_pairs)
        return peers > 0;
    return twins >= 2 && (suspect->kind != FINDING_HOST || hosts);
}

/*
 * Whether a rank was mostly late itself when its sends were slow: what it sends then meets partners that all
 * wait for it, which is not how its links are used at other times.
 */
static int sends_late(const struct suspects *suspects, const struct suspect *suspect)
{
    int32_t late = 0;
    for (int32_t step = suspect->first_step; step <= suspect->last_step; step++) {
        const struct suspect *greater = greater_suspect(suspects, suspect, suspect->rank, step);
        late += greater && !greater->hides_pairs;
    }
    return suspect->kind == FINDING_NETWORK && late * 2 > suspect_steps(suspect);
}

/* By how much a rank came late by itself, where its kernel does not say until when it was there; else 0. */
static int64_t absence_of(const struct job *job, const struct job_instance *instance, int32_t rank)
{
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *member =
            &job->operations[job->instance_members[instance->first_member + (size_t)i]];
        if (member->rank == rank)
            return member->is_tree || member->incomplete ? member->excess_ns : 0;
    }
    return 0;
}

/* Whether most of what an instance was slow is of sends to a rank under greater suspicion, late by half of
 * it. */
static int waited_for_receiver(const struct suspects *suspects, const struct suspect *suspect,
                               const struct job *job, const struct edges *edges, int32_t number)
{
    int64_t late_ns = 0, all_ns = 0;
    for (size_t i = edges->first[number]; i < edges->first[number + 1]; i++) {
        const struct edge *edge = &edges->items[i];
        if (edge->sender != suspect->rank || edge->over_ns <= 0)
            continue;
        all_ns += edge->over_ns;
        if (absence_of(job, &job->instances[number], edge->receiver) >= edge->over_ns / 2 &&
            greater_suspect(suspects, suspect, edge->receiver, job->instances[number].step))
            late_ns += edge->over_ns;
    }
    return late_ns > all_ns / 2;
}

/* Sends wait for a receiver that is not there yet: how long, only its kernel would say. */
static int waits_for_receivers(const struct suspects *suspects, const struct suspect *suspect,
                               const struct job *job, const struct edges *edges)
{
    int64_t waited_ns = 0;
    if (suspect->kind != FINDING_NETWORK || !edges->count)
        return 0;
    struct job_range instances = suspect_instances(suspect, job);
    for (size_t i = instances.first; i < instances.end; i++) {
        int32_t at = job->by_step[i];
        if (suspect_has_instance(suspect, &job->instances[at]) &&
            waited_for_receiver(suspects, suspect, job, edges, at))
            waited_ns += job->instances[at].slow_ns;
    }
    return waited_ns > suspect->total_ns / 2;
}

/*
 * Whether most of what was slow were sends and receives called as one, where only finished operations are
 * listed: each is over with the whole call, and nothing says which of them held it.
 */
static int was_in_groups(const struct suspect *suspect, const struct job *job)
{
    int64_t grouped_ns = 0, all_ns = 0;
    if (suspect->kind != FINDING_NETWORK || !job->finished_only)
        return 0;
    struct job_range instances = suspect_instances(suspect, job);
    for (size_t i = instances.first; i < instances.end; i++) {
        const struct job_instance *instance = &job->instances[job->by_step[i]];
        if (!suspect_has_instance(suspect, instance))
            continue;
        all_ns += instance->slow_ns;
        if (instance->function == FUNCTION_SEND &&
            job_is_grouped(job, job->instance_members[instance->first_member]))
            grouped_ns += instance->slow_ns;
    }
    return grouped_ns * 2 > all_ns;
}

/*
 * Whether own time may be operations of which the file was lost: what is long at that place in every step may
 * hold them. A host that is late within a step does not wait for them. What else a rank did that is not told
 * apart from others is not known at all; nor what one did from where its file was cut.
 */
static int may_have_lost(const struct suspect *suspect, const struct job *job)
{
    const struct job_rank *rank = &job->ranks[suspect->rank];
    int64_t hidden_ns = 0;
    if (suspect->kind == FINDING_NETWORK)
        return 0;
    if (rank->is_part)
        return 1;
    struct job_range range = suspect_operations(suspect, job);
    for (size_t i = range.first; i < range.end; i++) {
        const struct job_operation *operation = &job->operations[i];
        int lacks = operation->step >= rank->tail_step ||
                    (rank->may_lack_file && !is_late_within(job, operation) && may_hide_pair(job, operation));
        if (lacks && suspect_has_operation(suspect, operation))
            hidden_ns += operation->excess_ns;
    }
    return hidden_ns * 2 > suspect->total_ns;
}

void suspects_doubt(struct suspects *suspects, const struct job *job, const struct edges *edges)
{
    for (size_t i = 0; i < suspects->count; i++) {
        struct suspect *suspect = &suspects->items[i];
        struct job_range range = suspect_operations(suspect, job);
        int64_t waited_ns = 0;
        for (size_t j = range.first; suspect->kind != FINDING_NETWORK && j < range.end; j++)
            if (suspect_has_operation(suspect, &job->operations[j]) &&
                (may_have_waited(suspects, suspect, job, &job->operations[j]) ||
                 may_have_been_held(suspects, suspect, job, edges, &job->operations[j])))
                waited_ns += job->operations[j].excess_ns;
        if (waited_ns * 2 > suspect->total_ns ||
            (suspect->kind != FINDING_NETWORK && has_hidden_cause(suspects, suspect, job)) ||
            sends_late(suspects, suspect) || waits_for_receivers(suspects, suspect, job, edges) ||
            was_in_groups(suspect, job) || may_have_lost(suspect, job))
            suspect->ambiguous = 1;
    }
}
