/*
 * The evidence of findings: the figures behind slow networks and explanations, as sentences with numbers that
 * the user can check.
 */
#include "diagnose/evidence.h"
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/finding.h"
#include "diagnose/network.h"
#include "diagnose/score.h"
#include "job/job.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>

static const char no_calls[] =
    ". The trace does not show when the host enqueued it, so whether host or GPU was late cannot be "
    "determined";
static const char on_estimates[] =
    ". End times are estimated from the start of the next operation, because the kernels record none";

/*
 * Appends what a gap is compared with, "; peers 306 us, rank 7 in other steps 305 us". A time that is
 * TIME_UNKNOWN is left out.
 */
static int text_gaps(struct buffer *text, int64_t peers_ns, int64_t other_steps_ns, const char *rank)
{
    if (peers_ns != TIME_UNKNOWN && (buffer_append_text(text, "; peers ") || text_time(text, peers_ns)))
        return -1;
    if (other_steps_ns == TIME_UNKNOWN)
        return 0;
    return buffer_printf(text, "%c rank %s in other steps ", peers_ns == TIME_UNKNOWN ? ';' : ',', rank) ||
           text_time(text, other_steps_ns);
}

/* The sentence of the evidence that says whether host or GPU caused it: ". The host enqueued it late". */
static const char *host_or_gpu_text(enum finding_kind kind)
{
    return kind == FINDING_HOST
               ? ". The host enqueued it late"
               : ". The kernel was already queued, so the GPU was busy and the host was not late";
}

/* The median of a service over the steps of a finding, or over the others; TIME_UNKNOWN: there are none. */
static int64_t middle_of_service(const struct finding *finding, const struct job *job,
                                 const struct baseline *baseline, int32_t rank, enum service kind, int inside,
                                 int64_t *list)
{
    size_t count = 0;
    for (int32_t step = baseline->first_step; step < job->step_count; step++) {
        const struct job_service *service =
            &job->services[(size_t)rank * (size_t)job->step_count + (size_t)step];
        if (finding_has_step(finding, step) == inside)
            list[count++] = kind == SERVICE_SEND ? service->send_ns : service->drain_ns;
    }
    return median_of(list, count);
}

int64_t service_rise(const struct finding *finding, const struct job *job, const struct baseline *baseline,
                     int32_t rank, enum service kind, int64_t *list)
{
    int64_t inside_ns = middle_of_service(finding, job, baseline, rank, kind, 1, list);
    int64_t outside_ns = middle_of_service(finding, job, baseline, rank, kind, 0, list);
    return inside_ns == TIME_UNKNOWN || outside_ns == TIME_UNKNOWN ? 0 : inside_ns - outside_ns;
}

/* A single operation that takes this many times its baseline did not move any data for most of the time. */
enum { STANDSTILL = 10 };

/*
 * How long nothing moved, once, in a single step: the longest wait of a network step, if it is most of the
 * cost; without network steps, the excess of a single operation that took STANDSTILL times its baseline. 0:
 * the network was slow but moved.
 */
static int64_t pause_of(const struct finding *finding, const struct slowness *slowness, int64_t gain_ns)
{
    int64_t longest_ns = slowness->longest_ns;
    if (finding->first_step != finding->last_step)
        return 0;
    if (!slowness->steps)
        longest_ns =
            slowness->slowest_ns > STANDSTILL * slowness->slowest_usual_ns ? slowness->slowest_ns : 0;
    return longest_ns * 2 >= gain_ns ? longest_ns : 0;
}

static int append_edges(const struct slowness *slowness, struct finding *finding)
{
    struct figures *figures = &finding->figures;
    struct buffer *text = &finding->evidence;
    if (!slowness->steps)
        return 0;
    int64_t mean_ns = slowness->wait_ns / slowness->steps;
    int64_t usual_ns = (slowness->wait_ns - slowness->extra_ns) / slowness->steps;
    figures_add(figures, "network_steps", (double)slowness->steps);
    figures_add_time(figures, "send_wait_us_mean", mean_ns);
    figures_add_time(figures, "usual_send_wait_us_mean", usual_ns);
    figures_add_time(figures, "send_wait_us_max", slowness->longest_ns);
    return buffer_printf(text, "%lld network steps waited ", (long long)slowness->steps) ||
           text_time(text, mean_ns) ||
           buffer_append_text(text, slowness->is_against_others ? " on average (SendWait; other senders "
                                                                : " on average (SendWait; baseline ") ||
           text_time(text, usual_ns) || buffer_append_text(text, ", longest ") ||
           text_time(text, slowness->longest_ns) || buffer_append_text(text, "). ");
}

int slowness_append_pause(const struct slowness *slowness, int64_t gain_ns, struct finding *finding)
{
    finding->pause_ns = pause_of(finding, slowness, gain_ns);
    if (finding->pause_ns)
        figures_add_time(&finding->figures, "pause_us", finding->pause_ns);
    return slowness_append(slowness, finding);
}

