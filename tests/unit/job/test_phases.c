#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"

/*
 * A rank sets the tags 0 at 0, 100, 200 ..., and 1 a tenth of that time later. Its operations are issued
 * under tag 1, at 50, 150, 250 ...
 */
enum { MARKS = 10 };

struct counted {
    int64_t ns[MARKS][2]; /* by step and tag */
};

static void count(void *context, int32_t step, int32_t tag, int64_t ns)
{
    struct counted *counted = context;
    assert_in_range(step, 0, MARKS - 1);
    assert_in_range(tag, 0, 1);
    counted->ns[step][tag] += ns;
}

static void make_marks(struct job_mark *marks)
{
    for (int i = 0; i < MARKS; i++)
        marks[i] = (struct job_mark){100 * (i / 2) + 10 * (i % 2), i % 2};
}

static void a_phase_belongs_to_the_next_operation(void **state)
{
    struct job_mark items[MARKS];
    const struct job_marks marks = {.items = items, .count = MARKS};
    const struct job_issues issues[] = {
        {50, 50, 0}, {150, 150, 0}, {TIME_UNKNOWN, TIME_UNKNOWN, 0}, {250, 250, 0}};
    struct counted counted = {0};
    (void)state;
    make_marks(items);
    job_marks_each(&marks, issues, 4, count, &counted);
    assert_int_equal(counted.ns[0][0], 10);
    assert_int_equal(counted.ns[0][1], 90);
    assert_int_equal(counted.ns[1][0], 10);
    assert_int_equal(counted.ns[2][0] + counted.ns[2][1], 0); /* no operation was issued in it */
    /* What comes after the last operation is of the last step; the last phase has no known end. */
    assert_int_equal(counted.ns[3][0], 3 * 10);
    assert_int_equal(counted.ns[3][1], 2 * 90);
}

/* Phases of steps that are not loaded are not those of the next step. */
static void phases_in_a_gap_are_left_out(void **state)
{
    struct job_mark items[MARKS];
    const struct job_marks marks = {.items = items, .count = MARKS};
    const struct job_issues issues[] = {{50, 50, 0}, {350, 350, 1}};
    struct counted counted = {0};
    (void)state;
    make_marks(items);
    job_marks_each(&marks, issues, 2, count, &counted);
    assert_int_equal(counted.ns[0][0], 10);
    assert_int_equal(counted.ns[1][1], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_phase_belongs_to_the_next_operation),
        cmocka_unit_test(phases_in_a_gap_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
