/*
 * The GPU that sets the pace. A rank with no peers in its role, or only one, as in a pipeline of single GPUs,
 * can be compared with next to nothing, and a rank that is slow in every step has no healthy past either.
 * Recorders that record all GPU work still show which GPU computes for most of each step while all others
 * wait.
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/evidence.h"
#include "diagnose/finding.h"
#include "job/job.h"

#include <stdlib.h>

/* At least this many steps must have a GPU time: fewer may be exceptions. */
enum { LEAST_STEPS = 3 };

/*
 * GPU time that a rank computed between its operations in a step; TIME_UNKNOWN where it has none in that
 * step.
 */
static int64_t work_in(const struct job *job, int32_t rank, int32_t step)
{
    struct job_range range = job_operations_in(job, rank, step, step);
    int64_t sum_ns = 0;
    int is_there = 0;
    for (size_t i = range.first; i < range.end; i++) {
        if (job->operations[i].step != step)
            continue;
        is_there = 1;
        if (job->operations[i].group == (int32_t)i) /* operations of one group call share their kernel */
            sum_ns += job->gpu_busy_ns[i];
    }
    return is_there ? sum_ns : TIME_UNKNOWN;
}

/* The median over the steps. */
static int64_t usual_work(const struct job *job, const struct baseline *baseline, int32_t rank, int64_t *list)
{
    size_t count = 0;
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++) {
        int64_t work_ns = work_in(job, rank, step);
        if (work_ns != TIME_UNKNOWN)
            list[count++] = work_ns;
    }
    return count < LEAST_STEPS ? TIME_UNKNOWN : median_of(list, count);
}

int busiest_find(struct busiest *busiest, const struct job *job, const struct baseline *baseline)
{
    *busiest = (struct busiest){.rank = -1};
    if (!job->gpu_busy_ns || job_silent_ranks(job) > 0 || job->rank_count < 2)
        return 0;
    int64_t *list = array_new((size_t)baseline->step_count + 1, sizeof *list);
    int all = list != NULL;
    for (size_t i = 0; all && i < job->rank_count; i++) {
        int64_t work_ns = usual_work(job, baseline, (int32_t)i, list);
        all = work_ns != TIME_UNKNOWN;
        if (all && work_ns > busiest->work_ns) {
            busiest->next_ns = busiest->work_ns;
            busiest->work_ns = work_ns;
            busiest->rank = (int32_t)i;
        } else if (all && work_ns > busiest->next_ns) {
            busiest->next_ns = work_ns;
        }
    }
    free(list);
    if (!all)
        busiest->rank = -1;
    return list ? 0 : -1;
}

static int lacks_peers(const struct baseline *baseline, int32_t rank)
{
    int32_t role = baseline->role_of_rank[rank];
    return role >= 0 && (double)baseline->roles[role].rank_count < limit_of(LIMIT_RANKS_OF_ROLE);
}

/* A stage may have more work by design: an embedding or a loss makes it heavier by less than this factor. */
enum { TIMES_OF_OTHERS = 2 };

/* Whether a GPU computes for most of the step and by far longer than all others, which wait for it. */
static int sets_pace(const struct busiest *busiest, const struct baseline *baseline)
{
    return busiest->rank >= 0 && busiest->work_ns >= TIMES_OF_OTHERS * busiest->next_ns &&
           (double)busiest->work_ns >= limit_of(LIMIT_HALF) * (double)baseline->median_step_ns;
}

static int is_said(const struct findings *findings, int32_t rank)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].confidence > CONFIDENCE_LOW && finding_has_rank(&findings->items[i], rank))
            return 1;
    return 0;
}

static void ask(const struct findings *findings, struct finding *finding, const struct busiest *busiest,
                const struct job *job, const struct baseline *baseline,
                const struct diagnose_options *options)
{
    double worth = ratio_of(busiest->work_ns - busiest->next_ns, baseline->median_step_ns);
    worth = options->min_gain > 0 ? worth / options->min_gain : 2;
    /* Other stages are no peers, so a design cannot be excluded. */
    finding->confidence = CONFIDENCE_MEDIUM;
    finding_ask(findings, finding, RULE_WORTH, worth);
    finding_ask(findings, finding, RULE_WORTH_SURE, worth);
    finding_ask(findings, finding, RULE_SHARED_PROCESS, job->ranks[busiest->rank].is_part);
    finding_ask_record(findings, finding, job, baseline);
}

static int say(const struct busiest *busiest, const struct job *job, struct buffer *text)
{
    return buffer_printf(text, "In each step, the GPU of rank %s computes for ",
                         job->ranks[busiest->rank].name) ||
                   text_time(text, busiest->work_ns) ||
                   buffer_append_text(text, "; that of the busiest other rank for ") ||
                   text_time(text, busiest->next_ns)
               ? -1
               : 0;
}

int findings_take_busiest(struct findings *findings, const struct job *job, const struct baseline *baseline,
                          const struct diagnose_options *options, struct error *error)
{
    struct busiest busiest;
    if (busiest_find(&busiest, job, baseline))
        return error_no_memory(error);
    if (!sets_pace(&busiest, baseline) || !lacks_peers(baseline, busiest.rank) ||
        is_said(findings, busiest.rank))
        return 0;
    struct finding *finding = findings_add(findings);
    if (!finding || say(&busiest, job, &finding->evidence))
        return error_no_memory(error);
    int32_t steps = baseline->step_count - baseline->first_step;
    finding->kind = FINDING_COMPUTE;
    finding->rank = busiest.rank;
    finding->tag = -1;
    finding->first_step = baseline->first_step;
    finding->last_step = baseline->step_count - 1;
    finding->lost_ns = finding->slow_ns = scale(busiest.work_ns - busiest.next_ns, steps);
    ask(findings, finding, &busiest, job, baseline, options);
    return 0;
}
