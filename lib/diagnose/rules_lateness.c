/*
 * Measures for the rules about lateness that may have a common cause, or be the effect of another rank: most
 * of the job late at once, hosts late together, slow networks side by side, ranks that may have waited where
 * no kernel shows it.
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/finding.h"
#include "diagnose/network.h"
#include "diagnose/suspect.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

/* Findings that blame most of the job at once, and networks that were slow together with others. */

struct named {
    int32_t rank;
    size_t finding;
};

static int by_rank(const void *a, const void *b)
{
    const struct named *left = a, *right = b;
    return left->rank != right->rank ? (left->rank < right->rank ? -1 : 1)
                                     : (left->finding > right->finding) - (left->finding < right->finding);
}

/* Lists the findings of at least medium confidence, sorted by rank. */
static size_t list_named(const struct findings *findings, struct named *named)
{
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].confidence > CONFIDENCE_LOW)
            named[count++] = (struct named){findings->items[i].rank, i};
    array_sort(named, count, sizeof *named, by_rank);
    return count;
}

/* Counts the ranks with a finding in each step. `last` has room for one number per step, zeroed. */
static void count_ranks(const struct findings *findings, const struct named *named, size_t count,
                        int32_t *last, int32_t *ranks)
{
    for (size_t i = 0; i < count; i++) {
        const struct finding *finding = &findings->items[named[i].finding];
        for (int32_t step = finding->first_step; step <= finding->last_step; step++) {
            ranks[step] += last[step] != finding->rank + 1;
            last[step] = finding->rank + 1;
        }
    }
}

static int is_crowd(int32_t ranks, size_t recorded)
{
    return ranks >= limit_of(LIMIT_CROWD) && (size_t)ranks * 2 > recorded;
}

static double measure_crowd(const struct finding *finding, const int32_t *ranks, size_t recorded)
{
    int32_t crowded = 0;
    for (int32_t step = finding->first_step; step <= finding->last_step; step++)
        crowded += is_crowd(ranks[step], recorded);
    return ratio_of(crowded, finding->last_step - finding->first_step + 1);
}

static void join_step(struct common_slowdown *slowdown, int32_t step, int32_t ranks)
{
    slowdown->first_step = slowdown->ranks && slowdown->first_step < step ? slowdown->first_step : step;
    slowdown->last_step = slowdown->last_step > step ? slowdown->last_step : step;
    slowdown->ranks = ranks > slowdown->ranks ? ranks : slowdown->ranks;
}

static void join_crowd(struct common_slowdown *slowdown, const struct finding *finding, const int32_t *ranks,
                       size_t recorded)
{
    for (int32_t step = finding->first_step; step <= finding->last_step; step++)
        if (is_crowd(ranks[step], recorded))
            join_step(slowdown, step, ranks[step]);
    slowdown->findings++;
}

static void doubt(struct findings *findings, const struct named *named, size_t count, const int32_t *ranks,
                  const struct job *job)
{
    size_t recorded = job_recorded_ranks(job);
    for (size_t i = 0; i < count; i++) {
        struct finding *finding = &findings->items[named[i].finding];
        if (finding_ask(findings, finding, RULE_CROWD, measure_crowd(finding, ranks, recorded)))
            join_crowd(&findings->common_slowdown, finding, ranks, recorded);
    }
}

/* Slowness beside a network finding, in networks whose findings have low confidence. */
struct beside {
    int64_t slow_ns; /* in the steps of the finding */
    int32_t *ranks;  /* by step: how many other ranks were slow */
};

/* A single shared step of three or more is coincidence. */
static void look_beside(const struct finding *finding, const struct finding *other, struct beside *beside)
{
    int32_t first = finding->first_step > other->first_step ? finding->first_step : other->first_step;
    int32_t last = finding->last_step < other->last_step ? finding->last_step : other->last_step;
    int is_moment = first == last && finding->last_step - finding->first_step >= 2;
    if (other->kind != FINDING_NETWORK || other->confidence > CONFIDENCE_LOW || is_moment)
        return;
    for (int32_t step = first; step <= last; step++) {
        beside->slow_ns += other->slow_ns / (other->last_step - other->first_step + 1);
        beside->ranks[step]++;
    }
}

static int is_shared_in(const struct beside *beside, int32_t step)
{
    return beside->ranks[step] + 1 >= limit_of(LIMIT_CROWD);
}

/*
 * The slowness beside a network finding as a share of its own, where others were slow in enough of its steps.
 * A rank has no two network findings in one step, so all of it is of other ranks.
 */
