#include "analyse/diagnosis.h"

#include "analyse/option.h"
#include "diagnose/busiest.h"
#include "diagnose/candidates_network.h"
#include "diagnose/candidates_own.h"
#include "diagnose/explained.h"
#include "diagnose/explained_network.h"
#include "diagnose/lengthening.h"
#include "diagnose/rules_common_cause.h"
#include "diagnose/rules_common_lateness.h"
#include "diagnose/rules_finished_only.h"
#include "diagnose/rules_hidden_pairs.h"
#include "diagnose/rules_inherited.h"
#include "diagnose/suspect.h"
#include "diagnose/verdict.h"
#include "diagnose/what_if.h"
#include "job/excerpts.h"
#include "job/load_names.h"
#include "job/record_extents.h"
#include "job/threads.h"
#include "network/edges.h"
#include "postmortem/broken_transfers.h"
#include "postmortem/first_unfinished.h"
#include "postmortem/late_start.h"
#include "postmortem/missing.h"
#include "postmortem/reported_absence.h"
#include "postmortem/reported_errors.h"
#include "postmortem/unanswering.h"
#include "postmortem/unmade.h"
#include "steps/step_summary.h"

#include <stdlib.h>

static int note_steps(struct findings *findings, const struct job *job, const struct baseline *baseline)
{
    int64_t usual_ns;
    if (step_usual_ns(baseline, &usual_ns))
        return -1;
    for (size_t i = 0; i < findings->count; i++) {
        struct finding *finding = &findings->items[i];
        finding->step_ns = usual_ns == TIME_UNKNOWN ? 0 : usual_ns;
        finding->breaks = job_breaks_in(job, finding->first_step, finding->last_step);
    }
    return 0;
}

/* What findings_find is asked, and what two threads find that need nothing of each other. */
struct search {
    const struct job *job;
    struct baseline *baseline;
    struct transfer_excess **transfers;
    const struct diagnose_options *options;
    struct findings *longer; /* who made steps longer */
    struct findings stopped; /* owned: who stopped the job */
    struct error errors[2];  /* of each */
};

/* Who may be late, or have slow transfers; what is beyond the usual is known then. Released by the caller,
 * also on failure. */
static int find_candidates(const struct search *search, struct suspects *suspects, struct edges *edges,
                           struct error *error)
{
    const struct job *job = search->job;
    struct baseline *baseline = search->baseline;
    const struct diagnose_options *options = search->options;
    *search->transfers = transfers_new(job);
    int failed = !*search->transfers ? error_no_memory(error) : 0;
    failed = failed || edges_init(edges, job, baseline, options->sigmas, error) ||
             suspect_own(suspects, job, baseline, options, error) ||
             suspect_network(suspects, job, baseline, edges, *search->transfers, options, error);
    baseline_forget_hidden(baseline);
    return failed;
}

static void suspects_release(struct suspects *suspects)
{
    free(suspects->items);
    free(suspects->cost_ns);
    free(suspects->unrest_ns);
}

static int find_longer(struct search *search, struct error *error)
{
    const struct job *job = search->job;
    struct baseline *baseline = search->baseline;
    const struct diagnose_options *options = search->options;
    struct findings *findings = search->longer;
    struct suspects suspects = {0};
    struct edges edges = {0};
    struct replay replay = {0}, *timed = job->timed_operations ? &replay : NULL;
    int failed = find_candidates(search, &suspects, &edges, error);
    struct transfer_excess *transfers = *search->transfers;
    if (!failed) {
        suspects_doubt(&suspects, job, baseline, &edges, transfers);
        suspects_doubt_unrecorded(&suspects, job, baseline);
    }
    if (!failed &&
        (suspects_join_hidden_sends(&suspects, job) || suspects_doubt_exchanges(&suspects, job, baseline) ||
         suspects_doubt_unrest(&suspects, job, baseline)))
        failed = error_no_memory(error);
    failed = failed || (timed && replay_init(timed, job, &baseline->excess, transfers, error));
    if (!failed && (suspects_weigh(&suspects, job, baseline, transfers, timed) ||
                    suspects_sum_costs(&suspects, baseline->step_count)))
        failed = error_no_memory(error);
    failed = failed || suspects_judge(&suspects, job, baseline, &edges, transfers, options, findings, error);
    if (!failed && (findings_doubt_crowd(findings, job) || findings_doubt_shared(findings, job)))
        failed = error_no_memory(error);
    failed =
        failed ||
        findings_take_explanations(findings, &suspects, job, baseline, &edges, transfers, timed, options,
                                   error) ||
        findings_take_senders(findings, &suspects, job, baseline, &edges, transfers, timed, options, error);
    replay_release(&replay);
    failed = failed || findings_take_busiest(findings, job, baseline, options, error);
    edges_release(&edges);
    suspects_release(&suspects);
    return failed;
}

