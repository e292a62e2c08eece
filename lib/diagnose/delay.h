#ifndef NCCLPROF_DIAGNOSE_DELAY_H
#define NCCLPROF_DIAGNOSE_DELAY_H

#include <stddef.h>
#include <stdint.h>

struct delay_steps;
struct replay;

/* -------------------- replay.c -------------------- */

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

/* -------------------- replay_order.c -------------------- */

/* replay_init's parts, once `ends` and `after` are filled in. -1 when memory is out. */
int replay_list_leavers(struct replay *replay);
int replay_find_moves(struct replay *replay);

/* -------------------- propagation.c -------------------- */

#define DELAY_ALL_STEPS ((struct delay_steps){INT32_MIN, INT32_MAX})

#endif
