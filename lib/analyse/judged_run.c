#include "analyse/judged_run.h"

#include "diagnose/findings_detail.h"
#include "job/load.h"

#include <stdlib.h>

int judged_run_init(struct judged_run *run, struct store *store, int64_t run_id,
                    const struct diagnose_options *options, struct error *error)
{
    *run = (struct judged_run){.transfers = NULL};
    if (job_load_within(&run->job, store, run_id, options->memory_bytes, error))
        return -1;
    int failed = findings_find(&run->findings, &run->job, &run->baseline, &run->transfers, options, error);
    if (!failed && (judgement_init(&run->judgement, &run->job, &run->baseline, &run->findings, options) ||
                    findings_detail(&run->findings, &run->job, &run->baseline, run->transfers)))
        failed = error_no_memory(error);
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
}
