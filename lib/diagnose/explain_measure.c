/*
 * What an explanation shows in its steps: the excess of its ranks, whether they vary together, its phase and
 * place, how late its ranks arrived, and which part of it may be something else.
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/score.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

/*
 * Adds the residual of a rank in each of the marked steps, less its mean over these, to `sums`. Returns the
 * sum of the squares of what it added.
 */
static double add_variation(const struct explanation_search *it, int32_t rank, double *sums)
{
    size_t steps = (size_t)it->source.baseline->step_count, count = 0;
    int32_t role = it->source.baseline->role_of_rank[rank];
    const struct residual_matrix *residuals =
        role >= 0 ? explanation_search_residual_matrix(it, (size_t)role, 0) : NULL;
    if (!residuals || residuals->units < 2)
        return 0;
    const int64_t *beyond_ns = &residuals->beyond[(size_t)it->source.baseline->rank_in_role[rank] * steps];
    double mean = 0, squares = 0;
    for (size_t step = 0; step < steps; step++)
        if (it->marked[step] && beyond_ns[step] != TIME_UNKNOWN) {
            mean += (double)beyond_ns[step];
            count++;
        }
    mean /= (double)(count ? count : 1);
    for (size_t step = 0; step < steps; step++)
        if (it->marked[step] && beyond_ns[step] != TIME_UNKNOWN) {
            double apart = (double)beyond_ns[step] - mean;
            sums[step] += apart;
            squares += apart * apart;
        }
    return squares;
}

/*
 * How much of the variation of several ranks from step to step is the same on all: ranks that compute vary
 * separately, ranks that wait for one of them vary with it. (Intraclass correlation: Fisher, 1925.)
 */
static double measure_common(const struct explanation_search *it, const struct explanation *explanation)
{
    const struct partition *partition = explanation->partition;
    double ranks = 0, separate = 0, common = 0, *sums = it->row;
    for (int32_t step = 0; step < it->source.baseline->step_count; step++)
        sums[step] = 0;
    for (size_t i = partition->first[explanation->unit]; i < partition->first[explanation->unit + 1]; i++) {
        double squares = add_variation(it, partition->ranks[i], sums);
        ranks += squares > 0;
        separate += squares;
    }
    for (int32_t step = 0; step < it->source.baseline->step_count; step++)
        common += sums[step] * sums[step];
    if (ranks < 2 || separate <= 0)
        return 1;
    double part = (common / separate - 1) / (ranks - 1);
    return part > 0 ? part : 0;
}

