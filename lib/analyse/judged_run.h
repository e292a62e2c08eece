#ifndef NCCLPROF_ANALYSE_JUDGED_RUN_H
#define NCCLPROF_ANALYSE_JUDGED_RUN_H

#include "analyse/diagnosis.h"
#include "analyse/summary.h"

/* A run with all that diagnose finds in it, for whoever tells of it. */
struct judged_run {
    struct job job; /* its only round (job/load.h), or the first */
    struct job all; /* where there are several: what tells of them (rounds.h) */
    struct baseline baseline;
    struct findings
        findings; /* with their details (diagnose/findings_detail.h), in steps of judgement.told */
    struct transfer_excess *transfers;
    struct judgement judgement;
    size_t operations; /* that were loaded, in whatever round */
    int64_t timed_operations;
};

/* On failure nothing is left to release. It stays where it is: parts of it point to others. */
int judged_run_init(struct judged_run *run, struct store *store, int64_t run_id,
                    const struct diagnose_options *options, struct error *error);
void judged_run_release(struct judged_run *run);

#endif
