#ifndef NCCLPROF_ANALYSE_WAITS_BY_ROWS_H
#define NCCLPROF_ANALYSE_WAITS_BY_ROWS_H

#include "delay/propagation.h"
#include "verdict/options.h"

/*
 * Who was waited for, and why, in a run that memory does not hold: all its steps, rows of them one after the
 * other (step_rows.h). What is usual is so of each row by itself; what delayed a rank before a row goes on in
 * it.
 *
 * `job` has its names (job_load_names), and steps. `options` say how much a row may take in memory. *delays,
 * one per rank, is owned by the caller (free); *rows says how many there were.
 */
int waits_by_rows(const struct job *job, const struct diagnose_options *options, struct delay **delays,
                  size_t *rows, struct error *error);

#endif
