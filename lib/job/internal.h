#ifndef NCCLPROF_JOB_INTERNAL_H
#define NCCLPROF_JOB_INTERNAL_H

#include "job/job.h"

#include <stddef.h>
#include <stdint.h>

/* -------------------- job.c -------------------- */

/* Limits given by the bit fields of operations and instances. */
enum {
    JOB_MOST_RANKS = 1 << 23,
    JOB_MOST_ROOTS = 1 << 23,
    JOB_MOST_STEPS = 1 << 27,
    JOB_MOST_TAGS = 1 << 26
};

enum { JOB_DELAY_BLOCK = 64 };

/* All ranks of the run, in the form that the membership functions of the store take. */
struct run_ranks job_run_ranks(const struct job *job);

/* The recorded duration of an operation whose start is unknown, while the job is loaded. TIME_UNKNOWN. */
static inline int64_t job_draft_duration(const struct job *job, size_t operation)
{
    return job->drafts.durations_ns ? job->drafts.durations_ns[operation] : TIME_UNKNOWN;
}

void job_drafts_release(struct job_drafts *drafts);

/*
 * Corrects the transfer times of pairs. Transfers become longer by what their network steps show, or by what
 * the clocks show if there are none. Receives that share a stop with others become shorter by what these
 * waited. Timelines and clocks must be complete. Returns -1 when out of memory.
 */
int job_measure_pairs(struct job *job);

/* -------------------- pair_latency.c -------------------- */

/*
 * Lengthens the transfers of pairs between clocks that are not aligned well enough, by how much later their
 * data arrived than that of the fastest pair between the same clocks, and at most to the duration of their
 * receive. Not where a clock jumped, or where data flows in one direction only. Returns -1 when out of
 * memory.
 */
int job_measure_latencies(struct job *job);

/*
 * Whether two operations, consecutive in the order of issue, belong to one group call, whose point-to-point
 * operations share a kernel. They do if they have the same call time, or if the second was called before the
 * first was launched. NCCL launches one kernel per communicator, so only operations of one communicator may
 * have different call times: launches of another may overlap, as recorders note their ends late.
 */
int job_same_group(const struct job *job, size_t before, size_t after);

/* The operation of a member's group that occupied the stream longest, as far as is known. */
int32_t job_last_of_group(const struct job *job, int32_t member);

/* -------------------- screening.c -------------------- */

/*
 * The result of scanning a run without holding its operations: how many there are in each step, where the
 * records of each rank end, and which steps stand out. Measured per communicator and step is the device time
 * of its operations, summed over its members: it grows for all that wait for a late rank, and for slow
 * transfers. The step time of some ranks is measured as well, since all ranks may be late together.
 */
struct screening {
    int32_t step_count;
    int64_t *operations; /* owned: [step] */
    int64_t in_no_step;
    int64_t total;
    int32_t *last_step; /* owned: [rank], last step with an operation; -1: none */
    size_t rank_count;
    double *stands_out; /* owned: [step], distance from the median in units of the usual spread; 0 if there
                           are no durations */
    int is_told;        /* there are durations */
};

/* Scans a run whose names are loaded. Release it even after an error. */
int screening_init(struct screening *screening, const struct job *job, struct error *error);
void screening_release(struct screening *screening);

/* -------------------- step_selection.c -------------------- */

/*
 * Chooses steps. The first round has about `most_operations` operations, but at least a few steps: the first
 * recorded steps (from `first_step` on), the last ones, those in which the records of single ranks end, those
 * where steps change or stand out, and otherwise evenly spaced rows of steps. If there is room for few steps
 * only, it has a single row instead, or none if the steps that stand out get rounds of their own.
 * `most_rounds` is at most MOST_ROUNDS. The result depends only on the arguments. Returns -1 when out of
 * memory; release `chosen` even then.
 */
int steps_choose(const struct screening *screening, int32_t first_step, int64_t most_operations,
                 int32_t most_rounds, struct chosen_steps *chosen);

/* -------------------- clock_alignment.c -------------------- */

/* Finds the offsets between the clocks of the ranks. */
int job_align_clocks(struct job *job, struct error *error);

/*
 * Sets tail_step of the ranks. If the record of a rank on a communicator ends before what others completed
 * there, its file is truncated, and its missing operations would look like its own time. Recorders of
 * completed operations, which may lose some anywhere, and recorders that were active only for a part of the
 * run are ignored.
 */
void job_find_tails(struct job *job, const struct extents *extents);

/*
 * The sequence numbers that a rank recorded on a communicator for one collective function; per excerpt if the
 * run is loaded in excerpts.
 */
