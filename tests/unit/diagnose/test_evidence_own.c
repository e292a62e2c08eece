#include "diagnose/diagnose.h"
#include "diagnose/suspect.h"
#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"
#include "support/small_job.h"
#include "support/written.h"

/*
 * The evidence on rank 1 and the second operation of a step, which took longer by the given time than on the
 * other ranks (100 us) in steps 1 to 3; it is suspected in steps 1 to `last`. TIME_UNKNOWN: its own time is
 * unknown.
 */
static void check(const int64_t *beyond_us, int32_t last, enum finding_kind kind, const char *expected)
{
    struct small small;
    int32_t cells[2 * RANKS * STEPS], *of_role = cells, ranks[RANKS] = {0, 1, 2}, roles[RANKS] = {0};
    struct role role = {.ranks = ranks, .rank_count = RANKS, .length = 2};
    const struct baseline baseline = {.positions = small.positions,
                                      .excess = *written_excess(small.excess),
                                      .roles = &role,
                                      .role_count = 1,
                                      .rank_count = RANKS,
                                      .role_of_rank = roles,
                                      .rank_in_role = ranks,
                                      .cells = &of_role,
                                      .first_step = 1,
                                      .step_count = STEPS};
    struct suspect suspect = {.kind = kind, .rank = 1, .first_step = 1, .last_step = last};
    struct findings findings = {0};
    struct finding *finding = findings_add(&findings);
    assert_non_null(finding);
    small_init(&small);
    small.world.label = (char[]){"0-2"};
    small.ranks[1].name = (char[]){"1"};
    for (int rank = 0; rank < RANKS; rank++)
        for (int step = 0; step < STEPS; step++)
            for (int position = 0; position < 2; position++) {
                struct job_operation *operation = at(&small, rank, step, position);
                int64_t beyond = rank == 1 && position && step ? beyond_us[step - 1] : 0;
                cells[(position * RANKS + rank) * STEPS + step] = (int32_t)(operation - small.operations);
                operation->own_ns = beyond == TIME_UNKNOWN ? TIME_UNKNOWN : 100000 + beyond * 1000;
                excess_with(&small, operation)->excess_ns = beyond == TIME_UNKNOWN ? 7000
                                                            : beyond > 0           ? beyond * 1000
                                                                                   : 0;
            }
    assert_int_equal(evidence_of_own(&suspect, &small.job, &baseline, 1, finding), 0);
    assert_string_equal(finding->evidence.data ? finding->evidence.data : "", expected);
    findings_release(&findings);
    small_release(&small);
}

/* The median of its steps, and of the others'. */
static void medians(void **state)
{
    check((const int64_t[]){30, 20, 5}, 2, FINDING_COMPUTE,
          "The gap before operation 2 of the step (AllReduce, ranks 0-2) is 120 us; peers 100 us, rank 1 in "
          "other "
          "steps 105 us. The kernel was already queued, so the GPU was busy and the host was not late");
    check((const int64_t[]){30, 20, 10}, 3, FINDING_HOST,
          "The gap before operation 2 of the step (AllReduce, ranks 0-2) is 120 us; peers 100 us. The host "
          "enqueued "
          "it late");
}

/*
 * The median is no longer than that of its peers, or than its own in other steps: the longest is shown
 * instead.
 */
static void where_it_was_latest(void **state)
{
    check((const int64_t[]){-10, 40, 0}, 3, FINDING_HOST,
          "The gap before operation 2 of step 2 (AllReduce, ranks 0-2) is 140 us; peers 100 us, rank 1 in "
          "other "
          "steps 90.0 us. The host enqueued it late");
    check((const int64_t[]){20, 60, 30}, 2, FINDING_HOST,
          "The gap before operation 2 of step 2 (AllReduce, ranks 0-2) is 160 us; peers 100 us, rank 1 in "
          "other "
          "steps 120 us. The host enqueued it late");
}

/* Only the wait of its partners is known; or it was not late there at all. */
static void what_is_not_known(void **state)
{
    check((const int64_t[]){TIME_UNKNOWN, TIME_UNKNOWN, TIME_UNKNOWN}, 3, FINDING_COMPUTE,
          "In operation 2 of the step (AllReduce, ranks 0-2), step 1, the other ranks waited for rank 1 7.00 "
          "us "
          "longer than the baseline. The gap time of rank 1 before it is unknown");
    /* The place at which it was latest, with the median of the others there. */
    check((const int64_t[]){TIME_UNKNOWN, -5, 0}, 3, FINDING_COMPUTE,
          "In operation 2 of the step (AllReduce, ranks 0-2), step 1, the other ranks waited for rank 1 7.00 "
          "us "
          "longer than the baseline. The gap time of rank 1 before it is unknown");
    check((const int64_t[]){0, 0, 0}, 3, FINDING_COMPUTE, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medians),
        cmocka_unit_test(where_it_was_latest),
        cmocka_unit_test(what_is_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
