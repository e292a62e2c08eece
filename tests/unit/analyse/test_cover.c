#include "analyse/finding.h"

#include "support/cmocka_all.h"

#include <stdlib.h>

/*
 * Four ranks in one step: slow instances of two members each, on communicators 0 (ranks 0 and 1), 1 (ranks 0
 * and 2), 2 (ranks 2 and 3) and 3 (all four). The k-th operation of a rank belongs to its k-th communicator.
 */
enum { RANKS = 4, INSTANCES = 4, OPERATIONS = 10 };

static const struct {
    int32_t rank, instance;
} PLAYED[OPERATIONS] = {{0, 0}, {0, 1}, {0, 3}, {1, 0}, {1, 3}, {2, 1}, {2, 2}, {2, 3}, {3, 2}, {3, 3}};
static const int32_t MEMBERS[OPERATIONS] = {0, 3, 1, 5, 6, 8, 2, 4, 7, 9};
static const int32_t COUNT[INSTANCES] = {2, 2, 2, 4};

struct step {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_communicator communicators[INSTANCES];
    struct job_operation operations[OPERATIONS];
    struct job_instance instances[INSTANCES];
    int32_t members[OPERATIONS];
    struct job_seat seats[INSTANCES][RANKS];
};

static void step_init(struct step *step, const int64_t slow_ns[INSTANCES])
{
    size_t first = 0;
    *step = (struct step){
        .seats = {{{0, 0}, {1, 1}}, {{0, 0}, {1, 2}}, {{0, 2}, {1, 3}}, {{0, 0}, {1, 1}, {2, 2}, {3, 3}}}};
    for (size_t i = 0; i < INSTANCES; i++) {
        step->communicators[i] = (struct job_communicator){
            .size = COUNT[i], .seats = step->seats[i], .seat_count = (size_t)COUNT[i], .silent = -1};
        step->instances[i] = (struct job_instance){.communicator = (int32_t)i,
                                                   .function = FUNCTION_ALL_REDUCE,
                                                   .members = COUNT[i],
                                                   .expected = COUNT[i],
                                                   .first_member = first,
                                                   .slow_ns = slow_ns[i],
                                                   .culprit = -1};
        first += (size_t)COUNT[i];
    }
    for (int32_t i = 0; i < OPERATIONS; i++) {
        step->members[i] = MEMBERS[i];
        step->operations[i] =
            (struct job_operation){.rank = PLAYED[i].rank,
                                   .instance = PLAYED[i].instance,
                                   .communicator = PLAYED[i].instance,
                                   .function = FUNCTION_ALL_REDUCE,
                                   .previous = i && PLAYED[i - 1].rank == PLAYED[i].rank ? i - 1 : -1,
                                   .own_ns = TIME_UNKNOWN};
        struct job_rank *rank = &step->ranks[PLAYED[i].rank];
        rank->first = rank->count++ ? rank->first : (size_t)i;
    }
    step->job = (struct job){.step_count = 1,
                             .ranks = step->ranks,
                             .rank_count = RANKS,
                             .communicators = step->communicators,
                             .communicator_count = INSTANCES,
                             .operations = step->operations,
                             .operation_count = OPERATIONS,
                             .instances = step->instances,
                             .instance_count = INSTANCES,
                             .instance_members = step->members};
}

static void cover(struct step *step)
{
    struct error error = ERROR_INIT;
    assert_int_equal(job_index_steps(&step->job, &error), 0);
    assert_int_equal(cover_slow_instances(&step->job), 0);
    free(step->job.operations_of_step);
    free(step->job.by_step);
    free(step->job.step_end);
}

static void assert_culprits(struct step *step, int32_t a, int32_t b, int32_t c, int32_t d)
{
    cover(step);
    assert_int_equal(step->instances[0].culprit, a);
    assert_int_equal(step->instances[1].culprit, b);
    assert_int_equal(step->instances[2].culprit, c);
    assert_int_equal(step->instances[3].culprit, d);
}

static void the_rank_in_all_of_them(void **state)
{
    struct step step;
    step_init(&step, (int64_t[]){100, 100, 0, 100});
    assert_culprits(&step, 0, 0, -1, 0);
}

static void one_communicator_cannot_tell(void **state)
{
    struct step step;
    step_init(&step, (int64_t[]){100, 0, 0, 0});
    assert_culprits(&step, -1, -1, -1, -1);
    step_init(&step, (int64_t[]){100, 0, 0, 100});
    assert_culprits(&step, -1, -1, -1, -1);
}

/* Ranks 2 and 3 share the slowest: 2 explains 1090, 3 1010, too near. Without it 0 explains 190, 1 110, 2 90.
 */
static void what_nobody_explains_leaves_the_rest(void **state)
{
    struct step step;
    step_init(&step, (int64_t[]){100, 80, 1000, 10});
    assert_culprits(&step, 0, 0, -1, 0);
}

/*
 * Ranks 0 and 1 explain the same. Where sends and receives are not recorded, and only the communicator of all
 * links 0 and 1 with the others, the one whose own time grew is slow to send. Its operation 2 has no other of
 * its kind to be compared with.
 */
static void hidden_sends_break_a_tie(void **state)
{
    struct step step;
    step_init(&step, (int64_t[]){100, 0, 0, 100});
    step.communicators[1].seat_count = 1;
    step.operations[2].own_ns = 60;
    step.operations[2].beyond_ns = 50;
    assert_culprits(&step, -1, -1, -1, -1);
    step.job.blind_to_pairs = 1;
    assert_culprits(&step, 0, -1, -1, 0);
    step.instances[0].culprit = step.instances[3].culprit = -1;
    step.operations[4].own_ns = 60;
    step.operations[4].beyond_ns = 30;
    assert_culprits(&step, -1, -1, -1, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rank_in_all_of_them),
        cmocka_unit_test(one_communicator_cannot_tell),
        cmocka_unit_test(what_nobody_explains_leaves_the_rest),
        cmocka_unit_test(hidden_sends_break_a_tie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