int slowness_append(const struct slowness *slowness, struct finding *finding)
{
    struct buffer *text = &finding->evidence;
    if (append_edges(slowness, finding))
        return -1;
    if (!slowness->operations)
        return buffer_append_text(text, "The times of its operations on the GPU are not recorded");
    int64_t mean_ns = slowness->transfer_ns / slowness->operations;
    int64_t usual_ns = (slowness->transfer_ns - slowness->slow_ns) / slowness->operations;
    figures_add(&finding->figures, "operations", (double)slowness->operations);
    figures_add_time(&finding->figures, "transfer_us_mean", mean_ns);
    figures_add_time(&finding->figures, "usual_transfer_us_mean", usual_ns);
    const char *usually = slowness->is_against_groups   ? " (other groups of ranks: "
                          : slowness->is_against_others ? " (with sends as fast as those of other senders: "
                                                        : " (baseline ";
    return buffer_printf(text, "%lld operation%s took ", (long long)slowness->operations,
                         slowness->operations == 1 ? "" : "s") ||
           text_time(text, mean_ns) ||
           buffer_append_text(text, slowness->operations == 1 ? "" : " on average") ||
           buffer_append_text(text, usually) || text_time(text, usual_ns) || buffer_append_byte(text, ')');
}

/*
 * Whose own times are listed: of the ranks of the explanation in its steps, of the same ranks in other steps,
 * or of other ranks.
 */
enum whose { OF_RANK_SLOW, OF_RANK_ELSE, OF_OTHERS };

static int belongs(const struct explanation *explanation, int32_t rank, int32_t step, enum whose whose)
{
    int has_step = explanation_has_step(explanation, step);
    if (whose == OF_OTHERS)
        return has_step && !explanation_has_rank(explanation, rank);
    return rank == explanation->rank && has_step == (whose == OF_RANK_SLOW);
}

/* The median own time at the position; TIME_UNKNOWN: none. `list` has room for every rank and step. */
static int64_t middle_of(const struct explanation *explanation, const struct job *job,
                         const struct baseline *baseline, enum whose whose, int64_t *list)
{
    int32_t role = baseline->role_of_rank[explanation->rank];
    size_t count = 0;
    for (size_t at = 0; at < baseline->roles[role].rank_count; at++)
        for (int32_t step = baseline->first_step; step < baseline->step_count; step++) {
            int32_t cell = baseline_cell(baseline, role, explanation->position, at, step);
            if (cell >= 0 && job->operations[cell].own_ns != TIME_UNKNOWN &&
                belongs(explanation, baseline->roles[role].ranks[at], step, whose))
                list[count++] = job->operations[cell].own_ns;
        }
    return median_of(list, count);
}

static int append_times(const struct explanation *explanation, const struct job *job,
                        const struct baseline *baseline, int64_t *list, struct finding *finding)
{
    int32_t role = baseline->role_of_rank[explanation->rank], call = explanation->position + 1;
    int32_t cell = baseline_cell(baseline, role, explanation->position,
                                 (size_t)baseline->rank_in_role[explanation->rank], explanation->steps.first);
    int64_t slow_ns = middle_of(explanation, job, baseline, OF_RANK_SLOW, list);
    int64_t others_ns = middle_of(explanation, job, baseline, OF_OTHERS, list);
    int64_t else_ns = middle_of(explanation, job, baseline, OF_RANK_ELSE, list);
    const struct job_operation *operation = cell >= 0 ? &job->operations[cell] : NULL;
    const char *rank = job->ranks[explanation->rank].name;
    int is_known = job_records_calls(job, explanation->rank);
    struct buffer *text = &finding->evidence;
    if (slow_ns == TIME_UNKNOWN)
        return 0;
    figures_add(&finding->figures, "call", call);
    figures_add_time(&finding->figures, "gap_us", slow_ns);
    figures_add_time(&finding->figures, "peers_gap_us", others_ns);
    figures_add_time(&finding->figures, "other_steps_gap_us", else_ns);
    return buffer_append_text(text, "The gap before ") ||
           text_place(text, call, "the step", operation ? function_name(operation->function) : NULL,
                      operation ? &job->communicators[operation->communicator] : NULL) ||
           buffer_printf(text, " on rank %s is ", rank) || text_time(text, slow_ns) ||
           text_gaps(text, others_ns, else_ns, rank) ||
           buffer_append_text(text, is_known ? host_or_gpu_text(finding->kind) : no_calls) ||
           (explanation->on_estimates && is_known && buffer_append_text(text, on_estimates));
}

int evidence_of_explanation(const struct explanation *explanation, const struct job *job,
                            const struct baseline *baseline, struct finding *finding)
{
    int32_t role = baseline->role_of_rank[explanation->rank];
    if (explanation->position < 0 || role < 0)
        return 0;
    int64_t *list = array_new(baseline->roles[role].rank_count * (size_t)baseline->step_count, sizeof *list);
    int failed = !list || append_times(explanation, job, baseline, list, finding);
    free(list);
    return failed ? -1 : 0;
}
