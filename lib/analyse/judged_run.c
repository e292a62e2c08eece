#include "analyse/judged_run.h"

#include "analyse/rounds.h"
#include "diagnose/findings_detail.h"
#include "job/load.h"

#include <stdlib.h>

/* A run of which the job is loaded. On failure it is to be released. */
static int judge(struct judged_run *run, const struct diagnose_options *options, struct error *error)
{
    if (findings_find(&run->findings, &run->job, &run->baseline, &run->transfers, options, error))
        return -1;
    run->operations = run->job.operation_count;
    run->timed_operations = run->job.timed_operations;
    return judgement_init(&run->judgement, &run->job, &run->baseline, &run->findings, options) ||
                   findings_detail(&run->findings, &run->job, &run->baseline, run->transfers)
               ? error_no_memory(error)
               : 0;
}

static int judge_later(struct rounds *rounds, const struct chosen_steps *chosen, size_t number,
                       const struct diagnose_options *options, struct error *error)
{
    struct judged_run round = {.transfers = NULL};
    if (job_load_round(&round.job, rounds->job, chosen, number, error))
        return -1;
    int failed = judge(&round, options, error);
    if (!failed && rounds_keep(rounds, &round.judgement, &round.findings))
        failed = error_no_memory(error);
    judged_run_release(&round);
    return failed;
}

/* The first round comes last: it stays. */
static int judge_rounds(struct judged_run *run, const struct chosen_steps *chosen,
                        const struct diagnose_options *options, struct error *error)
{
    struct rounds rounds;
    int failed = rounds_init(&rounds, &run->all, chosen) ? error_no_memory(error) : 0;
    for (size_t i = 1; !failed && i < chosen->count; i++)
        failed = judge_later(&rounds, chosen, i, options, error);
    failed = failed || job_load_round(&run->job, &run->all, chosen, 0, error) || judge(run, options, error);
    run->operations += rounds.operations;
    run->timed_operations += rounds.timed_operations;
    if (!failed && rounds_end(&rounds, &run->judgement, &run->findings))
        failed = error_no_memory(error);
    rounds_release(&rounds);
    return failed;
}

static int judge_one(struct judged_run *run, const struct chosen_steps *chosen,
                     const struct diagnose_options *options, struct error *error)
{
    if (chosen->count) {
        int failed = job_load_round(&run->job, &run->all, chosen, 0, error);
        job_release(&run->all);
        return failed || judge(run, options, error);
    }
    run->job = run->all;
    run->all = (struct job){.store = NULL};
    return job_load_rest(&run->job, error) || judge(run, options, error);
}

int judged_run_init(struct judged_run *run, struct store *store, int64_t run_id,
                    const struct diagnose_options *options, struct error *error)
{
    struct chosen_steps chosen;
    *run = (struct judged_run){.transfers = NULL};
    if (job_plan(&chosen, &run->all, store, run_id, options->memory_bytes, error))
        return -1;
    int failed = chosen.count > 1 ? judge_rounds(run, &chosen, options, error)
                                  : judge_one(run, &chosen, options, error);
    chosen_steps_release(&chosen);
    if (failed)
        judged_run_release(run);
    return failed;
}

void judged_run_release(struct judged_run *run)
{
    judgement_release(&run->judgement);
    free(run->transfers);
    baseline_release(&run->baseline);
    findings_release(&run->findings);
    job_release(&run->job);
    job_release(&run->all);
}
