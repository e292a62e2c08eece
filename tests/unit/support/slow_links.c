#include "support/slow_links.h"
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"

#include <stdlib.h>

void network_init(struct network *network, const int32_t *step_of)
{
    *network = (struct network){.job = {.rank_count = RANKS, .step_count = STEPS}};
    network->job.operations = network->operations;
    network->job.instances = network->instances;
    network->job.instance_members = network->members;
    for (int32_t i = 0; step_of[i] >= 0; i++) {
        network->instances[i] = (struct job_instance){.function = FUNCTION_ALL_REDUCE,
                                                      .members = RANKS,
                                                      .expected = RANKS,
                                                      .first_member = (uint32_t)(i * RANKS),
                                                      .transfer_ns = 5000,
                                                      .step = step_of[i]};
        network->transfers[i] = (struct transfer_excess){.culprit = -1};
        for (int32_t rank = 0; rank < RANKS; rank++) {
            network->members[i * RANKS + rank] = i * RANKS + rank;
            network->operations[i * RANKS + rank] = (struct job_operation){
                .rank = rank, .instance = i, .step = step_of[i], .previous = -1, .end_ns = 5000};
        }
        network->job.instance_count++;
        network->job.operation_count += RANKS;
    }
}

void suspect_by(struct network *network, const struct sent *sent, size_t count)
{
    struct edges edges = {.items = network->items, .count = count, .first = network->first};
    struct role role = {.rank_count = RANKS, .length = 2};
    int32_t role_of_rank[RANKS] = {0};
    const struct baseline baseline = {.positions = network->positions,
                                      .hidden = network->hidden,
                                      .step_count = STEPS,
                                      .first_step = 1,
                                      .median_step_ns = 10000,
                                      .roles = &role,
                                      .role_count = 0,
                                      .role_of_rank = role_of_rank};
    const struct diagnose_options options = {.min_gain = 0.03, .sigmas = 6};
    struct error error = ERROR_INIT;
    for (size_t i = 0; i < count; i++) {
        network->items[i] = (struct edge){.instance = sent[i].instance,
                                          .sender = sent[i].sender,
                                          .receiver = sent[i].receiver,
                                          .extra_ns = sent[i].extra_ns,
                                          .over_ns = sent[i].over_ns,
                                          .busy_ns = sent[i].over_ns,
                                          .wait_ns = sent[i].wait_ns ? sent[i].wait_ns : sent[i].extra_ns,
                                          .wait_max_ns = 800,
                                          .step = network->instances[sent[i].instance].step};
        network->first[sent[i].instance + 1]++;
    }
    for (size_t i = 0; i < INSTANCES; i++)
        network->first[i + 1] += network->first[i];
    assert_int_equal(job_index_steps(&network->job, &error), 0);
    assert_int_equal(suspect_network(&network->suspects, &network->job, &baseline, &edges, network->transfers,
                                     &options, &error),
                     0);
}

void network_release(struct network *network)
{
    free(network->suspects.items);
    free(network->job.operations_of_step);
    free(network->job.by_step);
    free(network->job.step_end);
}