/* Where a record ends that was switched off tells nothing of where its rank stopped. */
static int find_stopped(struct search *search, struct error *error)
{
    const struct job *job = search->job;
    struct extents extents;
    if (job->is_windows || job->is_later_round)
        return 0;
    int failed = extents_init(&extents, job) ? error_no_memory(error) : 0;
    failed =
        failed ||
        find_absence(job, search->baseline->positions, &extents, search->options, &search->stopped, error) ||
        find_laggards(job, search->baseline, &search->stopped, error);
    extents_release(&extents);
    return failed;
}

static int find_part(void *context, size_t worker, size_t first, size_t end)
{
    struct search *search = context;
    for (size_t i = first; i < end; i++)
        if (i == 0 ? find_longer(search, &search->errors[0]) : find_stopped(search, &search->errors[1]))
            return -1;
    return 0;
}

/* What stopped the job comes last. */
static int find_both(struct search *search, struct error *error)
{
    int failed = parallel_for(2, 1, job_threads(search->job), find_part, search);
    for (size_t i = 0; i < 2; i++)
        if (search->errors[i].depth) {
            if (error)
                *error = search->errors[i];
            return -1;
        }
    return failed || findings_append(search->longer, &search->stopped) ? error_no_memory(error) : 0;
}

int findings_find(struct findings *findings, const struct job *job, struct baseline *baseline,
                  struct transfer_excess **transfers, const struct diagnose_options *options,
                  struct error *error)
{
    struct search search = {.job = job,
                            .baseline = baseline,
                            .transfers = transfers,
                            .options = options,
                            .longer = findings,
                            .stopped = {.off = options->off},
                            .errors = {ERROR_INIT, ERROR_INIT}};
    const struct baseline_options own = {.sigmas = options->sigmas};
    findings->off = options->off;
    if (baseline_init(baseline, job, &own, error))
        return -1;
    int failed = find_both(&search, error);
    findings_release(&search.stopped);
    if (!failed && (find_unanswering(job, findings) || find_broken_transfers(job, findings) ||
                    find_unmade(job, findings) || find_reported_absence(job, findings) ||
                    find_reported_errors(job, findings) || find_late_starts(job, findings) ||
                    note_steps(findings, job, baseline)))
        failed = error_no_memory(error);
    return failed ? -1 : 0;
}

int excess_find(const struct job *job, struct baseline *baseline, struct transfer_excess **transfers,
                const struct diagnose_options *options, struct error *error)
{
    const struct search search = {
        .job = job, .baseline = baseline, .transfers = transfers, .options = options};
    const struct baseline_options own = {.sigmas = options->sigmas};
    struct suspects suspects = {0};
    struct edges edges = {0};
    if (baseline_init(baseline, job, &own, error))
        return -1;
    int failed = find_candidates(&search, &suspects, &edges, error);
    edges_release(&edges);
    suspects_release(&suspects);
    return failed ? -1 : 0;
}

int diagnose_options_usual(struct diagnose_options *options, struct store *store, struct error *error)
{
    *options = (struct diagnose_options){0};
    return option_thresholds(MIN_GAIN_PERCENT, SIGMAS, options, error) ||
                   option_rules_off(&options->off, error) || job_count_pieces(store, &options->pieces, error)
               ? -1
               : 0;
}
