#include "diagnose/diagnose.h"
#include "hang/hang.h"
#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"
#include "support/spoken.h"

#include <string.h>

enum { RANKS = 5, MOST = 16 };

/* Ranks 0 to 4: rank 0 waits in a call; nothing is recorded of the others. */
struct played {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_operation operations[RANKS];
    struct job_warning warnings[MOST];
    struct findings findings;
};

static char names[RANKS][2] = {"0", "1", "2", "3", "4"};

static void play(struct played *played)
{
    *played = (struct played){.job = {.rank_count = RANKS}};
    played->job.ranks = played->ranks;
    played->job.operations = played->operations;
    played->job.warnings = played->warnings;
    for (size_t i = 0; i < RANKS; i++) {
        played->ranks[i] = (struct job_rank){.name = names[i],
                                             .global_rank = (int64_t)i,
                                             .first = i,
                                             .count = i == 0,
                                             .process_id = i == 0 ? 1 : -1};
        played->operations[i] = (struct job_operation){.rank = (int)i, .unfinished = 1};
    }
}

static void report(struct played *played, int32_t by, enum warning_kind kind, int64_t accused)
{
    struct job_warning *warning = &played->warnings[played->job.warning_count];
    *warning = (struct job_warning){.id = 100 + (int64_t)played->job.warning_count++,
                                    .rank = by,
                                    .kind = kind,
                                    .status = accused,
                                    .text = "they say so",
                                    .count = 1};
}

static const struct finding *only(struct played *played)
{
    assert_int_equal(find_reported_absence(&played->job, &played->findings), 0);
    assert_int_equal(played->findings.count, 1);
    return &played->findings.items[0];
}

static void who_did_not_join(void **state)
{
    struct played played;
    play(&played);
    report(&played, 0, WARNING_NEVER_JOINED, 3);
    report(&played, 0, WARNING_UNFINISHED, 1);
    const struct finding *finding = only(&played);
    assert_int_equal(finding->kind, FINDING_MISSING);
    assert_int_equal(finding->rank, 3);
    assert_int_equal(finding->rank_count, 0);
    assert_false(finding->never_ended);
    assert_true(finding->stops_job);
    assert_int_equal(finding->warning, 100);
    assert_int_equal(finding->confidence, CONFIDENCE_MEDIUM);
    assert_speaks(&finding->rule_results, RULE_UNRECORDED);
    assert_quiet(&finding->rule_results, RULE_REPORTS_DIFFER);
    assert_int_equal(finding->peer_count, 1);
    assert_non_null(strstr(finding->evidence.data, "they say so"));
    findings_release(&played.findings);
}

/* Its own record, in which it waits in nothing, confirms it. */
static void who_left_a_record(void **state)
{
    struct played played;
    play(&played);
    played.ranks[3].count = 1;
    played.ranks[3].process_id = 3;
    played.operations[3].unfinished = 0;
    report(&played, 0, WARNING_NEVER_JOINED, 3);
    const struct finding *finding = only(&played);
    assert_quiet(&finding->rule_results, RULE_UNRECORDED);
    assert_int_equal(finding->confidence, CONFIDENCE_HIGH);
    findings_release(&played.findings);
}

static void several_are_one_finding(void **state)
{
    struct played played;
    play(&played);
    report(&played, 0, WARNING_NEVER_JOINED, 2);
    report(&played, 0, WARNING_NEVER_JOINED, 4);
    const struct finding *finding = only(&played);
    assert_int_equal(finding->rank_count, 2);
    assert_int_equal(finding->ranks[1], 4);
    findings_release(&played.findings);
}

static void who_did_not_finish(void **state)
{
    struct played played;
    play(&played);
    report(&played, 0, WARNING_UNFINISHED, 1);
    const struct finding *finding = only(&played);
    assert_int_equal(finding->rank, 1);
    assert_true(finding->never_ended);
    findings_release(&played.findings);
}

/* A rank that one report names and another does not is named with low confidence. */
static void reports_that_differ(void **state)
{
    struct played played;
    play(&played);
    report(&played, 0, WARNING_NEVER_JOINED, 3);
    report(&played, 1, WARNING_NEVER_JOINED, 3);
    report(&played, 1, WARNING_NEVER_JOINED, 4);
    const struct finding *finding = only(&played);
    assert_speaks(&finding->rule_results, RULE_REPORTS_DIFFER);
    assert_int_equal(finding->confidence, CONFIDENCE_LOW);
    findings_release(&played.findings);
}

/* Its own record shows that it joined, or the rank is not in the job. */
static void who_waits_as_well(void **state)
{
    struct played played;
    play(&played);
    played.ranks[3].count = 1;
    report(&played, 0, WARNING_NEVER_JOINED, 3);
    report(&played, 0, WARNING_NEVER_JOINED, 77);
    assert_int_equal(find_reported_absence(&played.job, &played.findings), 0);
    assert_int_equal(played.findings.count, 0);
}

/*
 * The reports are evidence if records accuse the rank, are ignored if records surely accuse another one, and
 * replace candidates.
 */
static void what_records_say(void **state)
{
    struct played played;
    play(&played);
    report(&played, 0, WARNING_NEVER_JOINED, 3);
    struct finding *finding = findings_add(&played.findings);
    finding->kind = FINDING_MISSING;
    finding->rank = 3;
    finding->stops_job = 1;
    finding->confidence = CONFIDENCE_HIGH;
    assert_int_equal(only(&played)->warning, 100);
    played.findings.items[0].rank = 2;
    played.findings.items[0].warning = 0;
    assert_int_equal(only(&played)->rank, 2);
    assert_int_equal(played.findings.items[0].warning, 0);
    played.findings.items[0].confidence = CONFIDENCE_LOW;
    assert_int_equal(finding_add_candidate(&played.findings.items[0], 2), 0);
    assert_int_equal(finding_add_candidate(&played.findings.items[0], 3), 0);
    assert_int_equal(only(&played)->rank, 3);
    assert_int_equal(played.findings.items[0].candidate_count, 0);
    findings_release(&played.findings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_did_not_join),        cmocka_unit_test(who_left_a_record),
        cmocka_unit_test(several_are_one_finding), cmocka_unit_test(who_did_not_finish),
        cmocka_unit_test(reports_that_differ),     cmocka_unit_test(who_waits_as_well),
        cmocka_unit_test(what_records_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
