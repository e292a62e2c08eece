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
#include "network/edges.h"
#include "postmortem/broken_transfers.h"
#include "postmortem/first_unfinished.h"
#include "postmortem/late_start.h"
#include "postmortem/missing.h"
#include "postmortem/unanswering.h"
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

int findings_find(struct findings *findings, const struct job *job, struct baseline *baseline,
                  struct transfer_excess **transfers, const struct diagnose_options *options,
                  struct error *error)
{
    struct suspects suspects = {0};
    struct edges edges = {0};
    struct replay replay = {0}, *timed = job->timed_operations ? &replay : NULL;
    struct extents extents;
    const struct baseline_options own = {.sigmas = options->sigmas};
    findings->off = options->off;
    if (baseline_init(baseline, job, &own, error))
        return -1;
    int failed =
        extents_init(&extents, job) || !(*transfers = transfers_new(job)) ? error_no_memory(error) : 0;
    failed = failed || edges_init(&edges, job, baseline, options->sigmas, error) ||
             suspect_own(&suspects, job, baseline, options, error) ||
             suspect_network(&suspects, job, baseline, &edges, *transfers, options, error);
    baseline_forget_hidden(baseline);
    if (!failed) {
        suspects_doubt(&suspects, job, baseline, &edges, *transfers);
        suspects_doubt_unrecorded(&suspects, job, baseline);
    }
    if (!failed &&
        (suspects_join_hidden_sends(&suspects, job) || suspects_doubt_exchanges(&suspects, job, baseline) ||
         suspects_doubt_unrest(&suspects, job, baseline)))
        failed = error_no_memory(error);
    failed = failed || (timed && replay_init(timed, job, &baseline->excess, *transfers, error));
    if (!failed)
        suspects_weigh(&suspects, job, baseline, *transfers, timed);
    if (!failed && suspects_sum_costs(&suspects, baseline->step_count))
        failed = error_no_memory(error);
    failed = failed || suspects_judge(&suspects, job, baseline, &edges, *transfers, options, findings, error);
    if (!failed && (findings_doubt_crowd(findings, job) || findings_doubt_shared(findings, job)))
        failed = error_no_memory(error);
    failed =
        failed ||
        findings_take_explanations(findings, &suspects, job, baseline, &edges, *transfers, timed, options,
                                   error) ||
        findings_take_senders(findings, &suspects, job, baseline, &edges, *transfers, timed, options, error);
    replay_release(&replay);
    failed = failed || findings_take_busiest(findings, job, baseline, options, error);
    /* Where a record ends that was switched off tells nothing of where its rank stopped. */
    if (!job->is_windows)
        failed = failed || find_absence(job, baseline->positions, &extents, options, findings, error) ||
                 find_laggards(job, baseline, findings, error);
    if (!failed && (find_unanswering(job, findings) || find_broken_transfers(job, findings) ||
                    find_late_starts(job, findings)))
        failed = error_no_memory(error);
    if (!failed && note_steps(findings, job, baseline))
        failed = error_no_memory(error);
    edges_release(&edges);
    extents_release(&extents);
    free(suspects.items);
    free(suspects.cost_ns);
    free(suspects.unrest_ns);
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
