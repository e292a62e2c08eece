#include "model/model.h"
#include "report/groups.h"

#include "support/cmocka_all.h"

#include <stdlib.h>

/* Groups by size, algorithm and protocol; algorithms and protocols are numbers here. */
static void begin(struct report_groups *report)
{
    report_groups_init(report);
    report->by[report->by_count++] = KEY_SIZE;
    report->by[report->by_count++] = KEY_ALGORITHM;
    report->by[report->by_count++] = KEY_PROTOCOL;
}

/* `count` operations with this median, `apart_ns` from each other. */
static void add(struct report_groups *report, int64_t algorithm, int64_t median_ns, int64_t apart_ns,
                int64_t count, int64_t communicator)
{
    static int64_t instance;
    for (int64_t i = 0; i < count; i++) {
        struct report_row row = {.key = {[KEY_SIZE] = 1024, [KEY_ALGORITHM] = algorithm, [KEY_PROTOCOL] = 3},
                                 .instance = ++instance,
                                 .ranks = 4,
                                 .operations = 4,
                                 .transfer_ns = median_ns + (i - (count - 1) / 2) * apart_ns,
                                 .effective_ns = TIME_UNKNOWN,
                                 .wait_ns = TIME_UNKNOWN,
                                 .communicator = communicator,
                                 .function = FUNCTION_ALL_REDUCE};
        assert_int_equal(report_groups_add(report, &row), 0);
    }
}

static struct report_comparison *compare(struct report_groups *report, size_t mixed)
{
    size_t counted;
    struct report_comparison *comparisons = report_compare(report, &counted);
    assert_non_null(comparisons);
    assert_int_equal(counted, mixed);
    return comparisons;
}

/* Medians 100 and 150 us, 1 us between neighbours: different. */
static void who_won_and_by_how_much(void **state)
{
    struct report_groups report;
    begin(&report);
    add(&report, 1, 150000, 1000, 11, 1);
    add(&report, 2, 100000, 1000, 11, 1);
    add(&report, 4, 120000, 1000, 11, 1);
    struct report_comparison *of = compare(&report, 0);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(of[i].is_compared, 1);
        assert_int_equal(of[i].fastest, 1);
        assert_int_equal(of[i].is_significant, 1);
    }
    assert_float_equal(of[0].slower, 0.5, 1e-9);
    assert_float_equal(of[1].slower, 0, 1e-9);
    assert_float_equal(of[2].slower, 0.2, 1e-9);
    free(of);
    report_groups_release(&report);
}

/* The same medians, but 40 us between neighbours: their intervals overlap. */
static void what_may_be_chance(void **state)
{
    struct report_groups report;
    begin(&report);
    add(&report, 1, 150000, 40000, 7, 1);
    add(&report, 2, 140000, 40000, 7, 1);
    struct report_comparison *of = compare(&report, 0);
    assert_int_equal(of[0].is_compared, 1);
    assert_int_equal(of[0].is_significant, 0);
    assert_int_equal(of[1].is_significant, 0);
    free(of);
    report_groups_release(&report);
}

static void a_few_times_win_nothing(void **state)
{
    struct report_groups report;
    begin(&report);
    add(&report, 1, 150000, 1000, REPORT_COMPARED_LEAST, 1);
    add(&report, 2, 100000, 1000, REPORT_COMPARED_LEAST - 1, 1);
    struct report_comparison *of = compare(&report, 0);
    assert_int_equal(of[0].is_compared, 0);
    assert_int_equal(of[1].is_compared, 0);
    free(of);
    add(&report, 2, 100000, 1000, 1, 1);
    of = compare(&report, 0);
    assert_int_equal(of[0].is_compared, 1);
    assert_int_equal(of[0].fastest, 1);
    free(of);
    report_groups_release(&report);
}

static void other_communicators_move_other_data(void **state)
{
    struct report_groups report;
    begin(&report);
    add(&report, 1, 150000, 1000, 9, 1);
    add(&report, 2, 100000, 1000, 9, 2);
    struct report_comparison *of = compare(&report, 2);
    assert_int_equal(of[0].is_compared, 0);
    free(of);
    report_groups_release(&report);
}

static void only_by_size_and_how_it_was_done(void **state)
{
    struct report_groups report;
    report_groups_init(&report);
    report.by[report.by_count++] = KEY_ALGORITHM;
    assert_int_equal(report_is_compared(&report), 0);
    report.by[report.by_count++] = KEY_SIZE;
    assert_int_equal(report_is_compared(&report), 1);
    report_groups_release(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_won_and_by_how_much),
        cmocka_unit_test(what_may_be_chance),
        cmocka_unit_test(a_few_times_win_nothing),
        cmocka_unit_test(other_communicators_move_other_data),
        cmocka_unit_test(only_by_size_and_how_it_was_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
