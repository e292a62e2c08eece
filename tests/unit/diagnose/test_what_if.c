#include "base/base.h"
#include "diagnose/delay.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "support/cmocka_all.h"
#include "support/written.h"

#include <stdlib.h>

/* The gain of the job without each suspicion. */

/*
 * Three ranks, each AllReduce takes 10. All ranks join S; then ranks 0 and 1 join M, for which rank 1 is late
 * by 400; then all join W, for which it is late by 400 again:
 *
 *            rank 0          rank 1          rank 2
 *   S        0 - 10          0 - 10          0 - 10
 *   M        110 - 520       510 - 520
 *   W        620 - 1030      1020 - 1030     710 - 1030
 *
 * If rank 1 were late only once, W would begin at 710, the same as if it were never late.
 */
enum { S_0, M_0, W_0, S_1, M_1, W_1, S_2, W_2, OPERATIONS };
enum { S, M, W, INSTANCES };

static const struct {
    int32_t rank, instance, previous;
    int64_t start_ns, end_ns, excess_ns;
} PLAYED[OPERATIONS] = {
    [S_0] = {0, S, -1, 0, 10, 0}, [M_0] = {0, M, S_0, 110, 520, 0},   [W_0] = {0, W, M_0, 620, 1030, 0},
    [S_1] = {1, S, -1, 0, 10, 0}, [M_1] = {1, M, S_1, 510, 520, 400}, [W_1] = {1, W, M_1, 1020, 1030, 400},
    [S_2] = {2, S, -1, 0, 10, 0}, [W_2] = {2, W, S_2, 710, 1030, 0}};
static const int32_t MEMBERS[INSTANCES][3] = {{S_0, S_1, S_2}, {M_0, M_1, -1}, {W_0, W_1, W_2}};

struct tiny {
    struct job job;
    struct job_rank ranks[3];
    struct job_operation operations[OPERATIONS];
    struct excess excess[OPERATIONS];
    struct job_instance instances[INSTANCES];
    struct transfer_excess transfers[INSTANCES];
    int32_t members[3 * INSTANCES];
};

/* Each instance is a step: S is 0, M is 1, W is 2. */
static void tiny_init(struct tiny *tiny)
{
    struct error error = ERROR_INIT;
    *tiny = (struct tiny){
        .ranks = {{.first = S_0, .count = 3}, {.first = S_1, .count = 3}, {.first = S_2, .count = 2}}};
    for (int32_t i = 0; i < OPERATIONS; i++)
        tiny->operations[i] = (struct job_operation){
            .rank = PLAYED[i].rank,
            .instance = PLAYED[i].instance,
            .step = PLAYED[i].instance,
            .previous = PLAYED[i].previous,
            .group = i,
            .start_ns = PLAYED[i].start_ns,
            .end_ns = PLAYED[i].end_ns,
            .own_ns = PLAYED[i].previous < 0 ? TIME_UNKNOWN
                                             : PLAYED[i].start_ns - PLAYED[PLAYED[i].previous].end_ns,
            .ends = ENDS_BY_KERNEL,
            .function = FUNCTION_ALL_REDUCE};
    for (int32_t i = 0; i < OPERATIONS; i++)
        tiny->excess[i] = (struct excess){.excess_ns = PLAYED[i].excess_ns};
    for (int32_t i = 0; i < INSTANCES; i++) {
        int32_t members = i == M ? 2 : 3;
        tiny->transfers[i] = (struct transfer_excess){.beyond_ns = TIME_UNKNOWN, .culprit = -1};
        tiny->instances[i] = (struct job_instance){.transfer_ns = 10,
                                                   .step = i,
                                                   .members = members,
                                                   .expected = members,
                                                   .first_member = (uint32_t)i * 3,
                                                   .function = FUNCTION_ALL_REDUCE};
        for (int32_t j = 0; j < members; j++)
            tiny->members[i * 3 + j] = MEMBERS[i][j];
    }
    tiny->job = (struct job){.rank_count = 3,
                             .ranks = tiny->ranks,
                             .operation_count = OPERATIONS,
                             .operations = tiny->operations,
                             .instance_count = INSTANCES,
                             .instances = tiny->instances,
                             .instance_members = tiny->members,
                             .step_count = INSTANCES,
                             .timed_operations = OPERATIONS};
    assert_int_equal(job_index_steps(&tiny->job, &error), 0);
}

static void release_steps(struct job *job)
{
    free(job->operations_of_step);
    free(job->by_step);
    free(job->step_end);
}

