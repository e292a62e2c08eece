#ifndef NCCLPROF_POSTMORTEM_REPORTED_ERRORS_H
#define NCCLPROF_POSTMORTEM_REPORTED_ERRORS_H

#include "verdict/finding.h"

/*
 * Errors that ranks report themselves, in NCCL's log or PyTorch's: of which kind a warning is, and what that
 * kind says, is one table. A rank that reports an error of its own is at fault (FINDING_ERROR); where it is
 * already found at fault for stopping the job, the error is evidence of that. Several ranks with such errors
 * are candidates. A rank that only reports an effect (a peer that closed its connection, an abort) is not
 * accused. Called once all else is found that stops a job.
 */
int find_reported_errors(const struct job *job, struct findings *findings);

/* What a warning of a kind reports of its own process: "a CUDA error". NULL: nothing of that sort. */
const char *reported_what(enum warning_kind kind);

/* Whether it is of something that failed. */
int reported_is_failure(enum warning_kind kind);

/* Whether it reports a failure of the rank's own, which ends a job. */
int reported_is_own(enum warning_kind kind);

/* Whether it reports an effect of what another rank did. */
int reported_is_effect(enum warning_kind kind);

#endif