void explanation_measure(struct explanation_search *it, struct explanation *explanation)
{
    int64_t late_ns = 0;
    explanation->slow_ns = explanation->more_ns = explanation->host_ns = 0;
    explanation->has_no_peers = 1;
    size_t number = (size_t)(explanation->partition - it->found->partitions.items), roles = 0;
    size_t steps = (size_t)it->source.baseline->step_count;
    explanation->counted = step_set_count(&explanation->steps);
    explanation->rank = explanation_search_slowest(it, explanation);
    for (size_t role = 0; role < it->source.baseline->role_count; role++) {
        const struct residual_matrix *residuals = explanation_search_residual_matrix(it, role, number);
        int32_t at = residuals->is_compared ? residual_matrix_unit(residuals, explanation->unit) : -1;
        if (at < 0)
            continue;
        roles++;
        explanation->has_no_peers &= residuals->units == 1;
        if (explanation->is_steady) {
            const struct level *level = &residuals->level[at];
            int64_t slow_ns = explanation->is_scattered ? level->usual_ns : level->apart_ns;
            explanation->slow_ns += slow_ns * explanation->counted;
            explanation->more_ns +=
                (slow_ns > level->more_ns ? slow_ns : level->more_ns) * explanation->counted;
            explanation->host_ns += level->host_ns * explanation->counted;
        }
        for (size_t step = 0; !explanation->is_steady && step < steps; step++)
            if (it->marked[step] && residuals->beyond[(size_t)at * steps + step] != TIME_UNKNOWN) {
                explanation->slow_ns += residuals->beyond[(size_t)at * steps + step];
                explanation->more_ns += residuals->more[(size_t)at * steps + step];
                explanation->host_ns += residuals->host[(size_t)at * steps + step];
            }
        const int64_t *values = explanation_search_values(residuals, explanation->measure);
        for (size_t step = 0; explanation->measure != MEASURE_OWN && step < steps; step++)
            if (it->marked[step] && values[(size_t)at * steps + step] != TIME_UNKNOWN)
                late_ns += values[(size_t)at * steps + step];
    }
    if (explanation->measure == MEASURE_GPU) {
        explanation->slow_ns = explanation->more_ns = late_ns;
        explanation->host_ns = late_ns = 0;
    }
    /* Sizes that differ from step to step exceed the medians of a level. */
    if (late_ns > explanation->host_ns) {
        explanation->more_ns += late_ns - explanation->host_ns;
        explanation->slow_ns = explanation->slow_ns > late_ns ? explanation->slow_ns : late_ns;
        explanation->host_ns = late_ns;
    }
    explanation->slow_ns /= (int64_t)(roles ? roles : 1);
    explanation->more_ns /= (int64_t)(roles ? roles : 1);
    explanation->host_ns /= (int64_t)(roles ? roles : 1);
    explanation->common_part = measure_common(it, explanation);
}

/* Sums the time of a fault by phase and, for one rank, by place. */
struct tally {
    const struct explanation_search *it;
    int64_t margin_ns;
    int64_t sum_ns;
    int64_t hidden_ns;       /* part of it that may be unrecorded receives */
    int64_t leaf_ns;         /* part of it after operations that others left later */
    int64_t estimated_ns;    /* part of it after ends that are estimated */
    int64_t others_ns;       /* own time at all of its places, without the fault */
    int64_t slower_ns;       /* part of it at places where the fault is noticeable */
    int64_t doubted_ns;      /* part of it that is less than clocks may make of such ends */
    int64_t late_ns;         /* part of it before operations that were enqueued late */
    int64_t late_doubted_ns; /* part of `late_ns` that is part of `doubted_ns` */
    int32_t rank;
    int is_steady;
    int64_t *by_tag;      /* [tag + 1] */
    int64_t *by_position; /* of the role of the rank */
};

/* How long after an operation's member another one ended, at least; TIME_UNKNOWN where no clock tells. */
static int64_t ended_after(const struct job *job, const struct job_operation *member,
                           const struct job_operation *other)
{
    if (member->end_ns == TIME_UNKNOWN || other->end_ns == TIME_UNKNOWN)
        return TIME_UNKNOWN;
    if (job->ranks[member->rank].clock == job->ranks[other->rank].clock)
        return other->end_ns - member->end_ns;
    int64_t mine_ns = job_common_time(job, member, member->end_ns),
            end_ns = job_common_time(job, other, other->end_ns);
    return mine_ns == TIME_UNKNOWN || end_ns == TIME_UNKNOWN
               ? TIME_UNKNOWN
               : end_ns - mine_ns - job_clock_uncertainty(job, member->rank, other->rank);
}

static int64_t others_went_on(const struct job *job, const struct job_operation *member)
{
    const struct job_instance *instance = &job->instances[member->instance];
    int64_t most_ns = 0;
    for (int32_t i = 0; i < instance->members; i++) {
        int64_t after_ns = ended_after(job, member, job_member(job, instance, i));
        if (after_ns != TIME_UNKNOWN && after_ns > most_ns)
            most_ns = after_ns;
    }
    return most_ns;
}

/*
 * How long the ranks of other hosts stayed in an operation at least, where their clocks agree with that of
 * the member within no less than `doubt_ns`; TIME_UNKNOWN: there are none, or no stay is known.
 */
