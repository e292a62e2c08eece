#include "diagnose/diagnose.h"
#include "hang/hang.h"
#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"
#include "support/spoken.h"

#include <string.h>

enum { RANKS = 4, MOST = 16, CALLS = 100 };

/* Ranks 0 to 3, and their warnings. */
struct played {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_warning warnings[MOST];
    struct findings findings;
};

static char names[RANKS][2] = {"0", "1", "2", "3"};

static void play(struct played *played)
{
    *played = (struct played){.job = {.rank_count = RANKS}};
    played->job.ranks = played->ranks;
    played->job.warnings = played->warnings;
    for (size_t i = 0; i < RANKS; i++)
        played->ranks[i] = (struct job_rank){.name = names[i], .global_rank = (int64_t)i, .count = CALLS};
}

static struct job_warning *warn(struct played *played, int32_t rank, enum warning_kind kind, const char *text)
{
    struct job_warning *warning = &played->warnings[played->job.warning_count];
    *warning = (struct job_warning){.id = 1000 + (int64_t)played->job.warning_count++,
                                    .rank = rank,
                                    .kind = kind,
                                    .status = COUNT_UNKNOWN,
                                    .text = text,
                                    .count = 1,
                                    .calls = CALLS,
                                    .first_ns = TIME_UNKNOWN,
                                    .last_ns = TIME_UNKNOWN};
    return warning;
}

static const struct finding *found(struct played *played)
{
    assert_int_equal(find_reported_errors(&played->job, &played->findings), 0);
    return played->findings.count ? &played->findings.items[played->findings.count - 1] : NULL;
}

static void one_rank_whose_error_the_others_feel(void **state)
{
    struct played played;
    play(&played);
    warn(&played, 0, WARNING_CLOSED, "closed");
    warn(&played, 1, WARNING_ABORTED, "aborted");
    warn(&played, 2, WARNING_CUDA, "Cuda failure 700 'an illegal memory access'");
    warn(&played, 2, WARNING_CLOSED, "closed");
    const struct finding *finding = found(&played);
    assert_non_null(finding);
    assert_int_equal(finding->kind, FINDING_ERROR);
    assert_int_equal(finding->rank, 2);
    assert_int_equal(finding->candidate_count, 0);
    assert_int_equal(finding->warning, 1002);
    assert_string_equal(finding->error, "a CUDA error");
    assert_true(finding->stops_job);
    assert_int_equal(finding->confidence, CONFIDENCE_HIGH);
    assert_quiet(&finding->rule_results, RULE_SEVERAL);
    assert_quiet(&finding->rule_results, RULE_NO_ECHO);
    assert_quiet(&finding->rule_results, RULE_MERE_SETTING);
    assert_non_null(strstr(finding->evidence.data, "Cuda failure 700 'an illegal memory access'"));
    assert_non_null(strstr(finding->evidence.data, "2 other ranks"));
    findings_release(&played.findings);
}

static void an_error_that_no_other_rank_felt(void **state)
{
    struct played played;
    play(&played);
    warn(&played, 3, WARNING_INTERNAL, "Proxy append out of bounds");
    const struct finding *finding = found(&played);
    assert_non_null(finding);
    assert_int_equal(finding->rank, 3);
    assert_speaks(&finding->rule_results, RULE_NO_ECHO);
    assert_int_equal(finding->confidence, CONFIDENCE_MEDIUM);
    findings_release(&played.findings);
}

static void several_ranks_with_errors_are_candidates(void **state)
{
    struct played played;
    play(&played);
    warn(&played, 1, WARNING_CUDA, "one");
    warn(&played, 3, WARNING_MEMORY, "other");
    warn(&played, 0, WARNING_CLOSED, "closed");
    const struct finding *finding = found(&played);
    assert_non_null(finding);
    assert_int_equal(finding->candidate_count, 2);
    assert_int_equal(finding->candidates[1], 3);
    assert_speaks(&finding->rule_results, RULE_SEVERAL);
    assert_int_equal(finding->confidence, CONFIDENCE_LOW);
    findings_release(&played.findings);
}

