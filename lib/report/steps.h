#ifndef NCCLPROF_REPORT_STEPS_H
#define NCCLPROF_REPORT_STEPS_H

#include <stddef.h>
#include <stdint.h>

struct baseline;
struct error;
struct filter;
struct findings;
struct job;
struct table;

/* -------------------- steps_by_rank.c -------------------- */

/* Which steps and findings the rows of `steps --by rank` are about. */
struct rank_choice {
    const struct filter *filter; /* its steps; NULL: all */
    int shows_low;               /* with findings of low confidence */
};

/* Adds the columns. Returns -1 on error. */
int steps_by_rank_begin(struct table *table, struct error *error);

/* Adds a row for each rank of the job, after findings_find. Returns -1 on error. */
int steps_by_rank_add(const struct rank_choice *choice, const struct job *job,
                      const struct baseline *baseline, const struct findings *findings, struct table *table,
                      struct error *error);

/* -------------------- rank_steps.c -------------------- */

/* A training step of one rank, in nanoseconds; TIME_UNKNOWN if the trace does not have it. */
struct rank_step {
    int64_t duration_ns; /* from its first operation to the same operation of its next step */
    int64_t waiting_ns;  /* wait for the last rank to arrive (rank_steps.c) */
    int64_t own_ns; /* own delay: gap time above the baseline that made other ranks wait (struct excess) */
};

/*
 * The steps of every rank, [rank * step_count + step]. The caller frees them; NULL when memory is out. own_ns
 * is known only after findings_find.
 */
struct rank_step *rank_steps_new(const struct job *job, const struct baseline *baseline);

/* -------------------- step_summary.c -------------------- */

/*
 * A training step of the job: when it began, how long it took, its share of communication, which rank was
 * waited for, and which phase made it longer. Times are in nanoseconds; TIME_UNKNOWN if the trace does not
 * have them.
 */
struct step_summary {
    int64_t begin_ns;    /* start of its first operation, in the common time of the run (job_common_time) */
    int64_t duration_ns; /* from a rank's first operation to that of its next step, median over ranks */
    int64_t usual_ns;    /* baseline step time (baseline_quantile) */
    /* Parts of the duration, in proportion to all ranks' time in the step (rank_steps.c): */
    int64_t communication_ns; /* at least one operation ran on the rank's GPU */
    int64_t waiting_ns;       /* part of communication_ns that the rank waited for the last rank to arrive */
    int32_t last_rank;        /* job rank that the others waited for longest; -1: none */
    int64_t last_waited_ns;   /* their wait for it, summed */
    int32_t tag;              /* phase with the largest time above its baseline; -1: none */
    int64_t phase_excess_ns;  /* that excess: of last_rank, or mean over ranks */
};

/*
 * Sets *usual_ns to the baseline step time (baseline_quantile); TIME_UNKNOWN. Returns -1 when memory is out.
 */
int step_usual_ns(const struct baseline *baseline, int64_t *usual_ns);

/*
 * One summary per step of the job, by number, without phases. The caller frees them; NULL when memory is out.
 */
struct step_summary *step_summaries_new(const struct job *job, const struct baseline *baseline);

/*
 * Fills in the phase of each summary: that of last_rank, because the others only wait in theirs, if it grew
 * by at least `least`, as a share of the baseline step; else that of all ranks. Returns -1 on error.
 */
int step_summaries_find_phases(struct step_summary *summaries, const struct job *job, double least,
                               struct error *error);

/*
 * Time of a phase in a step. A phase is a tag. Each operation adds the time from the end of the previous
 * operation, on any stream, to its own end, but a time in which the GPU waited for the host counts in the
 * phase in which the host was. A phase without operations in the step lasts from its mark to the next one, on
 * the host, and is exposed while the GPU waited for the host.
 */
struct phase_time {
    int32_t step;
    int32_t tag;  /* -1: operations without one */
    int32_t rank; /* job rank; -1: all of them */
    int32_t ranks;
    int64_t time_ns;    /* mean over ranks */
    int64_t usual_ns;   /* its baseline over steps (baseline_quantile) */
    int64_t exposed_ns; /* the part that makes up the step: without that beside work of the GPU */
    int64_t usual_exposed_ns;
};

struct phase_times {
    struct phase_time *items; /* owned; sorted by tag, rank and step */
    size_t count;
    size_t capacity;
};

/* Entries for all ranks as a mean, or for each rank, instead of for one job rank. */
enum { PHASES_OF_JOB = -1, PHASES_OF_RANKS = -2 };

/* `whose`: a job rank, or one of these. Returns -1 on error. Release `times` in any case. */
int phase_times_init(struct phase_times *times, const struct job *job, int32_t whose, struct error *error);
void phase_times_release(struct phase_times *times);

