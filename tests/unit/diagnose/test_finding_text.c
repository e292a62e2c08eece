#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"

#include "support/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

/* The text for the steps of a finding, in a run of which steps 0-9, 20-29, 31-39 and 90-99 are loaded. */

static char name[] = "3";

static void check(int32_t first_step, int32_t last_step, const char *expected)
{
    static const struct job_excerpt some[] = {{0, 10, 0}, {20, 30, 0}, {31, 40, 0}, {90, 100, 0}};
    struct job_rank *ranks = calloc(1, sizeof *ranks);
    struct job_excerpt *excerpts = malloc(sizeof some);
    assert_non_null(ranks);
    assert_non_null(excerpts);
    ranks->name = strdup(name);
    memcpy(excerpts, some, sizeof some);
    struct job job = {.ranks = ranks, .rank_count = 1, .step_count = 100};
    assert_int_equal(job_set_excerpts(&job, excerpts, sizeof some / sizeof *some), 0);
    const struct finding finding = {.kind = FINDING_HOST,
                                    .tag = -1,
                                    .instance = -1,
                                    .first_step = job_loaded_step(&job, first_step),
                                    .last_step = job_loaded_step(&job, last_step)};
    struct buffer text = BUFFER_INIT;
    assert_int_equal(finding_append(&finding, &job, &text), 0);
    const char *said = strstr(text.data, ", step");
    assert_non_null(said);
    assert_string_equal(said, expected);
    buffer_release(&text);
    job_release(&job);
}

/* A finding without peers is not said to be slower than these. */
static void what_it_is_compared_with(void **state)
{
    for (int has_no_peers = 0; has_no_peers < 2; has_no_peers++) {
        struct job_rank rank = {.name = name, .facts = {.gpu = COUNT_UNKNOWN}};
        const struct job job = {.ranks = &rank, .rank_count = 1, .step_count = 100};
        const struct finding finding = {.kind = FINDING_COMPUTE,
                                        .tag = -1,
                                        .instance = -1,
                                        .first_step = 3,
                                        .last_step = 5,
                                        .has_no_peers = has_no_peers};
        struct buffer text = BUFFER_INIT;
        assert_int_equal(finding_append(&finding, &job, &text), 0);
        assert_string_equal(text.data, has_no_peers
                                           ? "GPU of rank 3 computes longer than in other steps, steps 3-5"
                                           : "GPU of rank 3 computes longer than its peers, steps 3-5");
        buffer_release(&text);
    }
}

static void inside_of_what_is_loaded(void **state)
{
    (void)state;
    check(22, 25, ", steps 22-25");
    check(92, 92, ", step 92");
    check(90 + 1, 99, ", steps 91-99");
}

static void over_steps_that_are_not(void **state)
{
    (void)state;
    check(5, 22, ", steps 5-22 (8 of them analyzed)");
    check(25, 95, ", steps 25-95 (20 of them analyzed)");
}

/* It may have begun or continued in these. */
static void beside_steps_that_are_not(void **state)
{
    (void)state;
    check(20, 25, ", steps 20-25 (steps 10-19 before were not loaded)");
    check(31, 31, ", step 31 (step 30 before was not loaded)");
    check(35, 39, ", steps 35-39 (steps 40-89 after were not loaded)");
    check(5, 29, ", steps 5-29 (15 of them analyzed; step 30 after was not loaded)");
    check(20, 39,
          ", steps 20-39 (19 of them analyzed; steps 10-19 before were not loaded; steps 40-89 after "
          "were "
          "not loaded)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inside_of_what_is_loaded),
        cmocka_unit_test(what_it_is_compared_with),
        cmocka_unit_test(over_steps_that_are_not),
        cmocka_unit_test(beside_steps_that_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
