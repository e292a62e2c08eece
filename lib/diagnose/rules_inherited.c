#include "diagnose/rules_inherited.h"

#include "diagnose/host_or_gpu.h"
#include "diagnose/rules_hidden_pairs.h"
#include "job/groups.h"
#include "network/edges.h"

/* Suspicions of a rank that may be another's fault: waiting that no kernel shows. */

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
    for (size_t i = edges->first[instance]; i < edges->first[instance + 1]; i++)
        if (edges->items[i].over_ns > 0)
            held_ns += edges->items[i].extra_ns;
    return held_ns;
}

/*
 * Whether the own time before an operation may be waiting for a slow network: of the operation before it only
 * some channels tell their stop, and another may have been held by a link under greater suspicion, for most
 * of that time, as may the leaf of a tree, whose data come after every stop there is; or, where no network
 * steps say, by what made the whole operation that much slower than usual. Within a step a late host waits
 * for no GPU; and who received from the network on each channel is known to have had its data.
 */
static int may_have_been_held(const struct suspects *suspects, const struct suspect *suspect,
                              const struct job *job, const struct baseline *baseline,
                              const struct edges *edges, const struct transfer_excess *transfers,
                              const struct job_operation *operation)
{
    if (operation->previous < 0)
        return 0;
    const struct job_operation *previous = &job->operations[operation->previous];
    const struct transfer_excess *transfer = &transfers[previous->instance];
    int64_t excess_ns = excess_of(baseline, job, operation).excess_ns;
    if ((!previous->is_tree && (!previous->incomplete || previous->all_taken)) ||
        (is_late_by_host(job, baseline, operation) && previous->step == operation->step))
        return 0;
    if (!edges->count)
        return transfer->beyond_ns != TIME_UNKNOWN && transfer->beyond_ns >= excess_ns / 2;
    return transfer->culprit >= 0 && transfer->culprit != operation->rank &&
           excess_ns / 2 <= most_held(edges, (size_t)previous->instance) &&
           greater_suspect(suspects, suspect, transfer->culprit, previous->step);
}

/* Whether another rank was late in the same steps, most of them, by about as much. */
static int is_twin(const struct suspect *a, const struct suspect *b)
{
    if (b->kind == FINDING_NETWORK || b->rank == a->rank || !suspects_are_together(a, b))
        return 0;
    int64_t mine = a->total_ns / suspect_steps(a);
    int64_t other = b->total_ns / suspect_steps(b);
    int64_t apart = mine > other ? mine - other : other - mine;
    return ratio_of(apart, mine > other ? mine : other) <= limit_of(LIMIT_ALIKE);
}

/*
 * Ranks that are late by the same in the same steps may have a cause in common that the trace does not show.
 * Of them, one alone whose host was late is that cause.
 */
static double measure_twins(const struct suspects *suspects, const struct suspect *suspect,
                            const struct job *job)
{
    int twins = 0, hosts = 0;
    for (size_t i = 0; !job->blind_to_pairs && i < suspects->count; i++)
        if (is_twin(suspect, &suspects->items[i])) {
            twins++;
            hosts += suspects->items[i].kind == FINDING_HOST;
        }
    int is_cause = suspect->kind == FINDING_HOST && !hosts;
    return job->blind_to_pairs || (is_cause && twins) ? NOT_ASKED : twins;
}

/*
 * Where the recorder leaves sends and receives out, one other is enough, whatever their hosts; but not one
 * whose lateness may be such a receive while this rank's is none: that may have waited for this one. Nor, in
 * stages, where it is known what may be a receive, one whose lateness is none either.
 */
static double measure_hidden_twins(const struct suspects *suspects, const struct suspect *suspect,
                                   const struct job *job)
{
    int peers = 0;
    if (!job->blind_to_pairs)
        return NOT_ASKED;
    for (size_t i = 0; i < suspects->count; i++)
        if (is_twin(suspect, &suspects->items[i]))
            peers += suspect->hides_pairs || (!suspects->items[i].hides_pairs && !job->in_stages);
    return peers;
}

/*
 * How much of what was slow were sends and receives called as one, where only finished operations are listed:
 * each is over with the whole call, and nothing says which of them held it.
 */