static int64_t least_stay_elsewhere(const struct job *job, const struct job_operation *member,
                                    int64_t doubt_ns)
{
    const struct job_instance *instance = &job->instances[member->instance];
    int64_t least_ns = TIME_UNKNOWN;
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t other = job_member_at(job, instance, i), rank = job->operations[other].rank;
        if (job->ranks[rank].clock == job->ranks[member->rank].clock ||
            job_clock_uncertainty(job, member->rank, rank) < doubt_ns)
            continue;
        int64_t stay_ns = arrival_stay_ns(job, other);
        if (stay_ns != TIME_UNKNOWN && (least_ns == TIME_UNKNOWN || stay_ns < least_ns))
            least_ns = stay_ns;
    }
    return least_ns;
}

/*
 * Whether the member may have left the operation before as a leaf of a tree, while ranks of other hosts had
 * not arrived: their clocks do not tell, to half of the fault, and some rank there did not stay for as long,
 * so it cannot have waited for the member. But if all of them waited in the operation after, the rank was
 * late itself.
 */
static int may_have_left_before(const struct job *job, const struct job_operation *operation,
                                const struct job_operation *member, int64_t fault_ns)
{
    int64_t stay_ns = least_stay_elsewhere(job, member, fault_ns / 2), waited_ns = TIME_UNKNOWN;
    int64_t mine_ns = arrival_stay_ns(job, (int32_t)(operation - job->operations));
    if (stay_ns == TIME_UNKNOWN || stay_ns * 2 >= fault_ns)
        return 0;
    if (mine_ns != TIME_UNKNOWN && arrival_is_told(&job->instances[operation->instance], operation->function))
        waited_ns = least_stay_elsewhere(job, operation, 0);
    return waited_ns == TIME_UNKNOWN || (waited_ns - mine_ns) * 2 < fault_ns;
}

/* Whether the operation before may have been a tree that the rank left early, as a leaf does. */
static int may_be_leaf(const struct job *job, const struct job_operation *operation, int64_t fault_ns)
{
    if (operation->previous < 0 || job->operations[operation->previous].function != FUNCTION_ALL_REDUCE)
        return 0;
    const struct job_operation *member = &job->operations[operation->previous];
    return others_went_on(job, member) * 2 >= fault_ns ||
           may_have_left_before(job, operation, member, fault_ns);
}

/* At most this many operations of a step are examined, whatever the trace contains. */
enum { MOST_LOOKED_AT = 4096 };

/*
 * The least usual own time of the rank before other operations of the same kind in the same step; -1: there
 * is none.
 */
static int64_t least_of_kind(const struct job *job, const struct baseline *baseline,
                             const struct job_operation *operation)
{
    int64_t least_ns = -1;
    int32_t position = baseline->positions[operation - job->operations];
    struct job_range range = job_operations_in(job, operation->rank, operation->step, operation->step);
    for (size_t i = range.first; i < range.end && i - range.first < MOST_LOOKED_AT; i++) {
        const struct job_operation *other = &job->operations[i];
        if (other->step != operation->step || other->communicator != operation->communicator ||
            other->function != operation->function || other->own_ns == TIME_UNKNOWN ||
            baseline->positions[i] < 0 || baseline->positions[i] == position)
            continue;
        int64_t beyond_ns = excess_list_get(&baseline->excess, i).beyond_ns;
        int64_t usual_ns = other->own_ns - (beyond_ns == TIME_UNKNOWN ? 0 : beyond_ns);
        least_ns = least_ns < 0 || usual_ns < least_ns ? usual_ns : least_ns;
    }
    return least_ns;
}

/*
 * Whether own time may contain an unrecorded receive: without the fault, it is several times that before
 * other operations of the same kind, or there are none to compare it with.
 */
