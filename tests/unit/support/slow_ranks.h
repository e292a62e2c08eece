#ifndef NCCLPROF_TESTS_SUPPORT_SLOW_RANKS_H
#define NCCLPROF_TESTS_SUPPORT_SLOW_RANKS_H

#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "diagnose/score.h"
#include "job/job.h"
#include "store/store.h"

#include <stdint.h>

/*
 * Eight ranks of one role with two AllReduces per step, of 1000 each. Before the first a rank computes for
 * 6000, before the second for 2000, and up to 40 more, varying. A step takes 10000. Step 0 is the warm-up.
 */
enum { RANKS = 8, STEPS = 24, EACH = 2, INSTANCES = STEPS * EACH, OPERATIONS = RANKS * INSTANCES };
enum { FIRST_NS = 6000, SECOND_NS = 2000, LASTS_NS = 1000 };

/* How much longer a rank computes in a step before each of the two; on its host or its GPU. */
struct slow_ranks {
    int64_t first_ns[RANKS][STEPS];
    int64_t second_ns[RANKS][STEPS];
    int64_t gpu_ns[RANKS][STEPS]; /* before the first, once its host had enqueued it, also if is_hosts */
    int64_t transfer_ns[STEPS];   /* how much longer each AllReduce takes */
    int is_hosts;
    int in_two_roles;  /* odd ranks have their own role, with other sizes */
    int in_two_stages; /* the upper half of the ranks have their own role and host */
    int has_one_alone; /* the last rank has its own role */
};

struct slow_job {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_communicator world;
    struct communicator_set_member member_list[RANKS];
    struct job_operation operations[OPERATIONS];
    struct job_instance instances[INSTANCES];
    int32_t members[OPERATIONS];
    struct baseline baseline;
    struct transfer_excess *transfers;
    struct edges edges; /* none */
    struct partitions partitions;
    unsigned char explained[RANKS * STEPS];
    struct stays *stays;
    struct place_matrix_source source;
};

/* These ranks are slow by this much before the first AllReduce, in every `period`-th of these steps. */
void slow_ranks_add(struct slow_ranks *slow, int rank, int ranks, int first, int last, int period,
                    int64_t by_ns);

/* The caller releases it. */
void slow_job_init(struct slow_job *played, const struct slow_ranks *slow);
void slow_job_release(struct slow_job *played);

/* The hypotheses with odds of at least 20 and a gain of at least 3 % of a step; the caller releases them. */
void slow_job_explain(struct slow_job *played, struct explanations *found);

#endif
