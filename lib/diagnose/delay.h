#ifndef NCCLPROF_DIAGNOSE_DELAY_H
#define NCCLPROF_DIAGNOSE_DELAY_H

#include <stddef.h>
#include <stdint.h>

struct delay_steps;
struct replay;

/* -------------------- replay.c -------------------- */

/* One operation, in an order in which all operations can be replayed. */
struct replay_move {
    int32_t after;         /* index of the earlier move that it follows; -1: it begins its rank */
    int32_t own_or_leaver; /* decoded by replay_own and replay_leaver (replay.c) */
    unsigned operation : 31;
    unsigned is_first : 1; /* among the members of its instance, as is is_last */
    unsigned instance : 31;
    unsigned is_last : 1;
};

/* An operation that does not wait for the other members of its instance. */
struct replay_leaver {
    int64_t stay_ns; /* its recorded duration */
    int64_t left_ns; /* its end in the last replay */
    int32_t operation;
};

/*
 * Lengthens or shortens an instance. First the time for which a link held only some members changes, by at
 * most some_ns and only for those members. The rest of the change applies to all members.
 */
void replay_change_transfer(struct replay *replay, size_t instance, int64_t by_ns);

/*
 * Returns by how much sooner the replay ends if each instance is shorter by what `cuts` has for it, where
 * that is above 0. The replay is unchanged after this.
 */
int64_t replay_gain_of_cuts(struct replay *replay, const int64_t *cuts);

/*
 * Replays the job with the current own times and transfers. Returns the end of the last operation, in
 * nanoseconds since the begin. Operations that never complete because a member is missing end their stream.
 */
int64_t replay_run(struct replay *replay);

/*
 * Call it after a replay. Writes to `path`, which has room for all operations, a chain of operations, last
 * one first, whose own times and the transfers between them add up to the duration of the replay. Removing
 * own time anywhere gains at most what is removed from these operations. Returns the length; 0 where the
 * chain is broken because a cycle of operations waiting for each other was cut.
 */
size_t replay_critical_path(const struct replay *replay, int32_t *path);

/* -------------------- replay_order.c -------------------- */

/* Called by replay_init after `ends` and `after` are filled in. Return -1 when memory runs out. */
int replay_list_leavers(struct replay *replay);
int replay_find_moves(struct replay *replay);

/* -------------------- propagation.c -------------------- */

#define DELAY_ALL_STEPS ((struct delay_steps){INT32_MIN, INT32_MAX})

#endif
