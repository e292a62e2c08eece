#include "analyse/warning.h"
#include "job/step_index.h"
#include "verdict/unexplained_steps.h"

#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is said of steps that were longer than usual. */

enum { STEPS = 12 };

/* Step 0 is the warm-up, the last one's length is not known, all others are of 1000 unless told. */
struct steps {
    int64_t ns[STEPS];
    struct finding finding;
    int has_finding;
    double irregular;
    char said[200];
};

static void steps_init(struct steps *steps)
{
    *steps = (struct steps){.finding = {.confidence = CONFIDENCE_LOW}};
    for (int i = 0; i < STEPS; i++)
        steps->ns[i] = i ? 1000 : 9000;
    steps->ns[STEPS - 1] = TIME_UNKNOWN;
}

/* Up to the colon after the lengths; "" where nothing is said. Six times the noise counts. */
static const char *said_of(struct steps *steps)
{
    struct error error = ERROR_INIT;
    struct table table;
    struct job job = {.run_id = 1, .step_count = STEPS};
    struct baseline baseline = {.first_step = 1,
                                .step_count = STEPS,
                                .step_ns = steps->ns,
                                .median_step_ns = 1000,
                                .regular = 1 - steps->irregular};
    struct findings findings = {.items = &steps->finding, .count = (size_t)steps->has_finding};
    table_init(&table, "diagnose");
    assert_int_equal(job_index_steps(&job, &error), 0);
    assert_int_equal(caution_unexplained(&job, &baseline, NULL, &findings, 6, &table, &error), 0);
    assert_true(table.warning_count <= 1);
    snprintf(steps->said, sizeof steps->said, "%s", table.warning_count ? table.warnings[0] : "");
    if (strstr(steps->said, " lasted"))
        *strstr(steps->said, " lasted") = '\0';
    table_release(&table);
    free(job.operations_of_step);
    free(job.by_step);
    free(job.step_end);
    return steps->said;
}

/* Two in a row count from a tenth of the median step, one alone from twice its length. */
static void how_long_they_have_to_be(void **state)
{
    struct steps steps;
    steps_init(&steps);
    assert_string_equal(said_of(&steps), "");
    steps.ns[5] = steps.ns[6] = 1100;
    assert_string_equal(said_of(&steps), "run 1: steps 5 to 6");
    steps.ns[6] = 1099;
    assert_string_equal(said_of(&steps), "");
    steps.ns[5] = 1999;
    assert_string_equal(said_of(&steps), "");
    steps.ns[5] = 2000;
    assert_string_equal(said_of(&steps), "run 1: step 5");
}

/*
 * Steps that differ by 50 from 1000: times 1.4826, in whole ones 74, six of which count. Twice the length
 * does whatever the noise.
 */
static void beyond_what_steps_differ_by(void **state)
{
    struct steps steps;
    steps_init(&steps);
    for (int i = 1; i < STEPS - 1; i++)
        steps.ns[i] = i % 2 ? 1050 : 950;
    steps.ns[5] = steps.ns[6] = 1000 + 6 * 74;
    assert_string_equal(said_of(&steps), "run 1: steps 5 to 6");
    steps.ns[6]--;
    assert_string_equal(said_of(&steps), "");
    for (int i = 1; i < STEPS - 1; i++)
        steps.ns[i] = i % 2 ? 1500 : 500;
    steps.ns[5] = 2000;
    assert_string_equal(said_of(&steps), "run 1: step 5");
}

/* The first after the warm-up may be part of it, and so may what follows it. */
static void what_begins_with_the_first(void **state)
{
    struct steps steps;
    steps_init(&steps);
    steps.ns[1] = steps.ns[2] = steps.ns[3] = 3000;
    assert_string_equal(said_of(&steps), "");
    steps.ns[1] = 1000;
    assert_string_equal(said_of(&steps), "run 1: steps 2 to 3");
}

/* By half of what they were longer, whatever the confidence. */
static void what_findings_explain(void **state)
{
    struct steps steps;
    steps_init(&steps);
    steps.ns[5] = steps.ns[6] = 1400;
    steps.has_finding = 1;
    steps.finding.first_step = 5;
    steps.finding.last_step = 6;
    steps.finding.lost_ns = 400;
    assert_string_equal(said_of(&steps), "");
    steps.finding.lost_ns = 398;
    assert_string_equal(said_of(&steps), "run 1: steps 5 to 6");
    /* What is left of a row is one step, and not twice as long. */
    steps.finding = (struct finding){.first_step = 5, .last_step = 5, .lost_ns = 400};
    assert_string_equal(said_of(&steps), "");
}

/* Of several rows the one that lost most; what is not known ends one. */
static void the_row_that_lost_most(void **state)
{
    struct steps steps;
    steps_init(&steps);
    steps.ns[2] = steps.ns[3] = 1300;
    steps.ns[6] = steps.ns[7] = steps.ns[8] = 1250;
    assert_string_equal(said_of(&steps), "run 1: steps 6 to 8");
    steps.ns[8] = 1000;
    assert_string_equal(said_of(&steps), "run 1: steps 2 to 3");
    steps.ns[8] = 1250;
    steps.ns[7] = TIME_UNKNOWN;
    assert_string_equal(said_of(&steps), "run 1: steps 2 to 3");
    steps.ns[10] = 2500;
    assert_string_equal(said_of(&steps), "run 1: step 10");
}

/* Steps most of which have another shape are nothing to hold one against; nor are none. */
static void where_nothing_is_usual(void **state)
{
    struct steps steps;
    steps_init(&steps);
    steps.ns[5] = 5000;
    steps.irregular = 0.4;
    assert_string_equal(said_of(&steps), "run 1: step 5");
    steps.irregular = 0.6;
    assert_string_equal(said_of(&steps), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(how_long_they_have_to_be),   cmocka_unit_test(beyond_what_steps_differ_by),
        cmocka_unit_test(what_begins_with_the_first), cmocka_unit_test(what_findings_explain),
        cmocka_unit_test(the_row_that_lost_most),     cmocka_unit_test(where_nothing_is_usual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
