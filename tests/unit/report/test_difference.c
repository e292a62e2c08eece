#include "report/report.h"
#include "report/watch.h"

#include "support/cmocka_all.h"

#include <stdio.h>
#include <string.h>

/* The reports since the last poll: "new rank 3, over rank 4". */
static char told[256];

static int hear(void *context, enum change change, const struct finding_snapshot *finding_snapshot,
                struct error *error)
{
    size_t length = strlen(told);
    snprintf(told + length, sizeof told - length, "%s%s %s", length ? ", " : "", change_name(change),
             finding_snapshot->unit);
    return 0;
}

static struct finding_snapshot finding(const char *unit, int64_t first_step, int64_t last_step,
                                       int64_t run_step)
{
    return (struct finding_snapshot){.run = (char *)(uintptr_t) "run",
                                     .kind = (char *)(uintptr_t) "compute",
                                     .unit = (char *)(uintptr_t)unit,
                                     .confidence = (char *)(uintptr_t) "high",
                                     .text = (char *)(uintptr_t) "it is slow",
                                     .first_step = first_step,
                                     .last_step = last_step,
                                     .run_step = run_step,
                                     .lost_ns = 1000};
}

static void assert_look(struct difference *difference, const struct finding_snapshot *items, size_t count,
                        const char *expected)
{
    struct finding_snapshot_list now = {.items = NULL};
    *told = '\0';
    for (size_t i = 0; i < count; i++)
        assert_int_equal(finding_snapshot_list_add(&now, &items[i]), 0);
    assert_int_equal(reported_findings_update(difference, &now, hear, NULL, NULL), 0);
    assert_string_equal(told, expected);
    finding_snapshot_list_release(&now);
}

static void assert_settled(struct difference *difference, const char *expected)
{
    *told = '\0';
    assert_int_equal(reported_findings_confirm(difference, hear, NULL, NULL), 0);
    assert_string_equal(told, expected);
}

static void test_a_finding_is_told_once(void **state)
{
    struct difference difference = {.told = NULL};
    struct finding_snapshot finding_snapshot = finding("rank 3", 4, 6, 7);
    assert_look(&difference, NULL, 0, "");
    assert_look(&difference, &finding_snapshot, 1, "new rank 3");
    finding_snapshot.last_step = 9;
    finding_snapshot.run_step = 10;
    finding_snapshot.lost_ns = 1999;
    assert_look(&difference, &finding_snapshot, 1, "");
    reported_findings_release(&difference);
}

static void test_changes(void **state)
{
    struct difference difference = {.told = NULL};
    struct finding_snapshot finding_snapshot = finding("rank 3", 4, 6, 7);
    assert_look(&difference, &finding_snapshot, 1, "new rank 3");
    finding_snapshot.confidence = (char *)(uintptr_t) "medium";
    assert_look(&difference, &finding_snapshot, 1, "changed rank 3");
    assert_look(&difference, &finding_snapshot, 1, "");
    finding_snapshot.lost_ns = 2000;
    assert_look(&difference, &finding_snapshot, 1, "changed rank 3");
    finding_snapshot.lost_ns = 3999;
    assert_look(&difference, &finding_snapshot, 1, "");
    finding_snapshot.lost_ns = 4000;
    assert_look(&difference, &finding_snapshot, 1, "changed rank 3");
    reported_findings_release(&difference);
}

static void test_over_and_again(void **state)
{
    struct difference difference = {.told = NULL};
    struct finding_snapshot finding_snapshot = finding("rank 3", 4, 6, 9);
    assert_look(&difference, &finding_snapshot, 1, "new rank 3");
    finding_snapshot.last_step = 20;
    finding_snapshot.run_step = 21;
    assert_look(&difference, &finding_snapshot, 1, "");
    finding_snapshot.run_step = 24;
    assert_look(&difference, &finding_snapshot, 1, "");
    finding_snapshot.run_step = 25;
    assert_look(&difference, &finding_snapshot, 1, "over rank 3");
    finding_snapshot.run_step = 30;
    assert_look(&difference, &finding_snapshot, 1, "");
    finding_snapshot.last_step = 30;
    assert_look(&difference, &finding_snapshot, 1, "changed rank 3");
    assert_look(&difference, NULL, 0, "");
    assert_look(&difference, &finding_snapshot, 1, "");
    assert_look(&difference, NULL, 0, "");
    assert_look(&difference, NULL, 0, "withdrawn rank 3");
    assert_look(&difference, &finding_snapshot, 1, "new rank 3");
    assert_look(&difference, NULL, 0, "");
    assert_settled(&difference, "withdrawn rank 3");
    assert_settled(&difference, "");
    reported_findings_release(&difference);
}

/* In files that are truncated at odd places, fewer steps can be distinguished. */
static void test_a_look_that_saw_less(void **state)
{
    struct difference difference = {.told = NULL};
    struct finding_snapshot finding_snapshot = finding("rank 3", 4, 6, 7), less;
    assert_look(&difference, &finding_snapshot, 1, "new rank 3");
    finding_snapshot.run_step = 20;
    assert_look(&difference, &finding_snapshot, 1, "over rank 3");
    less = finding_snapshot;
    less.run_step = 6;
    less.lost_ns = 9000;
    assert_look(&difference, &less, 1, "");
    assert_look(&difference, &finding_snapshot, 1, "");
    reported_findings_release(&difference);
}

/* A finding of every tenth step does not end between two of them. */
static void test_periods(void **state)
{
    struct difference difference = {.told = NULL};
    struct finding_snapshot finding_snapshot = finding("rank 3", 10, 30, 30);
    finding_snapshot.period = 10;
    assert_look(&difference, &finding_snapshot, 1, "new rank 3");
    finding_snapshot.run_step = 60;
    assert_look(&difference, &finding_snapshot, 1, "");
    finding_snapshot.run_step = 61;
    assert_look(&difference, &finding_snapshot, 1, "over rank 3");
    reported_findings_release(&difference);
}

