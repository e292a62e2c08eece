#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"

#include "support/cmocka_all.h"

#include <string.h>

enum { MOST_STEPS = 64 };

/*
 * A letter is a step and stands for its sequence; a small letter has a gap. `loads` has a digit for each
 * step. `expected` is the number of each step's sequence, in order of discovery.
 */
static void check(const char *steps, const char *loads, const char *expected)
{
    struct stretch stretches[MOST_STEPS], scratch[MOST_STEPS];
    int32_t load[MOST_STEPS], count = (int32_t)strlen(steps);
    struct call_sequences call_sequences;
    assert_true(count <= MOST_STEPS);
    for (int32_t i = 0; i < count; i++) {
        int has_gap = steps[i] >= 'a';
        stretches[i] =
            (struct stretch){.first = i * 4, .count = 4, .signature = (uint64_t)steps[i], .has_gap = has_gap};
        load[i] = loads[i] - '0';
    }
    assert_int_equal(call_sequences_find(&call_sequences, stretches, load, 1, count, NULL, scratch), 0);
    for (int32_t i = 0; i < count; i++)
        assert_int_equal(call_sequences.of_step[i], expected[i] - '0');
    call_sequences_release(&call_sequences);
}

static void six_in_a_row_make_one(void **state)
{
    check("AAAAAAAABBBBBB", "00000000000000", "00000000111111");
    check("AAAAAAAABBBBBA", "00000000000000", "00000000000000");
    check("ABABABABABABAB", "00000000000000", "00000000000000");
}

/* The sequence with the most steps is the first, wherever it occurs; the others keep their order. */
static void most_steps_make_the_first(void **state)
{
    check("BBBBBBBCCCCCCAAAAAAAAA", "0000000000000000000000", "1111111222222000000000");
}

/* A step that is like none has the sequence of the steps before it, or after it. */
static void what_is_like_none(void **state)
{
    check("XAAAAAAAAXBBBBBBX", "00000000000000000", "00000000001111111");
    check("AAAAAAAaaBBBBbBBBBBB", "00000000000000000000", "11111111100000000000");
}

static void under_another_load(void **state)
{
    check("AAAAAAAAAAAAAAA", "000000000111111", "000000000111111");
    check("AAAAAAAAAAAAAAA", "000000011111111", "111111100000000");
    check("AAAAAAAAAAAAAAA", "000000111111111", "000000000000000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(six_in_a_row_make_one),
        cmocka_unit_test(most_steps_make_the_first),
        cmocka_unit_test(what_is_like_none),
        cmocka_unit_test(under_another_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
