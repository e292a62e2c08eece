/* Waiting for a word of memory to change: by the kernel alone, with nothing in between that a signal can
 * leave half done.
 */
#ifndef PLUGIN_RING_FUTEX_H
#define PLUGIN_RING_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "plugin/ring/clock.h"

/* While the word is as seen, and for no reason at times; false past until_ns of CLOCK_MONOTONIC. */
static inline bool futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t until_ns)
{
    struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000u),
                             .tv_nsec = (long)(until_ns % 1000000000u)};
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, seen, &until, NULL, FUTEX_BITSET_MATCH_ANY);
    return clock_monotonic_ns() < until_ns;
}

static inline void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

#endif
