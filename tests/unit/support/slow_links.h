#ifndef NCCLPROF_TESTS_SUPPORT_SLOW_LINKS_H
#define NCCLPROF_TESTS_SUPPORT_SLOW_LINKS_H

#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/job.h"
#include "store/store.h"

#include <stddef.h>
#include <stdint.h>

/* A network of four ranks with some slow links, and the ranks to which they are attributed. */
enum { RANKS = 4 };

/* The wait of a link in an instance above its baseline, and the part of it that stands out. */
struct sent {
    int32_t instance; /* ascending */
    int32_t sender;
    int32_t receiver;
    int64_t extra_ns;
    int64_t over_ns;
    int64_t wait_ns; /* 0: no such part */
};

/*
 * Six steps of 10000, the first is the warm-up; in each instance the operation takes 5000 on all four ranks.
 */
enum { STEPS = 6, INSTANCES = 10, EDGES = 24 };

struct network {
    struct job job;
    struct job_operation operations[INSTANCES * RANKS];
    int32_t positions[INSTANCES * RANKS];
    struct hidden_lateness hidden[INSTANCES * RANKS];
    struct job_instance instances[INSTANCES];
    struct transfer_excess transfers[INSTANCES];
    int32_t members[INSTANCES * RANKS];
    struct edge items[EDGES];
    size_t first[INSTANCES + 1];
    struct suspects suspects;
};

/* One instance for each item of `step_of`, up to -1. */
void network_init(struct network *network, const int32_t *step_of);

/* The suspects: those of network->suspects, and the culprit of each of network->transfers. */
void suspect_by(struct network *network, const struct sent *sent, size_t count);

void network_release(struct network *network);

#endif
