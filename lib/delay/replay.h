#ifndef NCCLPROF_DELAY_REPLAY_H
#define NCCLPROF_DELAY_REPLAY_H

#include "baseline/baseline.h"
#include "job/job.h"
#include "network/transfer_excess.h"

/* One operation in the order in which they can be played. */
struct replay_move {
    int32_t after;         /* the move it comes after, an earlier one; -1: its rank's begin */
    int32_t own_or_leaver; /* replay_own, replay_leaver */
    unsigned operation : 31;
    unsigned is_first : 1; /* of the members of its instance */
    unsigned instance : 31;
    unsigned is_last : 1;
};

/* An operation that does not wait for the others of its instance. */
struct replay_leaver {
    int64_t stay_ns; /* how long it took */
    int64_t left_ns; /* when it was over in the last run */
    int32_t operation;
};

/*
 * The job played again from its own measurements: every operation starts some time after the one of its rank
 * that had ended last when it started, on whatever stream (streams wait for each other), every instance ends
 * for all its members its transfer time after the last of them started. Playing it with less own time here,
 * or a shorter transfer there, estimates what the job would gain, waiting passed on across communicators
 * included. No clocks are compared but for ends that kernels note too soon (early_stops.h).
 *
 * Where an operation's end is unknown, the time from its start to the next start on its stream stands in for
 * its duration.
 */
struct replay {
    const struct job *job;                   /* borrowed */
    const struct excess_list *excess;        /* borrowed */
    const struct transfer_excess *transfers; /* borrowed; per instance */
    int64_t *own_ns;                         /* per operation that is the first of its group */
    int64_t
        *transfer_ns;   /* per instance, as recorded; of pairs in groups no more than usual (bound_groups) */
    int64_t *change_ns; /* per instance: by how much longer it is to be */
    int64_t *tail_ns;   /* per instance: what a slow link took beyond that, for the members that show it */
    int32_t *after;     /* scratch, per operation: the one it comes after; -1: its rank's begin. Once it is
                           placed, its move: -2 less that (replay_order.c) */
    int64_t *ends;      /* scratch, per operation */
    unsigned char *receives; /* scratch, per operation: whether a group that begins with it receives */
    int64_t *latest_ns;      /* per instance: when its last member started in the last run */
    struct replay_move *moves;
    size_t move_count;             /* all operations */
    struct replay_leaver *leavers; /* by operation */
    size_t leaver_count;
};

/* The number of a move's operation among those that do not wait for the others; -1: it does. */
static inline int32_t replay_leaver(const struct replay_move *move)
{
    return move->own_or_leaver < 0 ? -1 - move->own_or_leaver : -1;
}

/* Whose own time comes before a move: the first of its operation's group. */
static inline int32_t replay_own(const struct replay *replay, const struct replay_move *move)
{
    return move->own_or_leaver < 0 ? replay->job->operations[move->operation].group : move->own_or_leaver;
}

int replay_init(struct replay *replay, const struct job *job, const struct excess_list *excess,
                const struct transfer_excess *transfers, struct error *error);
void replay_release(struct replay *replay);

/*
 * Another one for a thread of its own, with own times and transfers as they stand in `replay`. What stays the
 * same in all runs is borrowed from that one, which outlives it. -1 when memory is out: it is to be released,
 * too.
 */
int replay_copy(struct replay *copy, const struct replay *replay);
void replay_copy_release(struct replay *copy);

/*
 * Lengthens (or shortens) what an instance took: first, by no more than a link held only some members for,
 * for those, and by the rest for all.
 */
void replay_change_transfer(struct replay *replay, size_t instance, int64_t by_ns);

/*
 * Plays the job with own times and transfers as they stand. Returns when the last operation ends, in ns since
 * the begin. Operations that never complete (a member is missing) end their stream there.
 */
int64_t replay_run(struct replay *replay);

/*
 * After a run: a chain of operations whose own times, with what is between them, are all of what it took, the
 * last one first, into `path`, which has room for all operations. Less own time anywhere gains no more than
 * what it takes from these. Returns how many; 0 where the chain is broken, as a circle of operations that
 * wait for each other was cut.
 */
size_t replay_critical_path(const struct replay *replay, int32_t *path);

#endif