/* -------------------- rank_steps.c -------------------- */

/*
 * Where the time of a rank's step went. A step of a rank lasts from its first operation to the first
 * operation of its next step. Time with several operations counts once. An operation that runs into the next
 * step counts in each step for the time it ran there. Therefore communication is at most the step time, and
 * wait time is at most communication.
 */
struct rank_time {
    int64_t lasted_ns;        /* TIME_UNKNOWN for the last step, and if the trace does not have it */
    int64_t communication_ns; /* time with at least one operation on its GPU; TIME_UNKNOWN if none has
                                 timestamps */
    int64_t waiting_ns;       /* part of it in which at least one operation waited for the last rank to arrive
                                 (job/arrival.c); an operation waits from its start */
};

/* What is needed to measure all ranks of a job. Several threads read it. */
struct rank_times {
    const struct job *job;
    const struct baseline *baseline;
    int64_t *least_stay_ns; /* owned: per instance, the duration of the operation that arrived last;
                               TIME_UNKNOWN */
    size_t most_operations; /* largest number of operations of a rank */
};

/* Borrows both. Returns -1 when memory is out. */
int rank_times_init(struct rank_times *times, const struct job *job, const struct baseline *baseline);
void rank_times_release(struct rank_times *times);

/* The working memory of one thread. */
struct rank_times_bench {
    struct interval_ns *ran; /* owned, like `waited`: one per operation of a rank */
    struct interval_ns *waited;
};

int rank_times_bench_init(struct rank_times_bench *bench, const struct rank_times *times);
void rank_times_bench_release(struct rank_times_bench *bench);

/*
 * Measures the steps of one rank. `steps` has room for all steps of the job. A step of unknown duration gets
 * the figures of its own operations.
 */
void rank_times_measure(const struct rank_times *times, struct rank_times_bench *bench, int32_t rank,
                        struct rank_time *steps);

/*
 * A time of one or several ranks in each step, beside the same time of their peers: the evidence of a
 * finding, to be drawn. All times are in nanoseconds; TIME_UNKNOWN if the trace does not have them.
 */
struct step_history {
    int32_t first_step;
    int32_t steps;
    int64_t *mine_ns;  /* owned, like all members below; [step - first_step]: the median if there are several
                          ranks */
    int64_t *peers_ns; /* median of the peers */
    int64_t *low_ns;   /* 10th percentile of the peers */
    int64_t *high_ns;  /* 90th percentile of the peers */
};

/* Starts with every value unknown. Returns -1 when memory is out. Release the history in any case. */
int step_history_init(struct step_history *history, int32_t first_step, int32_t end_step);
void step_history_release(struct step_history *history);

/* Sets a step from lists of values, which it reorders. An empty list leaves its value unknown. */
void step_history_set(struct step_history *history, int32_t step, int64_t *mine, size_t mine_count,
                      int64_t *peers, size_t peer_count);

/* Number of steps in which the time is known. */
int32_t step_history_known(const struct step_history *history);

/* Which time of the operation at a position of the step is measured. */
enum place_time {
    PLACE_GAP,     /* gap time before it */
    PLACE_TRANSFER /* its transfer time; the peers are instances without any of the ranks */
};

/*
 * The history of some ranks of one role, beside the other ranks of the role, at a position of the role,
 * without warm-up. Returns -1 when memory is out. Release the history in any case.
 */
int place_history_init(struct step_history *history, const struct job *job, const struct baseline *baseline,
                       const int32_t *ranks, size_t rank_count, int32_t position, enum place_time what);

/* The waits for the network (SendWait) on a link in one step. */
struct link_step {
    int32_t sender; /* job ranks */
    int32_t receiver;
    int32_t step;
    int64_t steps; /* network steps */
    int64_t wait_ns;
};

struct link_steps {
    struct link_step *items; /* owned; sorted by their first three members */
    size_t count;
};

/* Reads the waits that senders recorded. Returns -1 when memory is out. Release them in any case. */
int link_steps_init(struct link_steps *steps, const struct job *job);
void link_steps_release(struct link_steps *steps);

/* Whether both are of one link. */
int link_steps_are_alike(const struct link_step *a, const struct link_step *b);

/* The ranks whose network steps a history is about. */
struct wait_ends {
    const int32_t *ranks;
    size_t count;
    const int32_t *others; /* their links to these ranks only */
    size_t other_count;    /* 0: all links */
    int by_receiver;       /* network steps that are sent to the ranks, not those that they send */
};

/*
 * The mean wait for the network (SendWait) of the network steps of some ranks beside that of each other rank.
 * Returns -1 when memory is out. Release the history in any case.
 */
int wait_history_init(struct step_history *history, const struct job *job, const struct wait_ends *ends);

#endif
