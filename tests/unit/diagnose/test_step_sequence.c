#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include "support/cmocka_all.h"

#include <string.h>

/*
 * One rank that calls AllReduce (R), AllGather (G) and Send (S) on one communicator. A small letter was lost:
 * its sequence number is missing.
 */
enum { MOST = 128, STEPS = 6 };

struct played {
    struct job job;
    struct job_communicator communicator;
    struct job_rank rank;
    struct job_operation operations[MOST];
    struct job_instance instances[MOST];
    struct stretch stretches[2 * STEPS];
};

static void add(struct played *played, char what, int64_t number, int32_t step)
{
    size_t at = played->rank.count++;
    uint8_t function = what == 'R' ? FUNCTION_ALL_REDUCE : what == 'G' ? FUNCTION_ALL_GATHER : FUNCTION_SEND;
    assert_true(at < MOST);
    played->instances[at] = (struct job_instance){.sequence = number, .function = function};
    played->operations[at] =
        (struct job_operation){.instance = (int32_t)at, .function = function, .step = step, .bytes = 4};
}

static struct stretch canonical_of(struct played *played, const char *const steps[STEPS], int missing)
{
    int64_t numbers[128] = {0};
    *played = (struct played){.rank = {.count = 0}};
    for (int32_t step = 0; step < STEPS; step++)
        for (const char *at = steps[step]; *at; at++) {
            int lost = *at >= 'a';
            char what = (char)(lost ? *at - 'a' + 'A' : *at);
            int64_t number = numbers[(int)what]++;
            if (!lost)
                add(played, what, number, step);
        }
    played->job = (struct job){.step_count = STEPS,
                               .communicators = &played->communicator,
                               .communicator_count = 1,
                               .ranks = &played->rank,
                               .rank_count = 1,
                               .operations = played->operations,
                               .operation_count = played->rank.count,
                               .instances = played->instances,
                               .missing_sequence = missing};
    assert_int_equal(stretches_cut(&played->job, &played->rank, played->stretches), 0);
    return stretches_canonical(played->stretches, 1, STEPS, played->stretches + STEPS);
}

static void what_most_steps_have(void **state)
{
    struct played played;
    const char *const steps[STEPS] = {"RRR", "RRG", "RG", "RRG", "RRRG", "RRG"};
    struct stretch canonical = canonical_of(&played, steps, 0);
    assert_int_equal(canonical.count, 3);
    assert_int_equal(played.operations[canonical.first + 1].function, FUNCTION_ALL_REDUCE);
    assert_int_equal(played.operations[canonical.first + 2].function, FUNCTION_ALL_GATHER);
}

/* Most steps have lost one, and next to a lost one nothing is certain; the two in the middle are complete. */
static void a_whole_one_where_some_are_lost(void **state)
{
    struct played played;
    const char *const steps[STEPS] = {"RRG", "rRG", "RRG", "RRG", "RrG", "rRG"};
    struct stretch canonical = canonical_of(&played, steps, 1);
    assert_int_equal(canonical.count, 3);
    assert_false(canonical.has_gap);
    for (int step = 0; step < STEPS; step++)
        assert_int_equal(played.stretches[step].has_gap == 0, step == 2 || step == 3);
}

/*
 * An operation between two numbers with another one missing may be the lost one; and the last step may have
 * lost its end.
 */
static void a_gap_over_several(void **state)
{
    struct played played;
    const char *const steps[STEPS] = {"R", "RG", "Rg", "R", "RG", "R"};
    canonical_of(&played, steps, 1);
    for (int step = 0; step < STEPS; step++)
        assert_int_equal(played.stretches[step].has_gap == 0, step == 0);
    canonical_of(&played, steps, 0);
    for (int step = 0; step < STEPS; step++)
        assert_false(played.stretches[step].has_gap);
}

/* None is complete: the most frequent one is used nevertheless, and marked. Sends have no numbers. */
static void none_that_is_whole(void **state)
{
    struct played played;
    const char *const steps[STEPS] = {"rRS", "rRS", "RrS", "rRS", "RRS", "rRS"};
    struct stretch canonical = canonical_of(&played, steps, 1);
    assert_int_equal(canonical.count, 2);
    assert_true(canonical.has_gap);
}

/* In any order of signatures. */
static void the_earliest_of_equals(void **state)
{
    struct played played;
    const char *const one[STEPS] = {"R", "RG", "GR", "GR", "RG", "R"}, *const other[STEPS] = {
                                                                           "R", "GR", "RG", "RG", "GR", "R"};
    struct stretch canonical = canonical_of(&played, one, 0);
    assert_int_equal(played.operations[canonical.first].step, 1);
    canonical = canonical_of(&played, other, 0);
    assert_int_equal(played.operations[canonical.first].step, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_most_steps_have),   cmocka_unit_test(a_whole_one_where_some_are_lost),
        cmocka_unit_test(a_gap_over_several),     cmocka_unit_test(none_that_is_whole),
        cmocka_unit_test(the_earliest_of_equals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
