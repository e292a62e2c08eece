#include "join/internal.h"
#include "join/steps.h"
#include "model/model.h"

#include "support/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

/* Tags as letters, one every ten nanoseconds, or operations; a space: a step must begin there. */
static void check_tags_at(const char *steps, int of_operations)
{
    struct moments moments = {.of_operations = of_operations};
    struct step_locator locator;
    int64_t expected[64];
    size_t expected_count = 0;
    for (const char *at = steps; *at; at++) {
        if (*at == ' ' || at == steps)
            expected[expected_count++] = 10 * (int64_t)moments.count;
        if (*at != ' ')
            assert_int_equal(moments_add(&moments, (uint64_t)*at, 10 * (int64_t)moments.count), 0);
    }
    assert_int_equal(steps_from_tags(&moments, &locator), 0);
    assert_int_equal(locator.time_count, of_operations ? 0 : expected_count);
    assert_int_equal(locator.start_count, of_operations ? expected_count : 0);
    for (size_t i = 0; i < expected_count; i++)
        assert_int_equal(of_operations ? (int64_t)locator.starts[i] : locator.times[i], expected[i]);
    free(locator.times);
    free(locator.starts);
    moments_release(&moments);
}

static void check_tags(const char *steps)
{
    check_tags_at(steps, 0);
    check_tags_at(steps, 1);
}

static void tags_that_recur(void **state)
{
    check_tags("fbo fbo fbo fbo");
    check_tags("ffbo ffbo ffbo");
}

/*
 * Nothing repeats up to the end: a step begins where a tag does not come later in the order than the previous
 * one.
 */
static void tags_with_holes(void **state)
{
    check_tags("fbo fo fb fbo bo fo");
    check_tags("fbo f fb fo bo fo");
}

static int32_t step_at(struct step_locator *locator, int64_t issued_ns)
{
    const struct issued_operation issued_operation = {.issued_ns = issued_ns};
    return step_next(locator, NULL, &issued_operation);
}

static void tags_that_do_not_recur(void **state)
{
    struct moments moments = {.count = 0};
    struct step_locator locator;
    for (uint64_t i = 1; i <= 3; i++)
        assert_int_equal(moments_add(&moments, i, (int64_t)i), 0);
    assert_int_equal(steps_from_tags(&moments, &locator), 0);
    assert_int_equal(locator.time_count + locator.start_count, 0);
    assert_int_equal(step_at(&locator, 2), -1);
    free(locator.times);
    free(locator.starts);
    moments_release(&moments);
}

/* Operations before the first belong to step 0. */
static void steps_begin_at_times(void **state)
{
    int64_t times[] = {100, 200, 300};
    struct step_locator locator = {.times = times, .time_count = 3};
    assert_int_equal(step_at(&locator, 50), 0);
    assert_int_equal(step_at(&locator, 100), 0);
    assert_int_equal(step_at(&locator, 199), 0);
    assert_int_equal(step_at(&locator, 200), 1);
    assert_int_equal(step_at(&locator, 1000), 2);
}

static void steps_begin_with_operations(void **state)
{
    size_t starts[] = {1, 3, 6};
    static const int32_t expected[] = {0, 0, 0, 1, 1, 1, 2, 2};
    struct step_locator locator = {.starts = starts, .start_count = 3};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(step_at(&locator, 0), expected[i]);
}

static void nothing_tells_steps(void **state)
{
    struct step_locator locator = {.times = NULL};
    assert_int_equal(step_at(&locator, 100), -1);
}

/* Member 0 is of the communicator that all share, member 1 of another one. */
static int32_t step_of(struct step_locator *locator, int32_t member, int function, int64_t sequence)
{
    struct work_member members[] = {{.communicator = 0}, {.communicator = 1}};
    const struct work work = {.members = members, .member_count = 2};
    const struct issued_operation issued_operation = {
        .member = member, .function = function, .sequence = sequence};
    return step_next(locator, &work, &issued_operation);
}

/* The first step has AllReduces 0 to 9, and before the last an AllGather; the second 10 to 19. */
static struct step_end ends[2];
static const struct shared_communicators only = {.items = {0}, .count = 1};

static int make_ends(void **state)
{
    ends[0] = step_end_none(0);
    step_end_take(&ends[0], FUNCTION_ALL_GATHER, 0);
    for (int64_t i = 0; i <= 9; i++)
        step_end_take(&ends[0], FUNCTION_ALL_REDUCE, i);
    ends[1] = ends[0];
    for (int64_t i = 10; i <= 19; i++)
        step_end_take(&ends[1], FUNCTION_ALL_REDUCE, i);
    return 0;
}

