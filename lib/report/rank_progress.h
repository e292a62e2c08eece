/*
 * How far each rank of a stopped job came (rank_progress.c): for the text and the JSON of diagnose, and for
 * the HTML report. Functions return -1 when memory runs out.
 */
#ifndef NCCLPROF_REPORT_RANK_PROGRESS_H
#define NCCLPROF_REPORT_RANK_PROGRESS_H

#include <stdint.h>

struct buffer;
struct findings;
struct job;
struct judgement;

/* The operations of a rank in a step. */
struct rank_progress {
    int64_t called;
    int64_t finished;
    int32_t waits_in; /* the first operation that never finished; -1: none */
    int32_t last;     /* the last operation that it called, in this step or before; -1: none */
};

/*
 * Counts the operations of a rank in a step of the job; `step` -1: in all. Where the rank left no operations,
 * the counts are those that it reports itself (struct job_progress), without `waits_in` and `last`.
 */
void rank_progress_measure(struct rank_progress *progress, const struct job *job, int32_t rank, int32_t step);

/*
 * If a job stopped, appends the operations that never finished, with the ranks that wait in them, and how far
 * each rank came. Ranks that are alike share a line, so that the text is short for any number of ranks.
 * Nothing where the run was loaded in several rounds.
 */
int progress_append_text(const struct judgement *judgement, const struct findings *findings, int names_run,
                         struct buffer *text);

/* Appends the same as JSON objects, one for ranks that are alike, separated by commas. */
int progress_append_json(const struct judgement *judgement, const struct findings *findings,
                         struct buffer *json);

#endif
