#include "support/small_job.h"
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include "support/cmocka_all.h"
#include "support/spoken.h"
#include "support/written.h"

#include <stdlib.h>

struct job_operation *at(struct small *small, int rank, int step, int number)
{
    return &small->operations[rank * EACH + 2 * step + number];
}

struct excess *excess_at(struct small *small, int rank, int step, int number)
{
    return &small->excess[at(small, rank, step, number) - small->operations];
}

struct excess *excess_with(struct small *small, const struct job_operation *operation)
{
    return &small->excess[operation - small->operations];
}

struct hidden_lateness *hidden_at(struct small *small, int rank, int step, int number)
{
    return &small->hidden[at(small, rank, step, number) - small->operations];
}

void small_init(struct small *small)
{
    *small = (struct small){.world = {.size = RANKS, .silent = -1}};
    for (int i = 0; i < EACH; i++)
        small->transfers[i] = (struct transfer_excess){.culprit = -1};
    for (int i = 0; i < EACH; i++)
        small->instances[i] = (struct job_instance){.function = FUNCTION_ALL_REDUCE,
                                                    .sender = -1,
                                                    .receiver = -1,
                                                    .step = i / 2,
                                                    .members = RANKS,
                                                    .first_member = (uint32_t)(i * RANKS)};
    for (int i = 0; i < OPERATIONS; i++)
        small->members[i % EACH * RANKS + i / EACH] = i;
    for (int i = 0; i < OPERATIONS; i++)
        small->positions[i] = i % EACH % 2;
    for (int i = 0; i < OPERATIONS; i++)
        small->operations[i] = (struct job_operation){.rank = i / EACH,
                                                      .instance = i % EACH,
                                                      .step = i % EACH / 2,
                                                      .function = FUNCTION_ALL_REDUCE,
                                                      .previous = i % EACH ? i - 1 : -1,
                                                      .group = i,
                                                      .own_ns = 1000,
                                                      .ends = ENDS_BY_KERNEL};
    for (int rank = 0; rank < RANKS; rank++)
        small->ranks[rank] =
            (struct job_rank){.first = (size_t)(rank * EACH), .count = EACH, .tail_step = INT32_MAX};
    small->job = (struct job){.rank_count = RANKS,
                              .ranks = small->ranks,
                              .communicator_count = 1,
                              .communicators = &small->world,
                              .operation_count = OPERATIONS,
                              .operations = small->operations,
                              .instance_count = EACH,
                              .instances = small->instances,
                              .instance_members = small->members,
                              .step_count = STEPS};
    small->baseline = (struct baseline){.positions = small->positions,
                                        .excess = *written_excess(small->excess),
                                        .hidden = small->hidden,
                                        .first_step = 1,
                                        .started_step = 1,
                                        .step_count = STEPS,
                                        .median_step_ns = 10000};
    small->edges = (struct edges){.first = small->first};
    struct error error = ERROR_INIT;
    assert_int_equal(job_index_steps(&small->job, &error), 0);
}

void small_release(struct small *small)
{
    free(small->job.operations_of_step);
    free(small->job.by_step);
    free(small->job.step_end);
}

void small_group(struct small *small, uint8_t function, uint8_t ends)
{
    for (int rank = 0; rank < RANKS; rank++)
        for (int step = 0; step < STEPS; step++)
            for (int number = 0; number < 2; number++) {
                struct job_operation *operation = at(small, rank, step, number);
                operation->group = rank * EACH + 2 * step;
                operation->function = function;
                operation->ends = number ? ends : ENDS_BY_KERNEL;
                if (step)
                    operation->previous = rank * EACH + 2 * step - 1;
                else
                    operation->previous = -1;
            }
    for (int i = 0; i < EACH; i++)
        small->instances[i].function = function;
}

void small_in_stages(struct small *small)
{
    small->member_list[0] = (struct communicator_set_member){0, 0};
    small->member_list[1] = (struct communicator_set_member){1, 1};
    small->communicators[0] = small->world;
    small->communicators[1] = (struct job_communicator){
        .size = 2, .member_list = small->member_list, .member_list_count = 2, .silent = -1};
    small->job.communicators = small->communicators;
    small->job.communicator_count = 2;
    small->job.blind_to_pairs = 1;
    assert_int_equal(job_find_stages(&small->job), 0);
}

void small_in_one_role(struct small *small, struct small_roles *roles)
{
    *roles = (struct small_roles){
        .role = {.ranks = roles->ranks, .rank_count = RANKS, .length = 2, .call_sequences = 1}};
    for (int rank = 0; rank < RANKS; rank++) {
        roles->ranks[rank] = roles->in_role[rank] = rank;
        for (int i = 0; i < EACH; i++)
            roles->cells[(i % 2 * RANKS + rank) * STEPS + i / 2] = rank * EACH + i;
    }
    roles->of_role = roles->cells;
    small->baseline.roles = &roles->role;
    small->baseline.role_count = 1;
    small->baseline.role_of_rank = roles->zeros;
    small->baseline.rank_in_role = roles->in_role;
    small->baseline.cells = &roles->of_role;
    small->job.timed_operations = OPERATIONS;
}