static double measure_shared(const struct findings *findings, const struct finding *finding,
                             struct beside *beside)
{
    int32_t shared = 0;
    beside->slow_ns = 0;
    for (int32_t step = finding->first_step; step <= finding->last_step; step++)
        beside->ranks[step] = 0;
    for (size_t i = 0; i < findings->count; i++)
        look_beside(finding, &findings->items[i], beside);
    for (int32_t step = finding->first_step; step <= finding->last_step; step++)
        shared += is_shared_in(beside, step);
    double least = finding->first_step == finding->last_step ? 1 : limit_of(LIMIT_SHARED_STEPS);
    return shared >= least ? ratio_of(beside->slow_ns, finding->slow_ns) : NOT_ASKED;
}

/* Adds its steps to the common slowdown. */
static void join_shared(struct common_slowdown *slowdown, const struct finding *finding,
                        const struct beside *beside)
{
    for (int32_t step = finding->first_step; step <= finding->last_step; step++)
        if (is_shared_in(beside, step))
            join_step(slowdown, step, beside->ranks[step] + 1);
    slowdown->findings++;
}

/*
 * A slow link hardly slows down others, so networks that are slow together have another cause. All measures
 * are taken before any is applied, so that one doubted finding does not count against the next.
 */
int findings_check_shared(struct findings *findings, const struct job *job)
{
    struct beside beside = {.ranks = array_new((size_t)job->step_count + 1, sizeof *beside.ranks)};
    double *shared = array_new(findings->count, sizeof *shared);
    int failed = !beside.ranks || !shared;
    for (size_t i = 0; !failed && i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        shared[i] = NOT_ASKED;
        if (findings->off.has[RULE_SHARED_NETWORK] || finding->kind != FINDING_NETWORK ||
            finding->confidence == CONFIDENCE_LOW)
            continue;
        shared[i] = measure_shared(findings, finding, &beside);
        if (rule_is_violated(RULE_SHARED_NETWORK, shared[i]))
            join_shared(&findings->common_slowdown, finding, &beside);
    }
    for (size_t i = 0; !failed && i < findings->count; i++)
        finding_ask(findings, &findings->items[i], RULE_SHARED_NETWORK, shared[i]);
    free(beside.ranks);
    free(shared);
    return failed ? -1 : 0;
}

int findings_check_common_slowdown(struct findings *findings, const struct job *job)
{
    size_t steps = (size_t)job->step_count + 1;
    struct named *named = array_new(findings->count, sizeof *named);
    int32_t *last = array_new(steps, sizeof *last), *ranks = array_new(steps, sizeof *ranks);
    int failed = !named || !last || !ranks;
    if (!failed) {
        size_t count = list_named(findings, named);
        count_ranks(findings, named, count, last, ranks);
        doubt(findings, named, count, ranks, job);
    }
    free(named);
    free(last);
    free(ranks);
    return failed ? -1 : 0;
}

/* Steps in which the hosts of all ranks were late. */

static int64_t lateness_of(const struct baseline *baseline, size_t rank, int32_t step)
{
    return baseline->late_ns[rank * (size_t)baseline->step_count + (size_t)step];
}

/*
 * For each rank of a list, the median lateness of the others on the list in a step; stored in `others` where
 * it is greater than the value there. `list` has room for all ranks.
 */
static void measure_others(const struct baseline *baseline, const int32_t *ranks, size_t count, int32_t step,
                           int64_t *list, int64_t *others)
{
    for (size_t i = 0; i < count; i++)
        list[i] = lateness_of(baseline, (size_t)ranks[i], step);
    struct middles middles = middles_of(list, count);
    for (size_t i = 0; i < count; i++) {
        int64_t others_ns = median_of_others(&middles, lateness_of(baseline, (size_t)ranks[i], step));
        if (others_ns > others[ranks[i]])
            others[ranks[i]] = others_ns;
    }
}

/* Lists the ranks that have a role. */
static size_t list_players(const struct baseline *baseline, int32_t *ranks)
{
    size_t count = 0;
    for (size_t i = 0; i < baseline->rank_count; i++)
        if (baseline->role_of_rank[i] >= 0)
            ranks[count++] = (int32_t)i;
    return count;
}

/* Compares all ranks in a step, and then those of each role, which may pause together. */
static void measure_step(const struct baseline *baseline, const int32_t *players, size_t count, int32_t step,
                         int64_t *list, int64_t *others)
{
    measure_others(baseline, players, count, step, list, others);
    for (size_t i = 0; i < baseline->role_count; i++) {
        const struct role *role = &baseline->roles[i];
        if ((double)role->rank_count >= limit_of(LIMIT_RANKS_OF_ROLE))
            measure_others(baseline, role->ranks, role->rank_count, step, list, others);
    }
}