/* On one host, whose clock decides; an error in the next second may have occurred at the same time. */
static void the_first_of_several_on_one_host(void **state)
{
    static char host[] = "node0", other[] = "node1";
    struct played played;
    assert_limit(LIMIT_ERRORS_APART, 2);
    play(&played);
    warn(&played, 1, WARNING_CUDA, "later")->first_ns = 12 * INT64_C(1000000000);
    warn(&played, 3, WARNING_MEMORY, "first")->first_ns = 10 * INT64_C(1000000000);
    played.ranks[1].facts.host = played.ranks[3].facts.host = host;
    const struct finding *finding = found(&played);
    assert_non_null(finding);
    assert_int_equal(finding->rank, 3);
    assert_int_equal(finding->candidate_count, 0);
    assert_non_null(strstr(finding->evidence.data, "1 other rank on its host reported such errors later"));
    findings_release(&played.findings);
    played.warnings[0].first_ns = 11 * INT64_C(1000000000);
    assert_int_equal(found(&played)->candidate_count, 2);
    findings_release(&played.findings);
    played.warnings[0].first_ns = 12 * INT64_C(1000000000);
    played.ranks[1].facts.host = other;
    assert_int_equal(found(&played)->candidate_count, 2);
    findings_release(&played.findings);
}

/* A card that cannot be opened does not end a job that has a CUDA error. */
static void what_weighs_less_is_not_told_beside_it(void **state)
{
    struct played played;
    play(&played);
    warn(&played, 1, WARNING_NO_CARD, "Failed to open card");
    warn(&played, 2, WARNING_CUDA, "Cuda failure");
    assert_int_equal(found(&played)->rank, 2);
    assert_int_equal(played.findings.count, 1);
    findings_release(&played.findings);
    play(&played);
    warn(&played, 1, WARNING_NO_CARD, "Failed to open card");
    const struct finding *finding = found(&played);
    assert_int_equal(finding->rank, 1);
    assert_false(finding->stops_job);
    assert_speaks(&finding->rule_results, RULE_MERE_SETTING);
    assert_int_equal(finding->confidence, CONFIDENCE_LOW);
    findings_release(&played.findings);
}

/*
 * Errors that need not end a job are not reported if the rank that ended it is known, and do not change
 * candidates.
 */
static void settings_beside_a_rank_that_is_missing(void **state)
{
    struct played played;
    play(&played);
    warn(&played, 1, WARNING_NO_CARD, "Unable to open device");
    struct finding *missing = findings_add(&played.findings);
    assert_non_null(missing);
    missing->kind = FINDING_MISSING;
    missing->rank = 0;
    missing->stops_job = 1;
    assert_int_equal(finding_add_candidate(missing, 0) || finding_add_candidate(missing, 1), 0);
    assert_non_null(found(&played));
    assert_int_equal(played.findings.count, 2);
    findings_remove(&played.findings, 1);
    played.findings.items[0].confidence = CONFIDENCE_MEDIUM;
    assert_non_null(found(&played));
    assert_int_equal(played.findings.count, 1);
    findings_release(&played.findings);
}

/* A rank that uses another network than most; none if no network is used by most ranks. */
static void a_rank_with_another_network(void **state)
{
    struct played played;
    play(&played);
    for (int32_t i = 0; i < RANKS; i++)
        warn(&played, i, WARNING_NETWORK, i == 3 ? "Using network Socket" : "Using network IB");
    const struct finding *finding = found(&played);
    assert_non_null(finding);
    assert_int_equal(finding->rank, 3);
    assert_int_equal(finding->confidence, CONFIDENCE_LOW);
    assert_non_null(
        strstr(finding->evidence.data, "\"Using network Socket\"; most ranks logged \"Using network IB\""));
    findings_release(&played.findings);
    played.warnings[0].text = "Using network Socket";
    assert_null(found(&played));
    for (int32_t i = 0; i < RANKS; i++)
        played.warnings[i].text = "Using network IB";
    assert_null(found(&played));
}

