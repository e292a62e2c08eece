#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "support/spoken.h"

#include "support/cmocka_all.h"
#include "support/written.h"

#include <stdlib.h>

/*
 * The delay of each of four hosts in each of five steps, and the worth of a suspicion of rank 0: half of that
 * must be its own. By the definition in finding.h.
 */
enum { RANKS = 4, STEPS = 5 };

static struct rule_results last_read;

static int is_doubted(const int64_t late_ns[RANKS][STEPS], size_t ranks, enum finding_kind kind,
                      int64_t total_ns, int32_t first_step, int32_t last_step)
{
    int32_t role_of_rank[RANKS] = {0};
    int64_t copy[RANKS * STEPS];
    struct suspect suspect = {
        .kind = kind, .first_step = first_step, .last_step = last_step, .total_ns = total_ns};
    struct suspects suspects = {.items = &suspect, .count = 1};
    const struct baseline baseline = {.rank_count = ranks,
                                      .role_of_rank = role_of_rank,
                                      .step_count = STEPS,
                                      .first_step = 1,
                                      .late_ns = copy};
    for (size_t i = 0; i < RANKS * STEPS; i++)
        copy[i] = late_ns[i / STEPS][i % STEPS];
    assert_int_equal(suspects_check_common_lateness(&suspects, NULL, &baseline), 0);
    free(suspects.common_lateness_ns);
    last_read = suspect.rule_results;
    return is_doubted_at_all(&suspect);
}

/* Six ranks in one step: the first `late` have one role and are late by 100, the others have another. */
static int is_doubted_in_role(size_t late)
{
    int32_t role_of_rank[] = {0, 0, 0, 0, 0, 0}, ranks[] = {0, 1, 2, 3, 4, 5};
    int64_t late_ns[] = {0, 0, 0, 0, 0, 0};
    struct role roles[] = {{.ranks = ranks, .rank_count = late},
                           {.ranks = ranks + late, .rank_count = 6 - late}};
    struct suspect suspect = {.kind = FINDING_HOST, .total_ns = 100};
    struct suspects suspects = {.items = &suspect, .count = 1};
    const struct baseline baseline = {.roles = roles,
                                      .role_count = 2,
                                      .rank_count = 6,
                                      .role_of_rank = role_of_rank,
                                      .step_count = 1,
                                      .late_ns = late_ns};
    for (size_t i = 0; i < late; i++)
        late_ns[i] = 100;
    assert_int_equal(suspects_check_common_lateness(&suspects, NULL, &baseline), 0);
    free(suspects.common_lateness_ns);
    last_read = suspect.rule_results;
    return is_doubted_at_all(&suspect);
}

/* The median of the others counts, the lower of two. */
static void all_hosts_were_late(void **state)
{
    const int64_t late_ns[RANKS][STEPS] = {{0, 0, 100, 0, 0}, {0, 0, 50, 0, 0}, {0, 0, 900, 0, 0}, {0}};
    const int64_t less_ns[RANKS][STEPS] = {{0, 0, 100, 0, 0}, {0, 0, 49, 0, 0}, {0, 0, 900, 0, 0}, {0}};
    assert_true(is_doubted(late_ns, RANKS, FINDING_HOST, 80, 2, 2));
    assert_speaks(&last_read, RULE_COMMON_LATENESS);
    assert_true(is_doubted(late_ns, RANKS, FINDING_COMPUTE, 80, 2, 2));
    assert_false(is_doubted(late_ns, RANKS, FINDING_NETWORK, 80, 2, 2));
    assert_false(is_doubted(less_ns, RANKS, FINDING_HOST, 80, 2, 2));
    assert_quiet(&last_read, RULE_COMMON_LATENESS);
    /* It may be late because of its GPU. */
    assert_false(is_doubted(late_ns, RANKS, FINDING_COMPUTE, 104, 2, 2));
    /* Of ranks 1 and 2, 50; of rank 1 alone, too. */
    assert_true(is_doubted(late_ns, 3, FINDING_HOST, 80, 2, 2));
    assert_true(is_doubted(late_ns, 2, FINDING_HOST, 80, 2, 2));
}

/* The common part is summed over its steps, at most its own delay in each. */
static void over_several_steps(void **state)
{
    const int64_t late_ns[RANKS][STEPS] = {
        {0, 100, 100, 100, 0}, {0, 900, 49, 0, 0}, {0, 900, 49, 0, 0}, {0, 900, 0, 0, 0}};
    assert_false(is_doubted(late_ns, RANKS, FINDING_HOST, 300, 1, 3));
    assert_true(is_doubted(late_ns, RANKS, FINDING_HOST, 200, 1, 2));
    assert_false(is_doubted(late_ns, RANKS, FINDING_HOST, 200, 2, 3));
    /* Early hosts in one step do not reduce the delay of others in another step. */
    const int64_t early_ns[RANKS][STEPS] = {
        {0, 100, 100, 0, 0}, {0, 100, -900, 0, 0}, {0, 100, -900, 0, 0}, {0, 100, -900, 0, 0}};
    assert_true(is_doubted(early_ns, RANKS, FINDING_HOST, 200, 1, 2));
    assert_true(is_doubted(early_ns, RANKS, FINDING_HOST, 100, 1, 1));
}