/*
 * Computes the lateness that hosts have in common, by rank and step; TIME_UNKNOWN where there are
 * no others.
 */
static int measure_unrest(struct suspects *suspects, const struct baseline *baseline)
{
    size_t ranks = baseline->rank_count, cells = ranks * (size_t)baseline->step_count;
    int64_t *list = array_new(ranks, sizeof *list);
    int32_t *players = array_new(ranks, sizeof *players);
    suspects->common_lateness_ns = array_new(cells, sizeof *suspects->common_lateness_ns);
    int failed = !suspects->common_lateness_ns || !list || !players;
    for (size_t i = 0; !failed && i < cells; i++)
        suspects->common_lateness_ns[i] = TIME_UNKNOWN;
    size_t count = failed ? 0 : list_players(baseline, players);
    for (int32_t step = 0; !failed && step < baseline->step_count; step++)
        measure_step(baseline, players, count, step, list,
                     suspects->common_lateness_ns + (size_t)step * ranks);
    free(list);
    free(players);
    return failed ? -1 : 0;
}

/* Whether the own time of another rank of the role is known at a position. */
static int another_tells(const struct baseline *baseline, int32_t role, int32_t position, int32_t step,
                         size_t but)
{
    for (size_t rank = 0; rank < baseline->roles[role].rank_count; rank++) {
        int32_t cell = baseline_cell(baseline, role, position, rank, step);
        if (rank != but && cell >= 0 && excess_list_get(&baseline->excess, cell).beyond_ns != TIME_UNKNOWN)
            return 1;
    }
    return 0;
}

/* Whether the own time of another member is known for this very operation. */
static int another_member_tells(const struct job *job, const struct baseline *baseline, int32_t operation)
{
    const struct job_instance *instance = &job->instances[job->operations[operation].instance];
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t member = job_member_at(job, instance, i);
        if (member != operation && excess_list_get(&baseline->excess, member).beyond_ns != TIME_UNKNOWN)
            return 1;
    }
    return 0;
}

/*
 * Whether most of what a rank was late by in a step is own time where that of no other rank is known.
 * Lateness of hidden origin (baseline.h) has already been compared with others.
 */
static int is_alone_in(const struct suspect *suspect, const struct job *job, const struct baseline *baseline,
                       int32_t step)
{
    int32_t role = baseline->role_of_rank[suspect->rank];
    int64_t late_ns = 0, alone_ns = 0;
    if (role < 0 || !baseline->cells)
        return 0;
    size_t place = (size_t)baseline->rank_in_role[suspect->rank];
    for (int32_t position = 0; position < baseline->roles[role].length; position++) {
        int32_t cell = baseline_cell(baseline, role, position, place, step);
        int64_t excess_ns = cell < 0 ? 0 : excess_ns_at(&baseline->excess, cell);
        late_ns += excess_ns;
        if (excess_ns > 0 && excess_list_get(&baseline->excess, cell).beyond_ns != TIME_UNKNOWN &&
            !another_tells(baseline, role, position, step, place) &&
            !another_member_tells(job, baseline, cell))
            alone_ns += excess_ns;
    }
    return alone_ns * 2 > late_ns;
}

/*
 * The number of its steps without other ranks to compare; or, if nothing is known of the others in most of
 * its steps, the number of those.
 */
static double measure_no_peers(const struct suspect *suspect, const struct job *job,
                               const struct baseline *baseline, const int64_t *others)
{
    int32_t alone = 0, untold = 0;
    for (int32_t step = suspect->first_step; step <= suspect->last_step; step++) {
        alone += others[(size_t)step * baseline->rank_count + (size_t)suspect->rank] == TIME_UNKNOWN;
        untold += is_alone_in(suspect, job, baseline, step);
    }
    return untold * 2 > suspect_steps(suspect) && untold > alone ? untold : alone;
}

/*
 * The share of a rank's lateness in its steps that all hosts have in common. For a GPU it only counts if it
 * is common in most of its steps.
 */
static double measure_common(const struct suspect *suspect, const struct baseline *baseline,
                             const int64_t *others)
{
    int64_t shared_ns = 0, late_ns = 0;
    int32_t steps = suspect_steps(suspect), common_lateness = 0;
    int64_t least_ns = suspect->total_ns / steps;
    for (int32_t step = suspect->first_step; step <= suspect->last_step; step++) {
        int64_t others_ns = others[(size_t)step * baseline->rank_count + (size_t)suspect->rank];
        int64_t mine_ns = lateness_of(baseline, (size_t)suspect->rank, step);
        if (others_ns == TIME_UNKNOWN)
            return NOT_ASKED;
        mine_ns = mine_ns > least_ns ? mine_ns : least_ns;
        late_ns += mine_ns;
        if (others_ns > 0)
            shared_ns += others_ns < mine_ns ? others_ns : mine_ns;
        common_lateness += others_ns * 2 >= mine_ns;
    }
    return suspect->kind == FINDING_HOST || common_lateness * 2 > steps ? ratio_of(shared_ns, late_ns)
                                                                        : NOT_ASKED;
}

