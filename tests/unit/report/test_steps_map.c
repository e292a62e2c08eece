#include "model/model.h"
#include "report/internal.h"
#include "report/steps.h"

#include "support/cmocka_all.h"

enum { LENGTH, WAITING, OWN };

/*
 * Of a step time, the part above the baseline counts, if that is known; wait time and own delay count in
 * full.
 */
static void what_of_a_step_is_drawn(void **state)
{
    const struct rank_step step = {.duration_ns = 1200, .waiting_ns = 300, .own_ns = TIME_UNKNOWN};
    const struct rank_step unknown = {TIME_UNKNOWN, TIME_UNKNOWN, TIME_UNKNOWN};
    assert_int_equal(steps_map_ns(&step, LENGTH, 1000), 200);
    assert_int_equal(steps_map_ns(&step, LENGTH, 1500), -300);
    assert_int_equal(steps_map_ns(&step, LENGTH, TIME_UNKNOWN), 1200);
    assert_int_equal(steps_map_ns(&step, WAITING, 1000), 300);
    assert_int_equal(steps_map_ns(&step, OWN, 1000), TIME_UNKNOWN);
    assert_int_equal(steps_map_ns(&unknown, LENGTH, 1000), TIME_UNKNOWN);
}

static void what_it_is_called(void **state)
{
    assert_string_equal(steps_map_word(LENGTH), "length");
    assert_string_equal(steps_map_title(LENGTH), "Step time above baseline");
    assert_string_equal(steps_map_title(OWN), "Own delay");
    assert_null(steps_map_word(STEPS_MAP_VALUES));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_of_a_step_is_drawn),
        cmocka_unit_test(what_it_is_called),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