static double measure_groups(const struct suspect *suspect, const struct job *job,
                             const struct transfer_excess *transfers)
{
    int64_t grouped_ns = 0, all_ns = 0;
    if (!job->finished_only)
        return NOT_ASKED;
    struct job_range instances = suspect_instances(suspect, job);
    for (size_t i = instances.first; i < instances.end; i++) {
        const struct job_instance *instance = &job->instances[job->by_step[i]];
        const struct transfer_excess *transfer = &transfers[job->by_step[i]];
        if (!suspect_has_instance(suspect, instance, transfer))
            continue;
        all_ns += transfer->slow_ns;
        if (instance->function == FUNCTION_SEND &&
            job_is_grouped(job, job->instance_members[instance->first_member]))
            grouped_ns += transfer->slow_ns;
    }
    return ratio_of(grouped_ns, all_ns);
}

/*
 * How much of its own time may be operations of which the file was lost: what is long at that place in every
 * step may hold them. A host that is late within a step does not wait for them. What one did from where its
 * file was cut is not known at all.
 */
static double measure_lost(const struct suspect *suspect, const struct job *job,
                           const struct baseline *baseline)
{
    const struct job_rank *rank = &job->ranks[suspect->rank];
    int64_t hidden_ns = 0;
    if (!rank->may_lack_file && suspect->last_step < rank->tail_step)
        return NOT_ASKED;
    struct job_range range = suspect_operations(suspect, job);
    for (size_t i = range.first; i < range.end; i++) {
        const struct job_operation *operation = &job->operations[i];
        int lacks = operation->step >= rank->tail_step ||
                    (rank->may_lack_file && !is_late_within(job, baseline, operation) &&
                     may_hide_pair(job, baseline, operation));
        if (lacks && suspect_has_operation(suspect, operation, excess_ns_at(&baseline->excess, i)))
            hidden_ns += excess_ns_at(&baseline->excess, i);
    }
    return ratio_of(hidden_ns, suspect->total_ns);
}

/* How much of its own time may be waiting for others under greater suspicion. */
static double measure_waiting(const struct suspects *suspects, const struct suspect *suspect,
                              const struct job *job, const struct baseline *baseline,
                              const struct edges *edges, const struct transfer_excess *transfers)
{
    int64_t waited_ns = 0;
    struct job_range range = suspect_operations(suspect, job);
    for (size_t i = range.first; i < range.end; i++)
        if (suspect_has_operation(suspect, &job->operations[i], excess_ns_at(&baseline->excess, i)) &&
            (may_have_waited(suspects, suspect, job, &job->operations[i]) ||
             may_have_been_held(suspects, suspect, job, baseline, edges, transfers, &job->operations[i])))
            waited_ns += excess_ns_at(&baseline->excess, i);
    return ratio_of(waited_ns, suspect->total_ns);
}

/* What a rank did that is not told apart from others of its process is not known at all. */
static void doubt_rank(const struct suspects *suspects, struct suspect *suspect, const struct job *job,
                       const struct baseline *baseline, const struct edges *edges,
                       const struct transfer_excess *transfers)
{
    suspect_ask(suspect, RULE_WAITED_FOR_OTHER,
                measure_waiting(suspects, suspect, job, baseline, edges, transfers));
    suspect_ask(suspect, RULE_TWINS, measure_twins(suspects, suspect, job));
    suspect_ask(suspect, RULE_TWIN_OF_HIDDEN_PAIR, measure_hidden_twins(suspects, suspect, job));
    suspect_ask(suspect, RULE_SHARED_PROCESS, job->ranks[suspect->rank].is_part);
    suspect_ask(suspect, RULE_LOST_RECORDS, measure_lost(suspect, job, baseline));
}

void suspects_doubt(struct suspects *suspects, const struct job *job, const struct baseline *baseline,
                    const struct edges *edges, const struct transfer_excess *transfers)
{
    for (size_t i = 0; i < suspects->count; i++)
        if (suspects->items[i].kind == FINDING_NETWORK)
            suspect_ask(&suspects->items[i], RULE_IN_GROUPS,
                        measure_groups(&suspects->items[i], job, transfers));
        else
            doubt_rank(suspects, &suspects->items[i], job, baseline, edges, transfers);
}