static int may_hide_receive(const struct job *job, const struct baseline *baseline,
                            const struct job_operation *operation, int64_t fault_ns)
{
    if (!job_lacks_stage_p2p(job) || operation->previous < 0)
        return 0;
    int64_t least_ns = least_of_kind(job, baseline, operation);
    return least_ns < 0 ||
           (double)(operation->own_ns - fault_ns) > limit_of(LIMIT_HIDDEN_PAIR) * (double)least_ns;
}

static void count_doubt(struct tally *tally, const struct job_operation *at, int64_t fault_ns)
{
    const struct job *job = tally->it->source.job;
    int64_t idle_ns = job_idle_time(job, at), late_ns = job_lateness_in(job, at, idle_ns);
    int is_late = is_late_launch(late_ns, idle_ns);
    int is_doubted = fault_ns <= job_own_doubt(job, at, tally->is_steady);
    tally->doubted_ns += is_doubted ? fault_ns : 0;
    tally->late_ns += is_late ? fault_ns : 0;
    tally->late_doubted_ns += is_late && is_doubted ? fault_ns : 0;
}

static void count_fault(void *context, int32_t operation, int64_t fault_ns)
{
    struct tally *tally = context;
    const struct job_operation *at = &tally->it->source.job->operations[operation];
    int64_t others_ns = at->own_ns == TIME_UNKNOWN ? 0 : at->own_ns - fault_ns;
    tally->others_ns += others_ns;
    tally->slower_ns += is_slower_place(fault_ns, others_ns) ? others_ns : 0;
    /* Own times show the phase. */
    tally->by_tag[at->tag + 1] += at->own_ns == TIME_UNKNOWN ? 0 : fault_ns;
    if (fault_ns > 0) {
        tally->margin_ns += arrival_margin_ns(tally->it->source.job, operation, fault_ns);
        tally->sum_ns += fault_ns;
        tally->estimated_ns += job_is_own_estimated(tally->it->source.job, at) ? fault_ns : 0;
        count_doubt(tally, at, fault_ns);
        tally->hidden_ns +=
            may_hide_receive(tally->it->source.job, tally->it->source.baseline, at, fault_ns) ? fault_ns : 0;
        tally->leaf_ns += may_be_leaf(tally->it->source.job, at, fault_ns) ? fault_ns : 0;
    }
    if (at->rank == tally->rank)
        tally->by_position[tally->it->source.baseline->positions[operation]] += fault_ns;
}

int explanation_locate(const struct explanation_search *it, const struct fault *at, struct explanation *fault)
{
    const struct job *job = it->source.job;
    int32_t role = it->source.baseline->role_of_rank[fault->rank];
    size_t positions = role >= 0 ? (size_t)it->source.baseline->roles[role].length : 0;
    struct tally tally = {.it = it,
                          .rank = fault->rank,
                          .is_steady = fault->is_steady,
                          .by_tag = array_new(job->tags.count + 1, sizeof *tally.by_tag),
                          .by_position = array_new(positions + 1, sizeof *tally.by_position)};
    int failed = !tally.by_tag || !tally.by_position || fault_each(at, &it->source, count_fault, &tally);
    if (!failed) {
        int32_t tag = greatest_above_zero(tally.by_tag, job->tags.count + 1);
        fault->tag = tag > 0 ? tag - 1 : -1;
        fault->position = greatest_above_zero(tally.by_position, positions);
        fault->margin_ns = tally.margin_ns;
        fault->leaf_part = ratio_of(tally.leaf_ns, tally.sum_ns);
        fault->hidden_part = ratio_of(tally.hidden_ns, tally.sum_ns);
        fault->on_estimates = tally.estimated_ns * 2 > tally.sum_ns;
        if (!fault->is_steady)
            fault->slower_part = tally.others_ns > 0 ? ratio_of(tally.slower_ns, tally.others_ns) : 1;
        fault->doubted_part = ratio_of(tally.doubted_ns, tally.sum_ns);
        fault->late_doubted_part = ratio_of(tally.late_doubted_ns, tally.late_ns);
    }
    free(tally.by_tag);
    free(tally.by_position);
    return failed ? -1 : 0;
}
