#include "support/slow_ranks.h"

#include "base/base.h"
#include "diagnose/delay.h"
#include "diagnose/diagnose.h"
#include "diagnose/score.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"
#include "support/cmocka_all.h"

#include <stdlib.h>

void slow_ranks_add(struct slow_ranks *slow, int rank, int ranks, int first, int last, int period,
                    int64_t by_ns)
{
    for (int i = rank; i < rank + ranks; i++)
        for (int step = first; step <= last; step += period)
            slow->first_ns[i][step] += by_ns;
}

static int64_t own_ns(const struct slow_ranks *slow, int rank, int number)
{
    int step = number / EACH;
    /* A linear congruential generator (Knuth's MMIX) of the place: noise that recurred would be a fault. */
    uint64_t random = (uint64_t)(rank * INSTANCES + number + 1) * 6364136223846793005u + 1442695040888963407u;
    int64_t noise_ns = (int64_t)((random ^ random >> 31) * 6364136223846793005u >> 33) % 41;
    return noise_ns + (number % EACH ? SECOND_NS + slow->second_ns[rank][step]
                                     : FIRST_NS + slow->first_ns[rank][step] + slow->gpu_ns[rank][step]);
}

static int is_other_role(const struct slow_ranks *slow, int rank)
{
    if (slow->has_one_alone)
        return rank == RANKS - 1;
    return slow->in_two_stages ? rank >= RANKS / 2 : slow->in_two_roles && rank % 2;
}

static void put(struct slow_job *played, const struct slow_ranks *slow, int rank, int number, int64_t free_ns,
                int64_t end_ns)
{
    int32_t at = rank * INSTANCES + number;
    int64_t start_ns = free_ns + own_ns(slow, rank, number),
            gpu_ns = number % EACH ? 0 : slow->gpu_ns[rank][number / EACH];
    played->members[number * RANKS + rank] = at;
    played->operations[at] =
        (struct job_operation){.rank = rank,
                               .instance = number,
                               .step = number / EACH,
                               .tag = -1,
                               .bytes = is_other_role(slow, rank) ? 1 << 21 : 1 << 20,
                               .function = FUNCTION_ALL_REDUCE,
                               .previous = number ? at - 1 : -1,
                               .group = at,
                               .start_ns = start_ns,
                               .end_ns = end_ns,
                               .enqueued_ns = slow->is_hosts ? start_ns - gpu_ns - 5 : free_ns - 5,
                               .own_ns = number ? start_ns - free_ns : TIME_UNKNOWN,
                               .ends = ENDS_BY_KERNEL};
}

static void play_all(struct slow_job *played, const struct slow_ranks *slow)
{
    int64_t free_ns = 0;
    for (int number = 0; number < INSTANCES; number++) {
        int64_t latest_ns = 0, lasts_ns = LASTS_NS + slow->transfer_ns[number / EACH];
        for (int rank = 0; rank < RANKS; rank++)
            latest_ns = own_ns(slow, rank, number) > latest_ns ? own_ns(slow, rank, number) : latest_ns;
        int64_t end_ns = free_ns + latest_ns + lasts_ns;
        played->instances[number] = (struct job_instance){.sequence = number,
                                                          .transfer_ns = lasts_ns,
                                                          .sender = -1,
                                                          .receiver = -1,
                                                          .step = number / EACH,
                                                          .tag = -1,
                                                          .members = RANKS,
                                                          .expected = RANKS,
                                                          .first_member = (uint32_t)(number * RANKS),
                                                          .function = FUNCTION_ALL_REDUCE};
        for (int rank = 0; rank < RANKS; rank++)
            put(played, slow, rank, number, free_ns, end_ns);
        free_ns = end_ns;
    }
}

static void describe(struct slow_job *played, const struct slow_ranks *slow)
{
    static char label[] = "world";
    played->world = (struct job_communicator){.label = label,
                                              .size = RANKS,
                                              .hash = 1,
                                              .member_list = played->member_list,
                                              .member_list_count = RANKS,
                                              .is_whole = 1,
                                              .silent = -1};
    for (int rank = 0; rank < RANKS; rank++) {
        played->ranks[rank] = (struct job_rank){.first = (size_t)(rank * INSTANCES),
                                                .count = INSTANCES,
                                                .tail_step = INT32_MAX,
                                                .clock = slow->in_two_stages && rank >= RANKS / 2};
        played->member_list[rank] = (struct communicator_set_member){rank, rank};
    }
    played->job = (struct job){.rank_count = RANKS,
                               .expected_ranks = RANKS,
                               .ranks = played->ranks,
                               .communicator_count = 1,
                               .communicators = &played->world,
                               .operation_count = OPERATIONS,
                               .operations = played->operations,
                               .instance_count = INSTANCES,
                               .instances = played->instances,
                               .instance_members = played->members,
                               .step_count = STEPS,
                               .timed_operations = OPERATIONS};
}

void slow_job_init(struct slow_job *played, const struct slow_ranks *slow)
{
    struct error error = ERROR_INIT;
    const struct baseline_options options = {.sigmas = 6};
    *played = (struct slow_job){0};
    describe(played, slow);
    play_all(played, slow);
    assert_int_equal(job_index_steps(&played->job, &error), 0);
    assert_int_equal(baseline_init(&played->baseline, &played->job, &options, &error), 0);
    assert_int_equal(partitions_init(&played->partitions, &played->job, &played->edges), 0);
    played->transfers = calloc(INSTANCES, sizeof *played->transfers);
    played->stays = measure_stays(&played->job);
    assert_non_null(played->transfers);
    assert_non_null(played->stays);
    played->source = (struct place_matrix_source){&played->job,      &played->baseline, played->transfers,
                                                  played->explained, played->stays,     NULL};
}

void slow_job_release(struct slow_job *played)
{
    partitions_release(&played->partitions);
    baseline_release(&played->baseline);
    free(played->transfers);
    free(played->stays);
    free(played->job.operations_of_step);
    free(played->job.by_step);
    free(played->job.step_end);
}

void slow_job_explain(struct slow_job *played, struct explanations *found)
{
    struct error error = ERROR_INIT;
    const struct acceptance_limits acceptance_limits = {
        .certainty = 3, .worth_ns = 300, .sure = 5.3, .worth_waited_ns = 300, .least_ns = 150};
    struct replay replay;
    assert_int_equal(replay_init(&replay, &played->job, &played->baseline.excess, played->transfers, &error),
                     0);
    assert_int_equal(explanations_find(found, &played->job, &played->baseline, &played->edges,
                                       played->transfers, &replay, NULL, &acceptance_limits, &error),
                     0);
    replay_release(&replay);
}
