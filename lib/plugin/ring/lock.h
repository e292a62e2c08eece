/*
 * A lock that tells at every instruction whose it is. exit() may be called by a signal's handler in the
 * middle of anything, and what runs then must know what its own thread holds; a mutex of the C library's is
 * for some instructions held by nobody that it knows of.
 */
#ifndef PLUGIN_RING_LOCK_H
#define PLUGIN_RING_LOCK_H

#include <stdatomic.h>
#include <stdint.h>

/* Whoever holds one copies a few bytes or asks the kernel for memory: longer waits mean that it is gone, as
 * in a child of clone() that no fork handler knows of. But fork() holds some for as long as the kernel copies
 * the page tables, which takes 0.05 seconds for each GB that the process uses. */
#ifndef LOCK_WAIT_NS
#define LOCK_WAIT_NS 500000000u
#endif

struct lock {
    _Atomic uint32_t holder; /* as the kernel numbers threads; 0: nobody */
};

/* LOCK_MINE: the thread held it before, and still has to release it only once. */
enum lock_result { LOCK_TAKEN, LOCK_MINE, LOCK_TIMEOUT };

/* Waits at most LOCK_WAIT_NS: nothing in the plugin waits without a limit. */
enum lock_result lock_take(struct lock *lock);
/* The same with a time of CLOCK_MONOTONIC; one that is over: takes it only if nobody holds it. */
enum lock_result lock_take_until(struct lock *lock, uint64_t until_ns);
void lock_release(struct lock *lock);

#endif
