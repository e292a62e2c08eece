#include "support/cmocka_all.h"

#include "base/base.h"
#include "join/logs.h"
#include "model/model.h"

#include <string.h>

/*
 * One rank, one class of operations, one file of descriptions. Times are in seconds, from 1 on; 0 is none.
 * The operation of each description follows by hand from the known order and times.
 */
enum { MOST = 8 };

static const int64_t SECOND_NS = 1000000000;

struct situation {
    const char *name;
    int are_marks;
    int calls[MOST];        /* when they were printed; ended by -1 */
    int correlations[MOST]; /* from 1; 0 none */
    int operations[MOST];   /* when they were issued; ended by -1 */
    int first_number;       /* of the operations, which follow each other; -1: unknown */
    int expected[MOST];     /* for each description: its operation, -1 none, -2: several fit */
};

static size_t length(const int *list)
{
    size_t count = 0;
    while (list[count] != -1)
        count++;
    return count;
}

static void check(const struct situation *situation)
{
    struct call calls[MOST];
    struct call_operation items[MOST];
    struct call_moment moments[MOST];
    struct error error = ERROR_INIT;
    size_t call_count = length(situation->calls), item_count = length(situation->operations);
    size_t first[] = {0, item_count};
    struct call_series series = {situation->first_number, situation->first_number + (int64_t)item_count - 1,
                                 (int64_t)item_count, situation->first_number < 0};
    for (size_t i = 0; i < call_count; i++) {
        int64_t at_ns = situation->calls[i] ? situation->calls[i] * SECOND_NS : TIME_UNKNOWN;
        calls[i] = (struct call){.id = (INT64_C(1) << 32) + (int64_t)i,
                                 .process = situation->are_marks ? 0 : -1,
                                 .correlation = situation->correlations[i] - 1,
                                 .at_ns = situation->are_marks ? at_ns : TIME_UNKNOWN,
                                 .said_ns = situation->are_marks ? TIME_UNKNOWN : at_ns};
    }
    for (size_t i = 0; i < item_count; i++) {
        int64_t at_ns = situation->operations[i] * SECOND_NS;
        items[i] = (struct call_operation){
            .at_ns = at_ns, .wall_ns = at_ns ? at_ns : TIME_UNKNOWN, .id = 100 + (int64_t)i};
        moments[i] = (struct call_moment){0, at_ns};
    }
    struct call_list list = {.items = calls, .count = call_count};
    const struct call_operations operations = {.items = items,
                                               .count = item_count,
                                               .class_count = 1,
                                               .first = first,
                                               .moments = moments,
                                               .series = &series,
                                               .series_count = 1};
    assert_int_equal(call_match(&list, &operations, &error), 0);
    for (size_t i = 0; i < call_count; i++) {
        int expected = situation->expected[i];
        if (calls[i].operation_id != (expected < 0 ? 0 : 100 + expected))
            print_message("%s: description %zu was matched with operation %d\n", situation->name, i,
                          (int)calls[i].operation_id - 100);
        assert_int_equal(calls[i].operation_id, expected < 0 ? 0 : 100 + expected);
        assert_true(expected < 0 ? calls[i].reason != NULL : calls[i].reason == NULL);
        if (expected < 0)
            assert_int_equal(strstr(calls[i].reason, "several") != NULL, expected == -2);
    }
}

static void printed(void **state)
{
    static const struct situation situations[] = {
        {"as many, no times", 0, {0, 0, 0, -1}, {0}, {0, 0, 0, -1}, -1, {0, 1, 2}},
        {"fewer, no times", 0, {0, 0, -1}, {0}, {0, 0, 0, -1}, -1, {-2, -2}},
        {"more, no numbers", 0, {0, 0, 0, -1}, {0}, {0, 0, -1}, -1, {-2, -2, -2}},
        {"more, from number 0", 0, {0, 0, 0, -1}, {0}, {0, 0, -1}, 0, {0, 1, -1}},
        {"more, from number 5", 0, {0, 0, 0, -1}, {0}, {0, 0, -1}, 5, {-1, 0, 1}},
        {"fewer, each at its time", 0, {10, 20, 30, -1}, {0}, {10, 15, 20, 30, -1}, -1, {-2, 2, 3}},
        {"one is missing", 0, {10, 20, 30, -1}, {0}, {10, 35, -1}, -1, {0, -1, 1}},
        {"one is missing, and it may be either", 0, {10, 20, 30, -1}, {0}, {10, 30, -1}, -1, {0, -2, -2}},
        {"none is left", 0, {10, 20, -1}, {0}, {-1}, -1, {-1, -1}},
        {"later than all", 0, {40, -1}, {0}, {10, 30, -1}, -1, {-1}},
        {"before the next is said", 0, {10, 20, -1}, {0}, {10, 30, -1}, -1, {0, 1}},
    };
    for (size_t i = 0; i < sizeof situations / sizeof *situations; i++)
        check(&situations[i]);
}

static void marks(void **state)
{
    static const struct situation situations[] = {
        {"each before its own", 1, {10, 20, -1}, {0}, {11, 21, -1}, -1, {0, 1}},
        {"others that nobody describes", 1, {10, 20, -1}, {0}, {5, 11, 12, 21, -1}, -1, {1, 3}},
        {"one has none", 1, {10, 20, 30, -1}, {0}, {11, 21, -1}, -1, {0, 1, -1}},
        {"one call of several", 1, {10, 11, 12, -1}, {0}, {20, 21, 22, -1}, -1, {0, 1, 2}},
        {"by id, whatever comes between", 1, {10, 12, 13, -1}, {1, 1, 1}, {11, 20, 21, -1}, -1, {0, 1, 2}},
    };
    for (size_t i = 0; i < sizeof situations / sizeof *situations; i++)
        check(&situations[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(printed), cmocka_unit_test(marks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
