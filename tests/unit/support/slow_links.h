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

/* A network of four ranks of which some links are slow, and whose that is said to be. */
enum { RANKS = 4 };

/* What an edge waited in an instance beyond the usual; and of that, busy for so long that it stands out. */
struct sent {
    int32_t instance; /* ascending */
    int32_t sender;
    int32_t receiver;
    int64_t extra_ns;
    int64_t over_ns;
    int64_t wait_ns; /* 0: no more than that */
};

/* Six steps of 10000, the first the warm-up; in each instance all four ranks lasted for 5000. */
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

/* An instance for each of `step_of`, up to -1. */
void network_init(struct network *network, const int32_t *step_of);

/* Who is suspected: that of network->suspects, and of each of network->transfers its culprit. */
void suspect_by(struct network *network, const struct sent *sent, size_t count);

void network_release(struct network *network);

#endif
