#ifndef NCCLPROF_JOB_LOAD_NAMES_H
#define NCCLPROF_JOB_LOAD_NAMES_H

#include "job/job.h"

/* Ids of the store's runs, ascending; *ids is freed by the caller. */
int job_list(struct store *store, int64_t **ids, size_t *count, struct error *error);

/* Runs of which one rank of several is known: where there are several, they may be pieces of one job. */
int job_count_pieces(struct store *store, int64_t *count, struct error *error);

/* The run itself, its ranks and communicators, into a job that is empty but for store and run. */
int job_read_names(struct job *job, struct error *error);

#endif