/*
 * The delay of hosts in one step of three proves nothing about its GPU in the others; a host may explain all.
 */
static void a_gpu_beside_hosts_that_were_late_once(void **state)
{
    const int64_t once_ns[RANKS][STEPS] = {
        {0, 900, 100, 100, 0}, {0, 900, 0, 0, 0}, {0, 900, 0, 0, 0}, {0, 900, 0, 0, 0}};
    const int64_t twice_ns[RANKS][STEPS] = {
        {0, 900, 100, 100, 0}, {0, 900, 50, 0, 0}, {0, 900, 50, 0, 0}, {0, 900, 50, 0, 0}};
    assert_true(is_doubted(once_ns, RANKS, FINDING_HOST, 300, 1, 3));
    assert_false(is_doubted(once_ns, RANKS, FINDING_COMPUTE, 300, 1, 3));
    assert_true(is_doubted(twice_ns, RANKS, FINDING_COMPUTE, 300, 1, 3));
    const int64_t less_ns[RANKS][STEPS] = {
        {0, 900, 100, 100, 0}, {0, 900, 49, 0, 0}, {0, 900, 49, 0, 0}, {0, 900, 49, 0, 0}};
    assert_false(is_doubted(less_ns, RANKS, FINDING_COMPUTE, 300, 1, 3));
    /* In half of its steps, no more. */
    assert_false(is_doubted(once_ns, RANKS, FINDING_COMPUTE, 200, 1, 2));
}

static void alone(void **state)
{
    const int64_t late_ns[RANKS][STEPS] = {{0, 0, 100, 0, 0}};
    assert_true(is_doubted(late_ns, 1, FINDING_HOST, 100, 2, 2));
    assert_speaks(&last_read, RULE_NO_PEERS);
    assert_false(is_doubted(late_ns, RANKS, FINDING_HOST, 100, 2, 2));
    assert_quiet(&last_read, RULE_NO_PEERS);
}

/*
 * Rank 0 is late by 100 in the one step at the one place of its role. Returns whether it is limited if the
 * own time of rank 1, of its role or a member of its operation, is known there or not.
 */
static int is_alone(int is_in_role, int is_member, int64_t beyond_ns)
{
    int32_t ranks[] = {0, 1}, role_of_rank[] = {0, 0}, rank_in_role[] = {0, 1};
    int32_t cells[] = {0, 1}, *cells_of_role[] = {cells}, members[] = {0, 1};
    int64_t late_ns[] = {100, 0};
    struct role role = {.ranks = ranks, .rank_count = 1 + (size_t)is_in_role, .length = 1};
    struct excess excess[] = {{.beyond_ns = 100, .excess_ns = 100}, {.beyond_ns = beyond_ns}};
    struct job_operation operations[] = {{.instance = 0}, {.rank = 1, .instance = is_member ? 0 : 1}};
    struct job_instance instances[] = {{.members = 1 + is_member}, {.members = 1, .first_member = 1}};
    const struct job job = {.operations = operations,
                            .operation_count = 2,
                            .instances = instances,
                            .instance_count = 2,
                            .instance_members = members};
    const struct baseline baseline = {.roles = &role,
                                      .role_count = 1,
                                      .rank_count = 2,
                                      .role_of_rank = role_of_rank,
                                      .rank_in_role = rank_in_role,
                                      .cells = cells_of_role,
                                      .excess = *written_excess(excess),
                                      .step_count = 1,
                                      .late_ns = late_ns};
    struct suspect suspect = {.kind = FINDING_COMPUTE, .total_ns = 100};
    struct suspects suspects = {.items = &suspect, .count = 1};
    assert_int_equal(suspects_check_common_lateness(&suspects, &job, &baseline), 0);
    free(suspects.common_lateness_ns);
    return is_doubted_at_all(&suspect);
}

static void others_that_do_not_tell(void **state)
{
    assert_false(is_alone(1, 1, 0));
    assert_false(is_alone(1, 0, 0));
    assert_false(is_alone(0, 1, 0));
    assert_true(is_alone(0, 0, 0));
    assert_true(is_alone(1, 1, TIME_UNKNOWN));
    assert_true(is_alone(0, 1, TIME_UNKNOWN));
}

/* Training and generating ranks pause in turn; of two in a role, both may be at fault. */
static void all_of_one_role(void **state)
{
    assert_limit(LIMIT_RANKS_OF_ROLE, 3);
    assert_true(is_doubted_in_role(3));
    assert_false(is_doubted_in_role(2));
    assert_false(is_doubted_in_role(1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_hosts_were_late),
        cmocka_unit_test(over_several_steps),
        cmocka_unit_test(alone),
        cmocka_unit_test(others_that_do_not_tell),
        cmocka_unit_test(a_gpu_beside_hosts_that_were_late_once),
        cmocka_unit_test(all_of_one_role),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