/* Returns the number of suspicions that were not replayed. */
static size_t weigh(struct tiny *tiny, struct suspect *suspects, size_t count)
{
    struct suspects all = {.items = suspects, .count = count};
    const struct baseline baseline = {.excess = *written_excess(tiny->excess)};
    struct error error = ERROR_INIT;
    struct replay replay;
    assert_int_equal(replay_init(&replay, &tiny->job, written_excess(tiny->excess), tiny->transfers, &error),
                     0);
    assert_int_equal(suspects_compute_gain(&all, &tiny->job, &baseline, tiny->transfers, &replay), 0);
    replay_release(&replay);
    release_steps(&tiny->job);
    return all.not_replayed;
}

/* Suspicions that noise is expected to cause are not replayed. */
static void noise_gains_nothing(void **state)
{
    struct tiny tiny;
    struct suspect suspect = {
        .kind = FINDING_COMPUTE, .rank = 1, .first_step = M, .last_step = W, .total_ns = 800, .chance = 2};
    tiny_init(&tiny);
    weigh(&tiny, &suspect, 1);
    assert_int_equal(suspect.gain_ns, 0);
}

/*
 * Operations have no times. Steps take 1000, except the given ones; in steps 2 and 3 rank 1's network was
 * slow by 300 and 200, and rank 0's by 5000.
 */
static int64_t gain_by_steps(int32_t step_count, int64_t second_ns, int64_t third_ns, int64_t fourth_ns)
{
    enum { TRANSFERS = 4 };
    int64_t step_ns[] = {1000, 1000, second_ns, third_ns, fourth_ns};
    struct job_instance instances[TRANSFERS] = {{.step = 2}, {.step = 2}, {.step = 2}, {.step = 3}};
    const struct transfer_excess transfers[TRANSFERS] = {{.culprit = 1, .slow_ns = 200},
                                                         {.culprit = 1, .slow_ns = 100},
                                                         {.culprit = 0, .slow_ns = 5000},
                                                         {.culprit = 1, .slow_ns = 200}};
    struct job job = {.instances = instances, .instance_count = TRANSFERS, .step_count = step_count};
    const struct baseline baseline = {.step_ns = step_ns, .step_count = step_count, .median_step_ns = 1000};
    struct suspect suspect = {.kind = FINDING_NETWORK, .rank = 1, .first_step = 2, .last_step = 3};
    struct suspects all = {.items = &suspect, .count = 1};
    struct error error = ERROR_INIT;
    assert_int_equal(job_index_steps(&job, &error), 0);
    assert_int_equal(suspects_compute_gain(&all, &job, &baseline, transfers, NULL), 0);
    release_steps(&job);
    return suspect.gain_ns;
}

/*
 * The excess of its step, or of the next one if the host runs a step ahead, but at most its slowness; that is
 * also the value if no duration is known.
 */
static void by_the_length_of_steps(void **state)
{
    assert_int_equal(gain_by_steps(5, 1000, 1000, 1000), 0);
    assert_int_equal(gain_by_steps(5, 1150, 900, 900), 150);
    assert_int_equal(gain_by_steps(5, 900, 900, 1180), 180);
    assert_int_equal(gain_by_steps(5, 1150, 1120, 1180), 150 + 180);
    assert_int_equal(gain_by_steps(5, 9000, 1000, 1000), 300);
    assert_int_equal(gain_by_steps(5, 1000, 9000, 1000), 300 + 200);
    assert_int_equal(gain_by_steps(5, 1000, 1000, TIME_UNKNOWN), 200);
    assert_int_equal(gain_by_steps(4, 1000, 1000, 1000), 200);
}

/*
 * The 120 by which one step was longer belong to one transfer or the other; 350 are enough for 300, and 50.
 */
static void one_step_is_longer_once(void **state)
{
    assert_int_equal(gain_by_steps(5, 1000, 1120, 1000), 120);
    assert_int_equal(gain_by_steps(5, 1000, 1350, 1000), 350);
    assert_int_equal(gain_by_steps(5, 1000, 1600, 1000), 300 + 200);
    assert_int_equal(gain_by_steps(5, 1100, 1120, 1000), 100 + 120);
    assert_int_equal(gain_by_steps(5, 1000, 1120, 1180), 120 + 180);
    assert_int_equal(gain_by_steps(5, 1000, 1350, 1060), 300 + 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(noise_gains_nothing),
                                       cmocka_unit_test(by_the_length_of_steps),
                                       cmocka_unit_test(one_step_is_longer_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
