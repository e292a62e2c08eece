#ifndef NCCLPROF_MODEL_SUCCESSION_H
#define NCCLPROF_MODEL_SUCCESSION_H

#include <stddef.h>
#include <stdint.h>

/*
 * Communicators made anew in mid-run (an in-process restart, a split done again) have other hashes and number
 * their operations from 0, but do the same work. One succeeds another when the same ranks are in it in the
 * same order and it was first used after the other was last used. Where several of the same ranks live side
 * by side, those made anew come in the order in which the earlier ones began.
 */
struct communicator_life {
    uint64_t members;   /* a digest of who is in it, in order */
    int64_t first_used; /* on one clock, or in one order, for all that have the same members */
    int64_t last_used;
};

/* Of each, the first one of its succession: itself where it succeeds none. -1 when memory is out. */
int succession_find(const struct communicator_life *lives, size_t count, int32_t *first_of);

#endif
