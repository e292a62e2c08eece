#ifndef NCCLPROF_JOB_INTERNAL_H
#define NCCLPROF_JOB_INTERNAL_H

#include "job/job.h"

#include <stddef.h>
#include <stdint.h>

/* -------------------- job.c -------------------- */

/* What there is room for in an operation and in an instance: so many at most. */
enum {
    JOB_MOST_RANKS = 1 << 23,
    JOB_MOST_ROOTS = 1 << 23,
    JOB_MOST_STEPS = 1 << 27,
    JOB_MOST_TAGS = 1 << 26
};

enum { JOB_DELAY_BLOCK = 64 };

/* All of them, for those who ask that themselves (store/membership.h). */
struct run_ranks job_run_ranks(const struct job *job);

/* Of an operation, while the job is loaded: how long it took, where its start is not known. TIME_UNKNOWN. */
static inline int64_t job_draft_duration(const struct job *job, size_t operation)
{
    return job->drafts.durations_ns ? job->drafts.durations_ns[operation] : TIME_UNKNOWN;
}

void job_drafts_release(struct job_drafts *drafts);

/*
 * Lengthens the transfers of pairs by what their network steps tell, or the clocks where there are no such
 * steps; shortens those that end with others, by what these waited for. Timelines and clocks stand. -1: no
 * memory.
 */
int job_measure_pairs(struct job *job);

/*
 * Whether two operations, one after the other in order of issue, are of one group call:
 * point-to-point operations of one call are one kernel. They have their call in common, or the second began
 * before the first was handed over.
 */
int job_same_group(const struct job *job, size_t before, size_t after);

/* The operation of a member's group that held the stream longest, as far as is known by now. */
int32_t job_last_of_group(const struct job *job, int32_t member);

/* -------------------- screening.c -------------------- */

/*
 * A run looked at without holding its operations: how many there are in each step, where the record of each
 * rank ends, and which steps stand out. What is measured is, of each communicator in each step, how long its
 * operations were on the device, summed over its members: it grows in all that wait for one that is late, and
 * where a transfer is slow. And of some ranks how long steps lasted, as they could all be late at once.
 */
struct screening {
    int32_t step_count;
    int64_t *operations; /* owned: [step] */
    int64_t in_no_step;
    int64_t total;
    int32_t *last_step; /* owned: [rank], the last of which it has an operation; -1 */
    size_t rank_count;
    double *stands_out; /* owned: [step], by how many times the usual spread it is away from usual; 0 where
                           nothing tells how long operations took */
    int is_told;        /* something does */
};

/* Of a job of which names are loaded. Release it whatever comes back. */
int screening_init(struct screening *screening, const struct job *job, struct error *error);
void screening_release(struct screening *screening);

/* -------------------- step_selection.c -------------------- */

/*
 * In the first round about as many steps as have `most_operations` operations, a few at the least: the first
 * ones that are recorded, from `first_step` on, the last ones, those in which the records of single ranks
 * end, where steps change or stand out, and of the rest rows of steps evenly spread. Where that is few, one
 * row, or none where something stands out and has a round of its own; `most_rounds` are MOST_ROUNDS or less.
 * The same screening always gives the same steps. -1 when memory is out; release it all the same.
 */
int steps_choose(const struct screening *screening, int32_t first_step, int64_t most_operations,
                 int32_t most_rounds, struct chosen_steps *chosen);

/* -------------------- clock_alignment.c -------------------- */

/* Offsets between the clocks of the ranks. */
int job_align_clocks(struct job *job, struct error *error);

/*
 * Fills in tail_step of the ranks: a rank whose record of a communicator ends before what others got past
 * there has a file that was cut, and what it did there meanwhile looks like its own time. Recorders of
 * finished operations lose some anywhere, and are left out, as are those that were on for a while only.
 */
void job_find_tails(struct job *job, const struct extents *extents);

/*
 * The sequence numbers that a rank showed on a communicator for one collective function, in one excerpt where
 * the run is loaded in such.
 */
struct series {
    int64_t least;
    int64_t greatest;
    int64_t count; /* operations */
    int32_t rank;
    int32_t communicator;
    uint8_t function;
    size_t excerpt;
};

typedef int (*series_taker)(void *context, const struct series *series);

/* Calls `take` for each series of a job, once, those of a rank in order of excerpts. Stops at the first that
 * returns -1, and where memory is out.
 */
int job_each_series(const struct job *job, series_taker take, void *context);

/* -------------------- timeline.c -------------------- */

/* Puts all times on timelines, aligns the clocks and measures own times and transfers. */
int job_build_timelines(struct job *job, struct error *error);

/*
 * Kernels that note when they began and not when they ended (NVIDIA/nccl#1973), and have no proxy operations
 * to say it: an operation is over when the next of its stream begins, at the latest, and so it is for those
 * that left it with the rank. In common time the earliest such begin is the end of all members of a full
 * exchange, that of either side the end of a pair, and the latest of its pairs the end of a group. By as much
 * as that is too late all have too little own time; what one rank has more than the others stays (ends:
 * ENDS_ESTIMATED). Only where most kernels of a job note no end: else those that do tell who waited, and
 * estimates blur it. Wants streams and clocks. -1 when memory is out.
 */