/* The end itself belongs to the step that it ends. */
static void steps_end_with_shared_operations(void **state)
{
    struct step_locator locator = {.ends = ends, .end_count = 2, .shared = &only};
    assert_int_equal(step_of(&locator, 0, FUNCTION_ALL_REDUCE, 8), 0);
    assert_int_equal(step_of(&locator, 1, FUNCTION_ALL_REDUCE, 9), 0);
    assert_int_equal(step_of(&locator, 0, FUNCTION_ALL_GATHER, 0), 0);
    assert_int_equal(step_of(&locator, 0, FUNCTION_ALL_REDUCE, 9), 0);
    assert_int_equal(step_of(&locator, 1, FUNCTION_ALL_REDUCE, 10), 1);
    assert_int_equal(step_of(&locator, 0, FUNCTION_ALL_REDUCE, 19), 1);
    assert_int_equal(step_of(&locator, 0, FUNCTION_ALL_REDUCE, 29), 2);
}

/* If the record of the end was lost, the first operation after it shows that the step is over. */
static void an_end_was_lost(void **state)
{
    struct step_locator locator = {.ends = ends, .end_count = 2, .shared = &only};
    assert_int_equal(step_of(&locator, 0, FUNCTION_ALL_REDUCE, 8), 0);
    assert_int_equal(step_of(&locator, 0, FUNCTION_ALL_REDUCE, 11), 1);
    assert_int_equal(step_of(&locator, 0, FUNCTION_ALL_REDUCE, 19), 1);
    assert_int_equal(step_of(&locator, 0, FUNCTION_ALL_REDUCE, 20), 2);
}

static void ends_in_a_row_were_lost(void **state)
{
    struct step_locator locator = {.ends = ends, .end_count = 2, .shared = &only};
    assert_int_equal(step_of(&locator, 0, FUNCTION_ALL_REDUCE, 8), 0);
    assert_int_equal(step_of(&locator, 0, FUNCTION_ALL_REDUCE, 21), 2);
    locator.next = 0;
    assert_int_equal(step_of(&locator, 0, FUNCTION_ALL_REDUCE, 19), 1);
    assert_int_equal(step_of(&locator, 0, FUNCTION_ALL_REDUCE, 20), 2);
}

/* It may be of any function; one that the first two steps do not have comes after both. */
static void another_function_tells_that_an_end_was_lost(void **state)
{
    struct step_locator locator = {.ends = ends, .end_count = 2, .shared = &only};
    assert_int_equal(step_of(&locator, 1, FUNCTION_ALL_GATHER, 7), 0);
    assert_int_equal(step_of(&locator, 0, FUNCTION_ALL_GATHER, 0), 0);
    assert_int_equal(step_of(&locator, 0, FUNCTION_ALL_GATHER, 1), 2);
    locator.next = 0;
    assert_int_equal(step_of(&locator, 0, FUNCTION_BROADCAST, 0), 2);
}

/* A checkpoint's Broadcast after the second step, as the end of that step, which this rank lost. */
static void an_end_that_comes_but_once_was_lost(void **state)
{
    struct step_end three[] = {ends[0], ends[1], ends[1]};
    step_end_take(&three[1], FUNCTION_BROADCAST, 0);
    three[2] = three[1];
    step_end_take(&three[2], FUNCTION_ALL_REDUCE, 29);
    struct step_locator locator = {.ends = three, .end_count = 3, .shared = &only};
    assert_int_equal(step_of(&locator, 0, FUNCTION_ALL_REDUCE, 19), 1);
    assert_int_equal(step_of(&locator, 0, FUNCTION_ALL_REDUCE, 20), 2);
    assert_int_equal(step_of(&locator, 0, FUNCTION_ALL_REDUCE, 29), 2);
    assert_int_equal(step_of(&locator, 0, FUNCTION_ALL_REDUCE, 30), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_that_recur),
        cmocka_unit_test(tags_with_holes),
        cmocka_unit_test(tags_that_do_not_recur),
        cmocka_unit_test(steps_begin_at_times),
        cmocka_unit_test(steps_begin_with_operations),
        cmocka_unit_test(nothing_tells_steps),
        cmocka_unit_test(steps_end_with_shared_operations),
        cmocka_unit_test(an_end_was_lost),
        cmocka_unit_test(ends_in_a_row_were_lost),
        cmocka_unit_test(another_function_tells_that_an_end_was_lost),
        cmocka_unit_test(an_end_that_comes_but_once_was_lost),
    };
    return cmocka_run_group_tests(tests, make_ends, NULL);
}
