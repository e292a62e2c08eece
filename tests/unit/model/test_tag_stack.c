#include "model/model.h"

#include "support/cmocka_all.h"

static void when_a_range_ends_the_one_around_it_applies(void **state)
{
    struct tag_stack stack = {.top = -1};
    (void)state;
    assert_int_equal(tag_stack_innermost(&stack), -1);
    tag_stack_apply(&stack, 0, 0, 7);
    tag_stack_apply(&stack, 1, 0, 8);
    assert_int_equal(tag_stack_innermost(&stack), 8);
    tag_stack_apply(&stack, 2, 1, -1); /* its beginning was lost */
    assert_int_equal(tag_stack_innermost(&stack), 8);
    tag_stack_apply(&stack, 1, 1, -1);
    assert_int_equal(tag_stack_innermost(&stack), 7);
    tag_stack_apply(&stack, 0, 0, 9); /* the next tag of the same depth */
    assert_int_equal(tag_stack_innermost(&stack), 9);
    tag_stack_apply(&stack, 0, 1, -1);
    assert_int_equal(tag_stack_innermost(&stack), -1);
}

static void any_depth_is_safe(void **state)
{
    struct tag_stack stack = {.top = -1};
    (void)state;
    tag_stack_apply(&stack, INT64_MIN, 0, 1);
    assert_int_equal(tag_stack_innermost(&stack), 1);
    tag_stack_apply(&stack, INT64_MAX, 0, 2);
    assert_int_equal(stack.top, TAG_DEPTH - 1);
    assert_int_equal(tag_stack_innermost(&stack), 2);
    tag_stack_apply(&stack, 1, 1, -1);
    assert_int_equal(tag_stack_innermost(&stack), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(when_a_range_ends_the_one_around_it_applies),
        cmocka_unit_test(any_depth_is_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
