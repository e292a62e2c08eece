#ifndef NCCLPROF_REPORT_STEPS_H
#define NCCLPROF_REPORT_STEPS_H

#include <stddef.h>
#include <stdint.h>

struct baseline;
struct job;

/* -------------------- rank_steps.c -------------------- */

/* What a training step was for one rank, in nanoseconds; TIME_UNKNOWN where the trace does not tell. */
struct rank_step {
    int64_t duration_ns; /* from its first operation to the same one of its next step */
    int64_t waiting_ns;  /* in which it waited for the last to arrive (rank_steps.c) */
    int64_t own_ns;      /* how much it was late by itself: own time that stands out (struct excess) */
};

/*
 * [rank * step_count + step], owned by the caller (free); NULL when memory is out. What is the ranks' own is
 * known once they have been suspected (findings_find).
 */
struct rank_step *rank_steps_new(const struct job *job, const struct baseline *baseline);

/* -------------------- step_summary.c -------------------- */

/*
 * What a training step was: when, how long, how much of it was communication, who waited for whom, and which
 * phase made it longer. Times are nanoseconds; TIME_UNKNOWN where the trace does not tell.
 */
struct step_summary {
    int64_t begin_ns;    /* its first operation's start, in the run's common time (job_common_time) */
    int64_t duration_ns; /* from a rank's first operation to its next step's, median over ranks */
    int64_t usual_ns;    /* what steps take that nothing made longer (baseline_quantile) */
    /* Of the duration, the part of all ranks' time in the step (rank_steps.c) in which ... */
    int64_t communication_ns; /* at least one operation ran on the rank's GPU */
    int64_t waiting_ns;       /* of that, the rank waited for the last to arrive */
    int32_t last_rank;        /* job rank that the others waited for most; -1 */
    int64_t last_waited_ns;   /* what they all waited for it together */
    int32_t tag;              /* phase that took more than usual, by most; -1 */
    int64_t grew_ns;          /* by so much, mean over ranks */
};

/* What steps take that nothing made longer (baseline_quantile); TIME_UNKNOWN. -1 when memory is out. */
int step_usual_ns(const struct baseline *baseline, int64_t *usual_ns);

/*
 * One for each step of the job, by number, owned by the caller (free); NULL when memory is out. A phase is a
 * tag; what it took is shared out without a rest: from the end of the operation before, on whatever stream,
 * to the end of each of its own.
 */
struct step_summary *step_summaries_new(const struct job *job, const struct baseline *baseline);

/* What a phase took in a step. */
struct phase_time {
    int32_t step;
    int32_t tag;      /* -1: operations without one */
    int64_t time_ns;  /* mean over the ranks that were in it */
    int64_t usual_ns; /* the same, over steps (baseline_quantile) */
    int32_t ranks;
};

struct phase_times {
    struct phase_time *items; /* owned; by tag, then by step */
    size_t count;
    size_t capacity;
};

/* -1 when memory is out; to be released whatever it returns. */
int phase_times_init(struct phase_times *times, const struct job *job);
void phase_times_release(struct phase_times *times);

/* -------------------- rank_steps.c -------------------- */

/*
 * What the time of a rank's steps went into. A step of a rank is the time from its first operation to that of
 * its next step; operations of one moment, and those that run on into the next step, count once, in the step
 * in which they ran. So communication is never more than the step, nor waiting more than communication.
 */
struct rank_time {
    int64_t lasted_ns;        /* TIME_UNKNOWN of the last step, and where the trace does not tell */
    int64_t communication_ns; /* at least one operation ran on its GPU; TIME_UNKNOWN where none tells when */
    int64_t waiting_ns;       /* of that, in at least one it waited for the last to arrive (arrival.h), which
                                 it does from its start on */
};

/* A part of a rank's time. */
struct rank_span {
    int64_t begin_ns;
    int64_t end_ns;
};

/* What measuring all ranks of a job takes; read by several threads. */
struct rank_times {
    const struct job *job;
    const struct baseline *baseline;
    int64_t *least_stay_ns; /* owned: of each instance, that of the last to arrive; TIME_UNKNOWN */
    size_t most_operations; /* that a rank has */
};

/* -1 when memory is out. Borrows both. */
int rank_times_init(struct rank_times *times, const struct job *job, const struct baseline *baseline);
void rank_times_release(struct rank_times *times);

/* What one thread measures with. */
struct rank_times_bench {
    struct rank_span *ran; /* owned, as is the next: one for each operation of a rank */
    struct rank_span *waited;
};

int rank_times_bench_init(struct rank_times_bench *bench, const struct rank_times *times);
void rank_times_bench_release(struct rank_times_bench *bench);

/*
 * Of one rank; `steps` has room for the steps of the job. A step that lasted nobody knows how long has what
 * its own operations took.
 */
void rank_times_measure(const struct rank_times *times, struct rank_times_bench *bench, int32_t rank,
                        struct rank_time *steps);

/*
 * A time of somebody in each step, beside the same of others: what a finding rests on, to be drawn. All
 * times are nanoseconds; TIME_UNKNOWN where the trace does not tell.
 */
struct step_history {
    int32_t first_step;
    int32_t steps;
    int64_t *mine_ns;  /* owned, as all below; [step - first_step]: median, where it is of several */
    int64_t *peers_ns; /* median of the others */
    int64_t *low_ns;   /* a tenth of them are at or below it */
    int64_t *high_ns;  /* and above it */
};

/* Of nothing known yet. -1 when memory is out: release it all the same. */
int step_history_init(struct step_history *history, int32_t first_step, int32_t end_step);
void step_history_release(struct step_history *history);

/* Fills in a step from lists of values, which are reordered; empty ones leave it unknown. */
void step_history_set(struct step_history *history, int32_t step, int64_t *mine, size_t mine_count,
                      int64_t *peers, size_t peer_count);

/* In how many steps the time is known. */
int32_t step_history_known(const struct step_history *history);

/* What of the call at one place of a step is looked at. */
enum place_time {
    PLACE_GAP,     /* own time before it */
    PLACE_TRANSFER /* its transfer; peers are instances that none of the ranks is in */
};

/*
 * Of some ranks of one role, beside the others of it, at a position of the role; the warm-up is left out. -1
 * when memory is out: release it all the same.
 */
int place_history_init(struct step_history *history, const struct job *job, const struct baseline *baseline,
                       const int32_t *ranks, size_t rank_count, int32_t position, enum place_time what);

/*
 * What network steps waited for the network (SendWait) on average, of what some ranks send, or of what is
 * sent to them, beside that of each other rank. -1 when memory is out: release it all the same.
 */
int wait_history_init(struct step_history *history, const struct job *job, const int32_t *ranks,
                      size_t rank_count, int by_receiver);

#endif