struct series {
    int64_t least;
    int64_t greatest;
    int64_t count; /* number of operations */
    int32_t rank;
    int32_t communicator;
    uint8_t function;
    size_t excerpt;
};

typedef int (*series_taker)(void *context, const struct series *series);

/*
 * Calls `take` once for each series of a job, the series of a rank in the order of excerpts. Stops at the
 * first call that returns -1, and when out of memory.
 */
int job_each_series(const struct job *job, series_taker take, void *context);

/* -------------------- timeline.c -------------------- */

/* Converts all times to device timelines, aligns the clocks, and measures own times and transfers. */
int job_build_timelines(struct job *job, struct error *error);

/*
 * Estimates the ends of kernels that record their start but not their stop (NVIDIA/nccl#1973), and that have
 * no proxy operations to show it. An operation is over at the latest when the next one on its stream begins,
 * and so are those operations of other ranks that end together with it. So the end of all members of a full
 * exchange is the earliest such beginning in common time. A pair is over by then, too, but no later than the
 * usual time of such pairs after both sides began; the end of a group is the latest of its pairs. Own time
 * counts only from the former, when others could go on: it is then too short on ranks that do not arrive
 * last, and differences between ranks remain (ENDS_ESTIMATED). This is done only if most kernels of a job
 * have no stop. Otherwise the kernels with a stop show who waited, and estimates would blur that. Streams and
 * clocks must be known. Returns -1 when out of memory.
 */
int job_estimate_ends(struct job *job, int *estimated);

/* -------------------- load_traffic.c -------------------- */

/*
 * Host clock minus GPU clock when the host noticed that the first channel of an operation's kernel had
 * started, and that the last one had stopped; TIME_UNKNOWN.
 */
struct job_notice {
    int64_t start_ns;
    int64_t stop_ns;
};

/* Time in which a rank sent over the network for one proxy operation, on the clock of its host. */
struct job_sent {
    struct interval_ns interval; /* from the begin of the first SendWait to the end of the last one */
    int32_t rank;
};

/*
 * Adds the notices of all operations to job->services, and frees the drafts that they come from. Call it when
 * operations are on the device timeline and their ends are still those of their kernels. Returns -1 when out
 * of memory.
 */
int job_sum_notices(struct job *job);

/* -------------------- device_time.c -------------------- */

/* Converts all times of a rank to its device timeline. Returns -1 when out of memory. */
int job_map_rank(struct job *job, struct job_rank *rank);

/*
 * Estimates when operations ran, for recorders that record only when each was called and how long it took on
 * the GPU (Flight Recorder with timing). In a full exchange, and between a send and its receive, no rank ends
 * before all have arrived, and then all end at nearly the same time. So all members get one end, and each
 * begins earlier by its duration. That end is not before the call of any member plus its duration, nor before
 * the end of the communicator's previous operation plus the longest duration, since these share a stream. The
 * earliest such end is used. If it is too early, it is so equally for all members, and differences between
 * ranks remain, except for up to one transfer (the shortest duration), by which members may leave at
 * different times. Calls are compared on the clocks of the hosts. Operations without a duration get no times.
 * No operation gets times if ranks use several communicators within a step, or if hosts run steps ahead of
 * their GPUs. Operations and the members of their instances must be laid out (job->calls). Returns -1 when
 * out of memory.
 */
int job_time_calls(struct job *job);

/* -------------------- stamped_times.c -------------------- */

/*
 * Sets rank->dump_interval_ns from the times of dumps (drafts.stamps_ns); 0 if there are none, or if they are
 * too far apart for the steps. Returns -1 when out of memory.
 */
int job_measure_dumps(const struct job *job, struct job_rank *rank);

/*
 * When an operation ended at the latest, which has no kernel times, but a duration and the time of its dump;
 * TIME_UNKNOWN for others. It ended at most rank->dump_interval_ns before.
 */
int64_t job_stamped_end(const struct job *job, size_t at);

/*
 * Sets the times of a rank's operations that have a duration and the time of their dump (drafts.stamps_ns),
 * but no kernel times. The dump is at most one interval between dumps after their end. So from the last to
 * the first, each ended at the latest when it was dumped and when the next one of its stream began. An end
 * that is late by part of an interval makes the gap before the operation longer and the next one shorter, so
 * that in their sum over a step such errors cancel. Nothing is set if rank->dump_interval_ns is 0. Returns -1
 * when out of memory.
 */
int job_place_by_stamps(struct job *job, const struct job_rank *rank);

/*
 * Moves the group that begins at `head` and was set in this way to the end of the operation before it on its
 * stream, and to its enqueueing, if it began earlier.
 */
void job_delay_stamped(struct job *job, const struct job_rank *rank, size_t head);

