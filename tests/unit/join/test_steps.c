#include "join/steps.h"

#include "support/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

/* Tags as letters, one every ten nanoseconds; a space: a step has to begin. */
static void check_tags(const char *steps)
{
    struct moments moments = {.count = 0};
    int64_t expected[64], *times;
    size_t expected_count = 0, count;
    for (const char *at = steps; *at; at++) {
        if (*at == ' ' || at == steps)
            expected[expected_count++] = 10 * (int64_t)moments.count;
        if (*at != ' ')
            assert_int_equal(moments_add(&moments, (uint64_t)*at, 10 * (int64_t)moments.count), 0);
    }
    assert_int_equal(steps_from_tags(&moments, &times, &count), 0);
    assert_int_equal(count, expected_count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(times[i], expected[i]);
    free(times);
    moments_release(&moments);
}

static void tags_that_recur(void **state)
{
    check_tags("fbo fbo fbo fbo");
    check_tags("ffbo ffbo ffbo");
}

/* Nothing repeats up to the end: a step begins where a tag is no later than the one before it. */
static void tags_with_holes(void **state)
{
    check_tags("fbo fo fb fbo bo fo");
    check_tags("fbo f fb fo bo fo");
}

static void tags_that_do_not_recur(void **state)
{
    struct moments moments = {.count = 0};
    int64_t *times;
    size_t count;
    for (uint64_t i = 1; i <= 3; i++)
        assert_int_equal(moments_add(&moments, i, (int64_t)i), 0);
    assert_int_equal(steps_from_tags(&moments, &times, &count), 0);
    assert_int_equal(count, 0);
    free(times);
    moments_release(&moments);
}

static int32_t step_at(struct step_teller *teller, int64_t issued_ns)
{
    const struct swept swept = {.issued_ns = issued_ns};
    return step_next(teller, NULL, &swept);
}

/* What comes before the first belongs to step 0. */
static void steps_begin_at_times(void **state)
{
    static const int64_t times[] = {100, 200, 300};
    struct step_teller teller = {.times = times, .time_count = 3};
    assert_int_equal(step_at(&teller, 50), 0);
    assert_int_equal(step_at(&teller, 100), 0);
    assert_int_equal(step_at(&teller, 199), 0);
    assert_int_equal(step_at(&teller, 200), 1);
    assert_int_equal(step_at(&teller, 1000), 2);
}

static void steps_begin_with_operations(void **state)
{
    static const size_t starts[] = {1, 3, 6};
    static const int32_t expected[] = {0, 0, 0, 1, 1, 1, 2, 2};
    struct step_teller teller = {.starts = starts, .start_count = 3};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(step_at(&teller, 0), expected[i]);
}

static void nothing_tells_steps(void **state)
{
    struct step_teller teller = {.shared = -1};
    assert_int_equal(step_at(&teller, 100), -1);
}

/* Member 0 is of the communicator that all share, member 1 of another one. */
static int32_t step_of(struct step_teller *teller, int32_t member, int function, int64_t sequence)
{
    struct work_member members[] = {{.communicator = 0}, {.communicator = 1}};
    const struct work work = {.members = members, .member_count = 2};
    const struct swept swept = {.member = member, .function = function, .sequence = sequence};
    return step_next(teller, &work, &swept);
}

static const struct step_end ends[] = {{9, FUNCTION_ALL_REDUCE}, {19, FUNCTION_ALL_REDUCE}};

/* The end itself is of the step that it ends. */
static void steps_end_with_shared_operations(void **state)
{
    struct step_teller teller = {.ends = ends, .end_count = 2, .shared = 0};
    assert_int_equal(step_of(&teller, 0, FUNCTION_ALL_REDUCE, 8), 0);
    assert_int_equal(step_of(&teller, 1, FUNCTION_ALL_REDUCE, 9), 0);
    assert_int_equal(step_of(&teller, 0, FUNCTION_BROADCAST, 9), 0);
    assert_int_equal(step_of(&teller, 0, FUNCTION_ALL_REDUCE, 9), 0);
    assert_int_equal(step_of(&teller, 1, FUNCTION_ALL_REDUCE, 10), 1);
    assert_int_equal(step_of(&teller, 0, FUNCTION_ALL_REDUCE, 19), 1);
    assert_int_equal(step_of(&teller, 0, FUNCTION_ALL_REDUCE, 29), 2);
}

/* Where the record of the end was lost, the first one beyond it tells that the step is over. */
static void an_end_was_lost(void **state)
{
    struct step_teller teller = {.ends = ends, .end_count = 2, .shared = 0};
    assert_int_equal(step_of(&teller, 0, FUNCTION_ALL_REDUCE, 8), 0);
    assert_int_equal(step_of(&teller, 0, FUNCTION_ALL_REDUCE, 11), 1);
    assert_int_equal(step_of(&teller, 0, FUNCTION_ALL_REDUCE, 19), 1);
    assert_int_equal(step_of(&teller, 0, FUNCTION_ALL_REDUCE, 20), 2);
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
