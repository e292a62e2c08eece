#ifndef NCCLPROF_SCORE_EXPLAIN_COST_H
#define NCCLPROF_SCORE_EXPLAIN_COST_H

#include "score/explain_search.h"

/* What an explanation costs the job, by replay, and where it lies. -1 and 1 stand for memory that is out. */

/* Plays the job as it was, where that has not been done yet. */
int explaining_replay(struct explaining *it);

/* Marks its steps. */
void explaining_mark(struct explaining *it, const struct explanation *explanation);

/* Takes it out of the replay, and says what that gains. */
int explaining_take_out(struct explaining *it, struct explanation *explanation);

/* What it has to gain at least to be believed, however certain. */
int64_t explaining_least_gain(const struct explaining *it, const struct explanation *fault);

/* After what has been taken out for good: what less own time can gain from here on, and what is put back. */
void explaining_settle(struct explaining *it);

/*
 * Which of the units that the slowest rank is in the fault is of: the largest of those that are certain
 * without which the job gains nearly as much as without any of them. A rank of a slow host gains nothing by
 * itself, and what the ranks have in common with one that is slow alone gains little. Where none of them can
 * gain the least that counts, as they are hardly on the critical path, the gain is said to be 0, and the
 * fault left as it is.
 */
int explaining_fit(struct explaining *it, struct explanation *fault);

/* What it amounts to, by the panels that it was found in; then its phase, its place and its margin. */
void explaining_measure(struct explaining *it, struct explanation *explanation);
int explaining_locate(struct explaining *it, struct explanation *fault);

#endif
