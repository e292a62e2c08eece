#include "join/internal.h"
#include "join/steps.h"
#include "model/model.h"

#include "support/cmocka_all.h"

/* The collectives of one communicator and function. */
static uint64_t series(int32_t communicator, int function)
{
    struct work_member member = {.communicator = communicator};
    const struct work work = {.members = &member};
    const struct issued_operation issued = {.function = function};
    return step_series(&work, &issued);
}

/* Two workers, each with the votes of some ranks; the result must not depend on which rank was asked where.
 */
struct votes {
    struct step_votes of_worker[2];
};

static void begin(struct votes *votes)
{
    for (int i = 0; i < 2; i++)
        step_votes_init(&votes->of_worker[i]);
}

static void vote(struct votes *votes, int worker, int32_t step, int64_t sequence)
{
    assert_int_equal(
        step_votes_add(&votes->of_worker[worker], series(3, FUNCTION_ALL_REDUCE), step, sequence), 0);
}

static struct step_table end(struct votes *votes)
{
    struct step_table table;
    assert_int_equal(step_votes_merge(&votes->of_worker[0], &votes->of_worker[1]), 0);
    assert_int_equal(step_table_init(&table, &votes->of_worker[0]), 0);
    for (int i = 0; i < 2; i++)
        step_votes_release(&votes->of_worker[i]);
    return table;
}

static int32_t find(const struct step_table *table, uint64_t of, int64_t number)
{
    int is_last;
    return step_table_find(table, of, number, &is_last);
}

static void check(const struct step_table *table, int64_t sequence, int32_t step)
{
    assert_int_equal(find(table, series(3, FUNCTION_ALL_REDUCE), sequence), step);
}

/* Steps begin with 0, 10, 20. One rank lost 10, another one the whole step 1. */
static void the_lowest_begins_the_step(void **state)
{
    struct votes votes;
    begin(&votes);
    for (int worker = 0; worker < 2; worker++) {
        vote(&votes, worker, 0, 0);
        vote(&votes, worker, 2, 20);
    }
    vote(&votes, 0, 1, 11);
    vote(&votes, 1, 1, 10);
    struct step_table table = end(&votes);
    check(&table, 0, 0);
    check(&table, 9, 0);
    check(&table, 10, 1);
    check(&table, 19, 1);
    check(&table, 1000, 2);
    assert_true(step_table_has(&table, 3));
    assert_false(step_table_has(&table, 2));
    assert_int_equal(find(&table, series(3, FUNCTION_ALL_GATHER), 10), -1);
    assert_int_equal(find(&table, series(4, FUNCTION_ALL_REDUCE), 10), -1);
    step_table_release(&table);
}

/* A single rank has 9, which its other operations hide, in the next step; all others have it before. */
static void one_rank_alone_does_not_decide(void **state)
{
    for (int other = 0; other < 2; other++) {
        struct votes votes;
        begin(&votes);
        vote(&votes, 0, 0, 0);
        vote(&votes, 1 - other, 1, 12);
        vote(&votes, other, 1, 9);
        vote(&votes, 0, 1, 10);
        vote(&votes, 1, 1, 10);
        struct step_table table = end(&votes);
        check(&table, 9, 0);
        check(&table, 10, 1);
        step_table_release(&table);
    }
}

/* A step that seems to begin before an earlier one is left out. */
static void steps_ascend(void **state)
{
    struct votes votes;
    begin(&votes);
    vote(&votes, 0, 0, 0);
    vote(&votes, 0, 1, 10);
    vote(&votes, 0, 2, 7);
    vote(&votes, 1, 3, 30);
    struct step_table table = end(&votes);
    check(&table, 8, 0);
    check(&table, 15, 1);
    check(&table, 30, 3);
    step_table_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lowest_begins_the_step),
        cmocka_unit_test(one_rank_alone_does_not_decide),
        cmocka_unit_test(steps_ascend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
