#ifndef NCCLPROF_TESTS_SUPPORT_SMALL_JOB_H
#define NCCLPROF_TESTS_SUPPORT_SMALL_JOB_H

#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/job.h"
#include "store/store.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Three ranks, four steps, two AllReduces of all ranks per step; operation k of step s of a rank is number 2
 * s + k of its eight.
 */
enum { RANKS = 3, STEPS = 4, EACH = 2 * STEPS, OPERATIONS = RANKS * EACH };

struct small {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_communicator world;
    struct job_communicator communicators[2]; /* with stages: the world, and a stage */
    struct communicator_set_member member_list[2];
    struct job_operation operations[OPERATIONS];
    int32_t positions[OPERATIONS];
    struct excess excess[OPERATIONS];
    struct hidden_lateness hidden[OPERATIONS];
    struct baseline baseline; /* the baseline of those; a step of 10000, and step 0 is the warm-up */
    struct job_instance instances[EACH];
    struct transfer_excess transfers[EACH];
    int32_t members[OPERATIONS];
    struct edge edge;
    size_t first[EACH + 1];
    struct edges edges;
};

struct job_operation *at(struct small *small, int rank, int step, int number);
struct excess *excess_at(struct small *small, int rank, int step, int number);
struct excess *excess_with(struct small *small, const struct job_operation *operation);
struct hidden_lateness *hidden_at(struct small *small, int rank, int step, int number);
void small_init(struct small *small);
void small_release(struct small *small);

/* One role for all ranks, with the same sequence of calls in each step. */
struct small_roles {
    struct role role;
    int32_t ranks[RANKS];
    int32_t zeros[RANKS];
    int32_t in_role[RANKS];
    int32_t cells[OPERATIONS];
    int32_t *of_role;
};

/* The baseline knows the roles, which live longer than it, and all operations have times. */
void small_in_one_role(struct small *small, struct small_roles *roles);

/*
 * Makes the two operations of each step one call; the GPU records the end of the first, `ends` that of the
 * other.
 */
void small_group(struct small *small, uint8_t function, uint8_t ends);

/* Ranks 0 and 1 share a communicator, rank 2 is another stage; sends between them are not recorded. */
void small_in_stages(struct small *small);

#endif
