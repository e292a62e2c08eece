#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "support/spoken.h"

#include "support/cmocka_all.h"

#include <stdlib.h>

/* Of medium confidence. */
static int explains(struct finding finding, int32_t step, int64_t longer_ns)
{
    finding.confidence = CONFIDENCE_MEDIUM;
    const struct findings findings = {.items = &finding, .count = 1};
    return findings_explain(&findings, step, longer_ns);
}

/* Steps 4 to 6 at 100 each: half of 200, and nothing in the steps before or after. */
static void half_of_what_a_step_was_longer(void **state)
{
    const struct finding finding = {.kind = FINDING_COMPUTE, .first_step = 4, .last_step = 6, .lost_ns = 300};
    for (int32_t step = 3; step <= 7; step++)
        assert_int_equal(explains(finding, step, 200), step >= 4 && step <= 6);
    assert_true(explains(finding, 5, 201));
    assert_false(explains(finding, 5, 202));
}

/* The parts that two findings explain of a step add up; a hang explains any duration. */
static void all_that_is_said(void **state)
{
    struct finding both[] = {{.kind = FINDING_HOST, .first_step = 4, .last_step = 4, .lost_ns = 60},
                             {.kind = FINDING_NETWORK, .first_step = 3, .last_step = 4, .lost_ns = 80}};
    const struct findings findings = {.items = both, .count = 2};
    assert_false(findings_explain(&findings, 4, 200)); /* findings of low confidence explain nothing */
    both[0].confidence = both[1].confidence = CONFIDENCE_MEDIUM;
    assert_true(findings_explain(&findings, 4, 200));
    assert_false(findings_explain(&findings, 3, 200));
    assert_true(
        explains((struct finding){.kind = FINDING_MISMATCH, .first_step = 4, .last_step = 4, .stops_job = 1},
                 4, 1000));
    assert_false(
        explains((struct finding){.kind = FINDING_MISMATCH, .first_step = 4, .last_step = 4, .stops_job = 1},
                 5, 1000));
    /* All ranks got past it. */
    assert_false(
        explains((struct finding){.kind = FINDING_MISMATCH, .first_step = 4, .last_step = 4}, 4, 1000));
}

/* A single step shows in the next and not in itself; of several, the first may show a part. */
static void what_shows_later(void **state)
{
    struct finding finding = {
        .kind = FINDING_NETWORK, .first_step = 4, .last_step = 4, .lost_ns = 100, .shows_later = 1};
    for (int32_t step = 3; step <= 6; step++)
        assert_int_equal(explains(finding, step, 200), step == 5);
    finding.last_step = 5;
    finding.lost_ns = 200;
    for (int32_t step = 3; step <= 7; step++)
        assert_int_equal(explains(finding, step, 200), step >= 4 && step <= 6);
}

/*
 * A violated rule lowers the confidence of a finding, and never raises it; a rule that is off is not applied.
 */
static void what_rules_leave_of_it(void **state)
{
    struct findings findings = {0};
    struct finding *finding = findings_add(&findings);
    assert_non_null(finding);
    finding->confidence = CONFIDENCE_HIGH;
    assert_int_equal(finding_ask(&findings, finding, RULE_WORTH, 1), 0);
    assert_int_equal(finding->confidence, CONFIDENCE_HIGH);
    assert_int_equal(finding_ask(&findings, finding, RULE_GAPS, 1), 1);
    assert_int_equal(finding->confidence, CONFIDENCE_MEDIUM);
    findings.off.has[RULE_WORTH] = 1;
    assert_int_equal(finding_ask(&findings, finding, RULE_WORTH, 0.6), 0);
    assert_int_equal(finding->confidence, CONFIDENCE_MEDIUM);
    findings.off.has[RULE_WORTH] = 0;
    assert_int_equal(finding_ask(&findings, finding, RULE_WORTH, 0.6), 1);
    assert_int_equal(finding_ask(&findings, finding, RULE_GAPS, 1), 1);
    assert_int_equal(finding->confidence, CONFIDENCE_LOW);
    findings_release(&findings);
}