/*
 * Adds how late the recorder's threads dumped such operations to job->services, as notices (job_sum_notices):
 * these threads lack a core when the others of their process do. Call it when the operations have times.
 * Returns -1 when out of memory.
 */
int job_note_dump_lags(struct job *job);

/* -------------------- early_stops.c -------------------- */

/*
 * Moves the ends of operations whose kernels recorded their stop too early. *mended is set to whether any end
 * changed.
 */
int job_correct_ends(struct job *job, int *mended, struct error *error);

/*
 * Moves the end of an operation to `end`, but not beyond the start of the next operation of its stream
 * (`next_ns`). Returns whether it changed.
 */
int job_end_later(struct job *job, int32_t at, int64_t end, int64_t next_ns);

/* -------------------- shared_kernels.c -------------------- */

/*
 * Corrects the ends of receives in group calls. Sends and receives of one group call share a kernel, which
 * records its stop when some of its threads are done. What a receive waits for after that looks like own time
 * of the next operation. The clocks of two ranks often do not show when a sender arrived (early_stops.c), but
 * the time since their last common operation does: two ranks that sent to each other in one call, or that
 * were in one collective, continued at the same time. The one that took longer until the next such call
 * arrived there later, by the difference. A receive ends at the earliest when its sender arrived. Calls are
 * processed in order, so that each begins at the corrected end of the previous one. *mended is set if any end
 * became later.
 */
int job_correct_shared_kernels(struct job *job, int *mended, struct error *error);

/*
 * Removes the times of kernels that belong to other operations: these kernels began before their own
 * operation was called, on clocks that job_map_rank aligned. In this case the host and the GPU number
 * operations differently, on all ranks of a communicator and from some operation on, so the kernel times of
 * this communicator are removed. The drafts must still contain noticed_ns. Returns -1 when out of memory.
 */
int job_remove_misattributed_kernels(struct job *job);

/* -------------------- step_selection.c -------------------- */

/*
 * The excerpt of a step of the job; a break belongs to the excerpt before it. 0 if the run is loaded
 * completely.
 */
size_t job_excerpt_of(const struct job *job, int32_t step);

/* -------------------- screening.c -------------------- */

/* Sizes in operations. */
struct step_sizes {
    int64_t in_steps;
    int64_t with_each; /* operations that are loaded with every row */
    int32_t step_count;
};

/*
 * The number of rows that need about `most_operations` each. If what is loaded with every row leaves too
 * little room, rows are larger than that: at least one step, and at least a fourth of `most_operations`.
 */
int64_t step_rows_needed(const struct step_sizes *sizes, int64_t most_operations);

/* -------------------- step_index.c -------------------- */

/*
 * Ignores steps that are nearly empty, as created by tags that never repeat: tables of ranks by steps would
 * be larger than the trace. The run then counts as one without steps.
 */
void job_ignore_sparse_steps(struct job *job);
/* Whether that applies to a run with this many operations. */
int job_steps_are_sparse(const struct job *job, int64_t operations);
int job_index_steps(struct job *job, struct error *error);

/* Counts the operations that are missing between others of their sequence. */
int job_count_gaps(struct job *job, struct error *error);

/* Sets job->in_stages. Returns -1 when out of memory. */
int job_find_stages(struct job *job);

/* -------------------- arrival.c -------------------- */

/*
 * The transfer time of an instance: the shortest time of a member, without its wait for the last arrival.
 * TIME_UNKNOWN unless the durations of all members (at least two, if there should be) are known; with
 * is_synced, of any member.
 */
int64_t arrival_transfer_ns(const struct job *job, const struct job_instance *instance);

/* Marks the instances that are synced. */
void job_find_synced(struct job *job);

/* -------------------- program_order.c -------------------- */

/* Records that one dump writes have stamps some microseconds apart. No dump follows another this soon. */
enum { JOB_ONE_DUMP_NS = 50000 };

/*
 * Of ranks of whose operations only the times of their dumps are known, puts `order`, the numbers of their
 * operations in the order of these times, rank by rank, into one order of calls if that differs from step to
 * step. Other ranks are left as they are. Returns -1 when out of memory.
 */
int job_order_programs(const struct job *job, int32_t *order);

/* -------------------- issue_order.c -------------------- */

/*
 * Sorts operations from the order of reading by rank and order of issue, and fills job.read_order. Returns -1
 * when out of memory.
 */
int job_sort_operations(struct job *job);

/*
 * Finds which communicators replaced which earlier ones, from the order in which their first rank used them,
 * and which communicators consist of the ranks that were left of a job. Operations must be laid out. Returns
 * -1 when out of memory.
 */
int job_find_successions(struct job *job);

#endif