int job_estimate_ends(struct job *job, int *estimated);

/* -------------------- device_time.c -------------------- */

/* Puts all times of a rank on its device timeline. -1 when memory is out. */
int job_map_rank(struct job *job, struct job_rank *rank);

/*
 * When operations ran, of recorders that tell when each was called and how long it took on the GPU, and no
 * more (Flight Recorder with timing). In a full exchange, and between a send and its receive, nobody ends
 * before all have come, and then nearly at once: all have one end, and began by their durations before it.
 * That end is not before any member's call plus its duration, nor before the end of what the communicator did
 * before plus the longest duration, since that is one stream. The least of that is taken: by as much as it is
 * too early, all members are alike, so that what one rank has more than the others stays, but for a
 * transfer (the shortest duration): by so much members may leave apart. Calls are compared as the hosts'
 * clocks have them; operations without a duration have no times, and none has where ranks communicate in
 * several communicators within a step, or hosts run steps ahead of their GPUs. Wants operations laid out,
 * with their instances' members (job->calls). -1 when memory is out.
 */
int job_time_calls(struct job *job);

/* -------------------- early_stops.c -------------------- */

/* Lets operations end later whose kernels noted their stop early; *mended says whether any was. */
int job_correct_ends(struct job *job, int *mended, struct error *error);

/* Lets an operation end later, but not after the next of its stream began (`next_ns`); whether it does. */
int job_end_later(struct job *job, int32_t at, int64_t end, int64_t next_ns);

/* -------------------- shared_kernels.c -------------------- */

/*
 * Sends and receives of one group call share a kernel, which notes its stop when a part of its threads is
 * done: what a receive waited for after that seems to be own time of the next operation. Clocks of two ranks
 * often do not tell when a sender came (early_stops.c), but what both did since they last met does: where two
 * ranks sent to each other in one call, or were in one collective, they went on at once, and the one that
 * took longer until the next such call came later to it, by the difference. A receive ends when its sender
 * had come, at the least. Calls are gone through in order, so that each begins from where the one before
 * really ended. *mended says whether any does so later than recorded.
 */
int job_correct_shared_kernels(struct job *job, int *mended, struct error *error);

/*
 * Kernels whose times are those of another operation: they began before their own was called, by clocks that
 * job_map_rank aligned. Host and GPU have then counted apart, on all ranks of a communicator and from some
 * operation on: what kernels of that communicator say is forgotten. To be called while drafts tell when
 * starts were noticed. -1: no memory.
 */
int job_forget_astray_kernels(struct job *job);

/* -------------------- step_selection.c -------------------- */

/* Which excerpt a step of the job is in, a break in the one before it; 0 of a run that is loaded whole. */
size_t job_excerpt_of(const struct job *job, int32_t step);

/* -------------------- screening.c -------------------- */

/* In operations. */
struct step_sizes {
    int64_t in_steps;
    int64_t with_each; /* that are loaded with each row */
    int32_t step_count;
};

/*
 * How many rows take about `most_operations` each. Where what is loaded with each leaves too little room,
 * rows take more: a step, and a fourth of `most_operations`, are the least.
 */
int64_t step_rows_needed(const struct step_sizes *sizes, int64_t most_operations);

/* -------------------- step_index.c -------------------- */

/*
 * Steps with next to nothing in them, as tags that never recur make them: tables of ranks by steps
 * would outgrow the trace, so the run then counts as one without steps.
 */
void job_doubt_steps(struct job *job);
/* Whether those of a run with so many operations are. */
int job_steps_are_doubtful(const struct job *job, int64_t operations);
int job_index_steps(struct job *job, struct error *error);

/* Counts the operations that are absent between others of their sequence. */
int job_count_gaps(struct job *job, struct error *error);

/* Fills in job->in_stages. -1 when memory is out. */
int job_find_stages(struct job *job);

/* -------------------- arrival.c -------------------- */

/*
 * The transfer of an instance: the shortest that a member took, its waiting for the last to arrive aside.
 * TIME_UNKNOWN where that is not known of all of several.
 */
int64_t arrival_transfer_ns(const struct job *job, const struct job_instance *instance);

/* Marks the instances that are synced. */
void job_find_synced(struct job *job);

/* -------------------- issue_order.c -------------------- */

/* Puts operations, as they were read, by rank in order of issue: fills job.read_order. -1 when memory is out.
 */
int job_lay_out(struct job *job);

/*
 * Operations are laid out: which communicators were made anew of which (model/succession.h), by the order in
 * which their first rank issued what it called on them; and which are of the ranks that were left of a job.
 * -1 when memory is out.
 */
int job_find_successions(struct job *job);

#endif