int suspects_check_common_lateness(struct suspects *suspects, const struct job *job,
                                   const struct baseline *baseline)
{
    if (suspects->count && measure_unrest(suspects, baseline))
        return -1;
    for (size_t i = 0; i < suspects->count; i++) {
        struct suspect *suspect = &suspects->items[i];
        if (suspect->kind == FINDING_NETWORK)
            continue;
        suspect_ask(suspect, RULE_NO_PEERS,
                    measure_no_peers(suspect, job, baseline, suspects->common_lateness_ns));
        suspect_ask(suspect, RULE_COMMON_LATENESS,
                    measure_common(suspect, baseline, suspects->common_lateness_ns));
    }
    return 0;
}

/* Suspects of own time that may be another rank's fault: waiting that no kernel shows. */

/* A greater suspect of that rank in the same step; NULL: none. */
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
 * Whether the own time before an operation may be waiting for another rank that is suspected more: the group
 * call before it received from that rank, and no kernel shows when that ended. Or whether it may be due to
 * the rank's own network, if that is suspected more: the group call before it sent or received over the
 * network, or the late operation is a send, and only the host recorded the time.
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

/* How long the slow links of an instance may have held up a member: the sum of all their excess waits. */
static int64_t most_held(const struct edges *edges, size_t instance)
{
    int64_t held_ns = 0;
    for (size_t i = edges->first[instance]; i < edges->first[instance + 1]; i++)
        if (edges->items[i].over_ns > 0)
            held_ns += edges->items[i].extra_ns;
    return held_ns;
}

/*
 * Whether the own time before an operation may be waiting for a slow network, for most of that time. Either
 * only some channels of the operation before record their stop, and another channel may have waited for a
 * link that is suspected more; or the rank may be the leaf of a tree, whose data arrives after every recorded
 * stop; or, without network steps, the whole operation was slower than its baseline by that much. A host that
 * is late within a step waits for no GPU, and a rank that received over the network on every channel had its
 * data.
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

/*
 * Whether another rank was late by about as much in more than half of the steps of a suspect. That it was so
 * in one or two of many steps is a coincidence: noise makes some rank late in some steps.
 */
static int is_twin(const struct suspect *a, const struct suspect *b)
{
    if (b->kind == FINDING_NETWORK || b->rank == a->rank ||
        suspects_shared_steps(a, b) * 2 <= suspect_steps(a))
        return 0;
    int64_t mine = a->total_ns / suspect_steps(a);
    int64_t other = b->total_ns / suspect_steps(b);
    int64_t apart = mine > other ? mine - other : other - mine;
    return ratio_of(apart, mine > other ? mine : other) <= limit_of(LIMIT_ALIKE);
}

/*
 * The number of ranks that are late by about as much in the same steps: they may have a common cause that the
 * trace does not show. If the host of just one of them was late, that one is the cause.
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
 * Where the recorder leaves out sends and receives, a single other rank is enough, whatever the hosts did. It
 * does not count if its lateness may be such a receive while this rank's cannot be: then it may have waited
 * for this rank. In a pipeline where it is known which lateness may be a receive, it does not count either if
 * its lateness cannot be one.
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
 * The share of the slowness in sends and receives of one group call, where only finished operations are
 * recorded: each ends with the whole call, and nothing shows which of them held it up.
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
 * The share of its own time that may be operations whose record is lost: if own time at a position is long in
 * every step, it may contain them. A host that is late within a step does not wait for them. What a rank did
 * after its file was cut is not known at all.
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

/* The share of its own time that may be waiting for other ranks that are suspected more. */
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

/* If several ranks of one process cannot be told apart, nothing certain is known of this one. */
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

void suspects_check(struct suspects *suspects, const struct job *job, const struct baseline *baseline,
                    const struct edges *edges, const struct transfer_excess *transfers)
{
    for (size_t i = 0; i < suspects->count; i++)
        if (suspects->items[i].kind == FINDING_NETWORK)
            suspect_ask(&suspects->items[i], RULE_IN_GROUPS,
                        measure_groups(&suspects->items[i], job, transfers));
        else
            doubt_rank(suspects, &suspects->items[i], job, baseline, edges, transfers);
}