/* In a long run, in which the newest hundred steps are known for some ranks only. */
static void test_files_that_do_not_grow_in_step(void **state)
{
    struct difference difference = {.told = NULL};
    struct finding_snapshot finding_snapshot = finding("rank 3", 100, 900, 1000);
    assert_look(&difference, &finding_snapshot, 1, "new rank 3");
    finding_snapshot.last_step = 1850;
    finding_snapshot.run_step = 2000;
    assert_look(&difference, &finding_snapshot, 1, "");
    finding_snapshot.run_step = 2055;
    assert_look(&difference, &finding_snapshot, 1, "over rank 3");
    reported_findings_release(&difference);
}

static void test_what_is_the_same(void **state)
{
    const struct finding_snapshot one = finding("rank 3", 4, 6, 7);
    struct finding_snapshot other = finding("rank 3", 7, 9, 9);
    assert_true(finding_snapshot_is_same(&one, &other));
    assert_true(finding_snapshot_is_same(&other, &one));
    other.first_step = 8;
    assert_false(finding_snapshot_is_same(&one, &other));
    assert_false(finding_snapshot_is_same(&other, &one));
    other.first_step = other.last_step = -1;
    assert_true(finding_snapshot_is_same(&one, &other));
    other = one;
    other.phase = (char *)(uintptr_t) "forward";
    assert_true(finding_snapshot_is_same(&one, &other));
    struct finding_snapshot third = other;
    third.phase = (char *)(uintptr_t) "backward";
    assert_false(finding_snapshot_is_same(&third, &other));
    other = one;
    other.kind = (char *)(uintptr_t) "host";
    assert_false(finding_snapshot_is_same(&one, &other));
    other = one;
    other.run = (char *)(uintptr_t) "another";
    assert_false(finding_snapshot_is_same(&one, &other));
    other = finding("rank 4", 4, 6, 7);
    assert_false(finding_snapshot_is_same(&one, &other));
}

static void test_several(void **state)
{
    struct difference difference = {.told = NULL};
    const struct finding_snapshot both[] = {finding("rank 3", 4, 6, 7), finding("rank 4", 4, 6, 7)};
    const struct finding_snapshot apart[] = {finding("rank 3", 4, 6, 7), finding("rank 3", 20, 22, 22)};
    assert_look(&difference, both, 1, "new rank 3");
    assert_look(&difference, both, 2, "new rank 4");
    assert_look(&difference, &both[1], 1, "");
    assert_look(&difference, &both[1], 1, "withdrawn rank 3");
    assert_look(&difference, apart, 2, "new rank 3, new rank 3");
    assert_settled(&difference, "withdrawn rank 4");
    reported_findings_release(&difference);
}

/* In a running job, the files of one rank may be slightly behind the others'. */
static void test_a_stop_is_believed_at_the_second_look(void **state)
{
    struct difference difference = {.told = NULL};
    struct finding_snapshot early = finding("rank 3", 4, 4, 4), late = finding("rank 3", 40, 40, 40);
    early.stops_job = late.stops_job = 1;
    assert_look(&difference, &early, 1, "");
    assert_look(&difference, &late, 1, "");
    assert_look(&difference, &late, 1, "new rank 3");
    assert_look(&difference, &late, 1, "");
    assert_settled(&difference, "");
    reported_findings_release(&difference);
    assert_look(&difference, &early, 1, "");
    assert_settled(&difference, "new rank 3");
    assert_settled(&difference, "");
    assert_look(&difference, &early, 1, "");
    reported_findings_release(&difference);
}

/* It may be gone after a little more of the job. */
static void test_a_doubtful_one_is_believed_at_the_second_look(void **state)
{
    struct difference difference = {.told = NULL};
    struct finding_snapshot finding_snapshot = finding("rank 3", 4, 6, 7);
    finding_snapshot.confidence = (char *)(uintptr_t) "medium";
    assert_look(&difference, &finding_snapshot, 1, "");
    assert_look(&difference, NULL, 0, "");
    assert_look(&difference, &finding_snapshot, 1, "");
    assert_look(&difference, &finding_snapshot, 1, "new rank 3");
    assert_look(&difference, &finding_snapshot, 1, "");
    reported_findings_release(&difference);
}

static void test_what_is_known_is_not_told(void **state)
{
    struct difference difference = {.told = NULL};
    struct finding_snapshot_list known = {.items = NULL};
    struct finding_snapshot items[] = {finding("rank 3", 4, 6, 7), finding("rank 4", 5, 5, 7),
                                       finding("rank 5", 1, 2, 7)};
    items[1].stops_job = 1;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(finding_snapshot_list_add(&known, &items[i]), 0);
    assert_int_equal(reported_findings_begin(&difference, &known), 0);
    assert_settled(&difference, "");
    items[0].run_step = 30;
    assert_look(&difference, items, 3, "over rank 3");
    finding_snapshot_list_release(&known);
    reported_findings_release(&difference);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_finding_is_told_once),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_over_and_again),
        cmocka_unit_test(test_a_look_that_saw_less),
        cmocka_unit_test(test_periods),
        cmocka_unit_test(test_files_that_do_not_grow_in_step),
        cmocka_unit_test(test_what_is_the_same),
        cmocka_unit_test(test_several),
        cmocka_unit_test(test_a_stop_is_believed_at_the_second_look),
        cmocka_unit_test(test_a_doubtful_one_is_believed_at_the_second_look),
        cmocka_unit_test(test_what_is_known_is_not_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
