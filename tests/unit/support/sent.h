#ifndef NCCLPROF_TESTS_SUPPORT_SENT_H
#define NCCLPROF_TESTS_SUPPORT_SENT_H

#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/job.h"
#include "store/store.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Up to sixteen ranks that send in each step, each to the rank four positions further: blocks of four, which
 * do not use the network among themselves, are hosts; with four ranks or fewer, blocks of two. A network step
 * waits for 1000, with noise of a tenth; ten times as long where it is slow.
 */
enum { SENT_RANKS = 16, SENT_HOST = 4, SENT_STEPS = 16, SENT_FIRST = 6, SENT_LAST = 10 };

struct sent {
    struct job job;
    struct job_rank ranks[SENT_RANKS];
    struct job_instance instances[SENT_RANKS * SENT_STEPS];
    struct job_operation operations[SENT_RANKS * SENT_STEPS];
    int32_t members[SENT_RANKS * SENT_STEPS];
    struct edge items[SENT_RANKS * SENT_STEPS];
    int32_t by_step[SENT_RANKS * SENT_STEPS];
    size_t step_end[SENT_STEPS];
    size_t first_edge[SENT_RANKS * SENT_STEPS + 1];
    struct job_communicator communicator;
    struct edges edges;
};

/* `count` ranks from `slow` on are slow in these steps. Nothing must be released; do not move the struct. */
void sent_init(struct sent *sent, size_t ranks, int slow, int count, int32_t first, int32_t last);

#endif
