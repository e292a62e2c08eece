#include "diagnose/rules_own_end.h"

#include "diagnose/host_or_gpu.h"
#include "diagnose/rules_finished_only.h"
#include "diagnose/rules_hidden_pairs.h"
#include "job/groups.h"
#include "job/stages.h"

/* Own time that may be something else: the end of what came before is told roughly, or not at all. */

/* Whether its host was late after an operation of all ranks ended the step: what it waits for then is over.
 */
static int is_late_after_all(const struct job *job, const struct baseline *baseline,
                             const struct job_operation *operation)
{
    if (operation->previous < 0 || !is_late_by_host(job, baseline, operation))
        return 0;
    const struct job_operation *previous = &job->operations[operation->previous];
    return job->communicators[previous->communicator].size >= (int64_t)job->rank_count &&
           function_is_full_exchange(previous->function) &&
           all_have_left(job, previous, excess_of(baseline, job, operation).excess_ns / 2);
}

int is_hidden_pair(const struct job *job, const struct baseline *baseline,
                   const struct job_operation *operation)
{
    return job_hides_pairs_of_stages(job) && !is_late_within(job, baseline, operation) &&
           !is_late_after_all(job, baseline, operation) && may_hide_pair(job, baseline, operation);
}

/*
 * Own time that may hide something else: after a send, whose end its proxy or the host tells only roughly, or
 * a receive of which only the host does.
 */
static int may_hide(const struct job *job, const struct baseline *baseline,
                    const struct job_operation *operation)
{
    if (operation->previous < 0)
        return 0;
    const struct job_operation *previous = &job->operations[operation->previous];
    if (is_late_within(job, baseline, operation))
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
    int64_t pairs_ns;       /* that may be a receive which the recorder leaves out (rules_hidden_pairs.c) */
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

static struct doubt doubt_of(const struct suspect *suspect, const struct job *job,
                             const struct baseline *baseline, int64_t least_ns)
{
    struct doubt doubt = {0};
    struct clear clear = {.step = suspect->first_step};
    struct job_range range = suspect_operations(suspect, job);
    for (size_t i = range.first; i < range.end; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (!suspect_has_operation(suspect, operation, excess_ns_at(&baseline->excess, i)))
            continue;
        if (operation->step != clear.step) {
            close_step(&doubt, &clear, least_ns);
            clear = (struct clear){.step = operation->step};
        }
        int within = is_late_within(job, baseline, operation);
        int may_be_end = may_hide(job, baseline, operation),
            may_be_pair = !may_be_end && is_hidden_pair(job, baseline, operation);
        if (operation->own_ns != TIME_UNKNOWN)
            doubt.known_ns += excess_ns_at(&baseline->excess, i);
        if (may_be_end)
            doubt.ends_ns += excess_ns_at(&baseline->excess, i);
        if (may_be_pair)
            doubt.pairs_ns += excess_ns_at(&baseline->excess, i);
        else
            clear.of_pairs_ns += excess_ns_at(&baseline->excess, i);
        if (!may_be_end && !may_be_pair)
            clear.of_both_ns += excess_ns_at(&baseline->excess, i);
        if (has_open_end(job, operation->previous) && !within)
            doubt.groups_ns += excess_ns_at(&baseline->excess, i);
    }
    close_step(&doubt, &clear, least_ns);
    return doubt;
}

/*
 * Whether what is not doubtful of a suspicion would do: it is enough by itself (`least_ns` a step), no less
 * than a quarter, which may come along with the doubtful part, and there in half of the steps at least.
 */
static int would_do(const struct suspect *suspect, int64_t doubtful_ns, int32_t clear_steps, int64_t least_ns)
{
    int32_t steps = suspect_steps(suspect);
    int64_t rest_ns = suspect->total_ns - doubtful_ns;
    return steps >= 2 && rest_ns >= steps * least_ns &&
           (double)rest_ns >= limit_of(LIMIT_REST) * (double)suspect->total_ns && clear_steps * 2 >= steps;
}

/*
 * Where only the end of sends is doubtful, several steps in a row speak for a suspicion all the same: of all
 * else the share that is doubtful is read, unless the rest would do.
 */
static double measure_rough_end(const struct suspect *suspect, const struct job *job,
                                const struct doubt *doubt, int64_t least_ns)
{
    int is_alone = suspect->first_step == suspect->last_step;
    int64_t doubtful_ns = doubt->ends_ns + doubt->pairs_ns;
    if ((!job->blind_to_pairs && !is_alone) || would_do(suspect, doubtful_ns, doubt->clear_steps, least_ns))
        return NOT_ASKED;
    return ratio_of(doubtful_ns, doubt->known_ns);
}

/* Whether most of it may be receives that the recorder leaves out. */
static int may_be_pairs(const struct suspect *suspect, const struct doubt *doubt, int64_t least_ns)
{
    return doubt->pairs_ns * 2 > doubt->known_ns &&
           !would_do(suspect, doubt->pairs_ns, doubt->clear_of_pairs, least_ns);
}

void suspect_doubt_own(struct suspect *suspect, const struct job *job, const struct baseline *baseline,
                       int64_t least_ns)
{
    struct doubt doubt = doubt_of(suspect, job, baseline, least_ns);
    suspect->hides_pairs = may_be_pairs(suspect, &doubt, least_ns);
    suspect_ask(suspect, RULE_ROUGH_END, measure_rough_end(suspect, job, &doubt, least_ns));
    suspect_ask(suspect, RULE_GROUP_END,
                job->finished_only ? ratio_of(doubt.groups_ns, suspect->total_ns) : NOT_ASKED);
    suspect_ask(suspect, RULE_AFTER_WARM_UP, suspect->last_step - baseline->first_step);
}