/* Two ranks differ, and one logs it: unless the error of another one came long before on the same host. */
static void whom_an_invalid_use_names(void **state)
{
    struct played played;
    play(&played);
    struct job_warning *warning = warn(&played, 3, WARNING_USAGE, "Mismatched NCCL version detected");
    warning->status = 1;
    warning->first_ns = 100 * (int64_t)1000000000;
    const struct finding *finding = found(&played);
    assert_non_null(finding);
    assert_int_equal(finding->candidate_count, 2);
    assert_int_equal(finding->candidates[0], 1);
    assert_int_equal(finding->candidates[1], 3);
    findings_release(&played.findings);
    static char host[] = "h";
    for (size_t i = 0; i < RANKS; i++)
        played.ranks[i].facts.host = host;
    played.job.warning_count = 0;
    struct job_warning later = *warning;
    warn(&played, 0, WARNING_CUDA, "Cuda failure 700")->first_ns = 1;
    played.warnings[played.job.warning_count++] = later;
    finding = found(&played);
    assert_non_null(finding);
    assert_int_equal(finding->rank, 0);
    assert_int_equal(finding->candidate_count, 0);
    assert_non_null(strstr(finding->evidence.data, "1 other rank on its host"));
    findings_release(&played.findings);
}

/* For each card of each rank separately, in any order of the log. */
static void ports_that_went_more_often_than_they_came_back(void **state)
{
    struct played played;
    play(&played);
    warn(&played, 1, WARNING_CARD_BACK, "mlx5_3:1 port active")->nic = "mlx5_3";
    warn(&played, 1, WARNING_CARD, "mlx5_0:1 port error")->nic = "mlx5_0";
    warn(&played, 1, WARNING_CARD, "mlx5_3:1 port error")->nic = "mlx5_3";
    warn(&played, 1, WARNING_CARD_BACK, "mlx5_0:1 port active")->nic = "mlx5_0";
    warn(&played, 3, WARNING_CARD, "mlx5_0:1 port error")->nic = "mlx5_0";
    warn(&played, 3, WARNING_CARD_BACK, "mlx5_0:1 port active")->nic = "mlx5_0";
    warn(&played, 3, WARNING_CARD, "mlx5_0:1 port error")->nic = "mlx5_0";
    const struct finding *finding = found(&played);
    assert_non_null(finding);
    assert_int_equal(finding->rank, 3);
    assert_int_equal(finding->candidate_count, 0);
    findings_release(&played.findings);
    played.warnings[5].count = 2;
    assert_null(found(&played));
}

/* A port that did not come back; that of another card did. */
static void a_port_that_went(void **state)
{
    struct played played;
    play(&played);
    warn(&played, 2, WARNING_CARD, "mlx5_0:1 port error")->nic = "mlx5_0";
    warn(&played, 2, WARNING_CARD_BACK, "mlx5_1:1 port active")->nic = "mlx5_1";
    const struct finding *finding = found(&played);
    assert_non_null(finding);
    assert_int_equal(finding->rank, 2);
    assert_speaks(&finding->rule_results, RULE_MERE_SETTING);
    findings_release(&played.findings);
    played.warnings[1].nic = "mlx5_0";
    assert_null(found(&played));
    /* Failures because of it are reported with it. */
    played.warnings[1].nic = "mlx5_1";
    struct finding *broken = findings_add(&played.findings);
    assert_non_null(broken);
    broken->kind = FINDING_NETWORK;
    broken->broke = 1;
    assert_int_equal(found(&played)->kind, FINDING_NETWORK);
    assert_int_equal(played.findings.count, 1);
    findings_release(&played.findings);
}

/* A job that got past its first calls has its connections, and a job that continues has no fatal setting. */
static void settings_matter_at_the_start(void **state)
{
    struct played played;
    assert_limit(LIMIT_FIRST_CALLS, 16);
    play(&played);
    warn(&played, 1, WARNING_MISMATCH, "Rank 1 has 1 local Net devices (max 2).")->calls = 0;
    played.ranks[1].count = 16;
    assert_non_null(found(&played));
    findings_release(&played.findings);
    played.ranks[1].count = 17;
    assert_null(found(&played));
    played.warnings[0].calls = COUNT_UNKNOWN;
    assert_null(found(&played));
}