/* The findings on the stop belong together with the others. */
static void others_come_behind(void **state)
{
    struct findings findings = {.three_steps_ns = 2}, others = {.is_snapshot = 1};
    others.unexplained_hang.is_known = 1;
    others.unexplained_hang.instance = 9;
    for (int32_t i = 0; i < 2; i++) {
        findings_add(&findings)->rank = i;
        findings_add(&others)->rank = 10 + i;
    }
    assert_int_equal(finding_add_peer(&others.items[1], 4), 0);
    assert_int_equal(findings_append(&findings, &others), 0);
    assert_int_equal(others.count, 0);
    findings_release(&others);
    assert_int_equal(findings.count, 4);
    static const int32_t ranks[] = {0, 1, 10, 11};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(findings.items[i].rank, ranks[i]);
    assert_int_equal(findings.items[3].peers[0], 4);
    assert_true(findings.is_snapshot && findings.unexplained_hang.is_known && findings.three_steps_ns == 2);
    assert_int_equal(findings.unexplained_hang.instance, 9);
    findings_release(&findings);
}

/* A candidate for the fault of step 4, for which ranks wait. */
static void add_candidate(struct findings *findings, int32_t rank, const int32_t *peers, size_t count)
{
    struct finding *finding = findings_add(findings);
    assert_non_null(finding);
    finding->kind = FINDING_MISSING;
    finding->rank = rank;
    finding->first_step = finding->last_step = 4;
    assert_int_equal(finding_add_candidate(finding, rank), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(finding_add_peer(finding, peers[i]), 0);
}

/* Candidates that are united as they come give the same result as all at the end. */
static void candidates_become_one(void **state)
{
    static const int32_t waiting[] = {8, 6, 7, 6, 3};
    for (int as_they_come = 0; as_they_come < 2; as_they_come++) {
        struct findings findings = {.count = 0};
        struct finding *sure = findings_add(&findings);
        size_t into = 0;
        assert_non_null(sure);
        sure->kind = FINDING_MISSING;
        sure->first_step = 4;
        for (int32_t rank = 2; rank < 5; rank++) {
            add_candidate(&findings, rank, waiting, sizeof waiting / sizeof *waiting);
            if (as_they_come)
                assert_int_equal(findings_unite_last(&findings, 0, &into), 0);
            assert_int_equal(findings.count, as_they_come ? 2 : rank);
        }
        assert_int_equal(findings_unite_candidates(&findings, 0), 0);
        assert_int_equal(findings.count, 2);
        const struct finding *one = &findings.items[1];
        assert_int_equal(one->rank, 2);
        assert_int_equal(one->candidate_count, 3);
        /* Rank 3 is a candidate, and therefore no peer. */
        assert_int_equal(one->peer_count, 3);
        for (int32_t i = 0; i < 3; i++)
            assert_int_equal(one->peers[i], 6 + i);
        findings_release(&findings);
    }
}

/* Missing data, and how many steps are alike. */
static struct rule_results recorded(const struct job *job, double regular)
{
    const struct baseline baseline = {.regular = regular};
    struct findings findings = {0};
    struct finding finding = {.kind = FINDING_NETWORK};
    finding_ask_record(&findings, &finding, job, &baseline);
    return finding.rule_results;
}

static void what_the_record_lacks(void **state)
{
    struct rule_results sound = recorded(&(struct job){.operation_count = 100, .missing_sequence = 2}, 0.5),
                        lines = recorded(&(struct job){.operation_count = 100, .damaged_lines = 3}, 1),
                        events = recorded(&(struct job){.operation_count = 100, .lost_events = 3}, 0.49),
                        gaps = recorded(&(struct job){.operation_count = 100, .missing_sequence = 3}, 1);
    (void)state;
    assert_quiet(&sound, RULE_IRREGULAR);
    assert_speaks(&events, RULE_IRREGULAR);
    assert_quiet(&sound, RULE_GAPS);
    assert_speaks(&lines, RULE_GAPS);
    assert_speaks(&events, RULE_GAPS);
    assert_speaks(&gaps, RULE_GAPS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(half_of_what_a_step_was_longer),
                                       cmocka_unit_test(all_that_is_said),
                                       cmocka_unit_test(what_shows_later),
                                       cmocka_unit_test(what_the_record_lacks),
                                       cmocka_unit_test(what_rules_leave_of_it),
                                       cmocka_unit_test(others_come_behind),
                                       cmocka_unit_test(candidates_become_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
