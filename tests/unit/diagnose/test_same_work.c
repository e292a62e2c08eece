#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include "support/cmocka_all.h"

/*
 * Eight ranks in two stages of four, each with its own role: 0 to 3 and 4 to 7. In each stage, pairs share
 * tensors, and ranks 0 and 2, and 1 and 3, their data; ranks 6 and 7 only send to each other. A communicator
 * contains all ranks.
 */
enum { RANKS = 8, COMMUNICATORS = 7, MEMBERS = 20 };

struct stages {
    struct job job;
    struct job_communicator communicators[COMMUNICATORS];
    struct communicator_set_member members[MEMBERS];
    struct job_operation operations[COMMUNICATORS];
    struct baseline baseline;
    int32_t role_of_rank[RANKS];
    int32_t same_work[RANKS];
};

static void stages_init(struct stages *stages)
{
    static const struct {
        int ranks[RANKS];
        int count;
        enum function function;
    } of[COMMUNICATORS] = {{{0, 1}, 2, FUNCTION_ALL_REDUCE},
                           {{2, 3}, 2, FUNCTION_ALL_REDUCE},
                           {{0, 2}, 2, FUNCTION_REDUCE_SCATTER},
                           {{1, 3}, 2, FUNCTION_ALL_GATHER},
                           {{4, 5}, 2, FUNCTION_ALL_REDUCE},
                           {{6, 7}, 2, FUNCTION_SEND},
                           {{0, 1, 2, 3, 4, 5, 6, 7}, RANKS, FUNCTION_ALL_REDUCE}};
    struct communicator_set_member *next = stages->members;
    *stages = (struct stages){.baseline = {.rank_count = RANKS}};
    for (int i = 0; i < RANKS; i++)
        stages->role_of_rank[i] = i / 4;
    for (int i = 0; i < COMMUNICATORS; i++) {
        stages->communicators[i] =
            (struct job_communicator){.member_list = next, .member_list_count = (size_t)of[i].count};
        for (int k = 0; k < of[i].count; k++)
            *next++ = (struct communicator_set_member){.number = k, .rank = of[i].ranks[k]};
        stages->operations[i] =
            (struct job_operation){.communicator = i, .function = (unsigned)of[i].function};
    }
    stages->job = (struct job){.rank_count = RANKS,
                               .communicators = stages->communicators,
                               .communicator_count = COMMUNICATORS,
                               .operations = stages->operations,
                               .operation_count = COMMUNICATORS};
    stages->baseline.role_of_rank = stages->role_of_rank;
    stages->baseline.same_work = stages->same_work;
}

static void check(struct stages *stages, const int32_t *expected)
{
    assert_int_equal(baseline_find_same_work(&stages->baseline, &stages->job), 0);
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(stages->same_work[i], expected[i]);
}

/* Directly or through others; not across roles, and not by sending. */
static void who_reduces_or_gathers_with_whom(void **state)
{
    struct stages stages;
    stages_init(&stages);
    check(&stages, (const int32_t[]){4, 4, 4, 4, 2, 2, 1, 1});
    /* A rank of another role in the group, or of none. */
    stages.role_of_rank[3] = 2;
    check(&stages, (const int32_t[]){3, 3, 3, 1, 2, 2, 1, 1});
    stages.role_of_rank[2] = -1;
    check(&stages, (const int32_t[]){2, 2, 1, 1, 2, 2, 1, 1});
    stages.role_of_rank[0] = stages.role_of_rank[1] = -1;
    check(&stages, (const int32_t[]){1, 1, 1, 1, 2, 2, 1, 1});
}

/* One role for all: the communicator of all ranks connects them. */
static void all_ranks_of_one_role(void **state)
{
    struct stages stages;
    stages_init(&stages);
    for (int i = 0; i < RANKS; i++)
        stages.role_of_rank[i] = 0;
    check(&stages, (const int32_t[]){8, 8, 8, 8, 8, 8, 8, 8});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_reduces_or_gathers_with_whom),
        cmocka_unit_test(all_ranks_of_one_role),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