static void effects_and_what_healthy_jobs_print_accuse_nobody(void **state)
{
    struct played played;
    play(&played);
    warn(&played, 1, WARNING_CLOSED, "closed");
    warn(&played, 2, WARNING_ABORTED, "aborted");
    warn(&played, 3, WARNING_OTHER, NULL);
    assert_null(found(&played));
}

static void a_job_that_went_on_was_not_ended_by_it(void **state)
{
    struct played played;
    play(&played);
    warn(&played, 1, WARNING_CUDA, "Cuda failure");
    played.ranks[1].count = CALLS + 1025;
    assert_null(found(&played));
    played.ranks[1].count = CALLS + 1024;
    assert_non_null(found(&played));
    /* A log without calls does not show when it was. */
    findings_release(&played.findings);
    played.ranks[1].count = CALLS + 1025;
    played.warnings[0].calls = COUNT_UNKNOWN;
    assert_non_null(found(&played));
    findings_release(&played.findings);
}

/* If that rank is already known to be missing, its log gives the reason. */
static void what_a_missing_rank_reports_is_evidence(void **state)
{
    struct played played;
    play(&played);
    warn(&played, 2, WARNING_CUDA, "Cuda failure 719");
    struct finding *missing = findings_add(&played.findings);
    assert_non_null(missing);
    missing->kind = FINDING_MISSING;
    missing->rank = 2;
    missing->stops_job = 1;
    const struct finding *finding = found(&played);
    assert_int_equal(played.findings.count, 1);
    assert_int_equal(finding->kind, FINDING_MISSING);
    assert_int_equal(finding->warning, 1000);
    assert_non_null(strstr(finding->evidence.data, "Cuda failure 719"));
    findings_release(&played.findings);
}

static void who_reports_an_error_is_no_longer_one_of_several(void **state)
{
    struct played played;
    play(&played);
    warn(&played, 2, WARNING_CUDA, "Cuda failure 719");
    struct finding *missing = findings_add(&played.findings);
    assert_non_null(missing);
    missing->kind = FINDING_MISSING;
    missing->rank = 1;
    missing->stops_job = 1;
    assert_int_equal(finding_add_candidate(missing, 1) || finding_add_candidate(missing, 2), 0);
    const struct finding *finding = found(&played);
    assert_int_equal(played.findings.count, 1);
    assert_int_equal(finding->kind, FINDING_ERROR);
    assert_int_equal(finding->rank, 2);
    findings_release(&played.findings);
}

/*
 * A rank that uses a different network is a finding, but no failure; that a port is back, and RAS requests,
 * are neither.
 */
static void which_kinds_are_failures(void **state)
{
    static const enum warning_kind none[] = {WARNING_OTHER,     WARNING_SILENT,  WARNING_DEAD,
                                             WARNING_CARD_BACK, WARNING_NETWORK, WARNING_KINDS};
    static const enum warning_kind some[] = {WARNING_COMPLETION, WARNING_CLOSED, WARNING_NO_CARD,
                                             WARNING_CUDA,       WARNING_ENDED,  WARNING_GOT_OVER};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(reported_is_failure(none[i]));
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        assert_true(reported_is_failure(some[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank_whose_error_the_others_feel),
        cmocka_unit_test(an_error_that_no_other_rank_felt),
        cmocka_unit_test(several_ranks_with_errors_are_candidates),
        cmocka_unit_test(the_first_of_several_on_one_host),
        cmocka_unit_test(what_weighs_less_is_not_told_beside_it),
        cmocka_unit_test(settings_beside_a_rank_that_is_missing),
        cmocka_unit_test(a_rank_with_another_network),
        cmocka_unit_test(a_port_that_went),
        cmocka_unit_test(whom_an_invalid_use_names),
        cmocka_unit_test(ports_that_went_more_often_than_they_came_back),
        cmocka_unit_test(settings_matter_at_the_start),
        cmocka_unit_test(effects_and_what_healthy_jobs_print_accuse_nobody),
        cmocka_unit_test(a_job_that_went_on_was_not_ended_by_it),
        cmocka_unit_test(what_a_missing_rank_reports_is_evidence),
        cmocka_unit_test(who_reports_an_error_is_no_longer_one_of_several),
        cmocka_unit_test(which_kinds_are_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
