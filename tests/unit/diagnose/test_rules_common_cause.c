#include "diagnose/diagnose.h"
#include "job/job.h"

#include "support/cmocka_all.h"
#include "support/spoken.h"

#include <stdlib.h>
#include <string.h>

/*
 * A job of up to six ranks and ten steps. Each text is a finding: its rank, first and last step, and its
 * confidence (l, m, h). The result is the text of their confidences.
 */
enum { RANKS = 6, STEPS = 10 };

/* The rule results of the first. */
static struct rule_results first_read;

static void assert_believed(size_t recorded, const char *const *texts, const char *expected,
                            struct common_slowdown *common_slowdown)
{
    struct job_rank ranks[RANKS] = {{0}};
    struct job job = {.ranks = ranks, .rank_count = RANKS, .step_count = STEPS};
    struct findings findings = {0};
    char found[16] = "";
    for (size_t i = 0; i < recorded; i++)
        ranks[i].count = 1;
    for (; *texts; texts++) {
        const char *text = *texts;
        struct finding *finding = findings_add(&findings);
        assert_non_null(finding);
        finding->rank = text[0] - '0';
        finding->first_step = text[1] - '0';
        finding->last_step = text[2] - '0';
        finding->confidence = text[3] == 'h'   ? CONFIDENCE_HIGH
                              : text[3] == 'm' ? CONFIDENCE_MEDIUM
                                               : CONFIDENCE_LOW;
    }
    assert_int_equal(findings_check_common_slowdown(&findings, &job), 0);
    for (size_t i = 0; i < findings.count; i++)
        found[i] = "lmh"[findings.items[i].confidence];
    assert_string_equal(found, expected);
    *common_slowdown = findings.common_slowdown;
    first_read = findings.items[0].rule_results;
    findings_release(&findings);
}

static void more_than_half_of_the_ranks(void **state)
{
    struct common_slowdown common_slowdown;
    assert_believed(6, (const char *const[]){"025h", "125m", "225h", "325h", NULL}, "llll", &common_slowdown);
    assert_int_equal(common_slowdown.ranks, 4);
    assert_int_equal(common_slowdown.findings, 4);
    assert_int_equal(common_slowdown.first_step, 2);
    assert_int_equal(common_slowdown.last_step, 5);
    assert_believed(6, (const char *const[]){"034h", "125m", "225h", "325h", "425h", NULL}, "lllll",
                    &common_slowdown);
    assert_int_equal(common_slowdown.ranks, 5);
    assert_int_equal(common_slowdown.first_step, 2);
    assert_int_equal(common_slowdown.last_step, 5);
    assert_believed(6, (const char *const[]){"025h", "125m", "225h", NULL}, "hmh", &common_slowdown);
    assert_int_equal(common_slowdown.findings, 0);
    /* Of the ranks with a trace. */
    assert_believed(5, (const char *const[]){"025h", "125m", "225h", NULL}, "lll", &common_slowdown);
}

/* Each of two may have its own fault. */
static void two_ranks(void **state)
{
    assert_limit(LIMIT_CROWD, 3);
    struct common_slowdown common_slowdown;
    assert_believed(2, (const char *const[]){"025h", "125m", NULL}, "hm", &common_slowdown);
    assert_believed(3, (const char *const[]){"025h", "125m", NULL}, "hm", &common_slowdown);
    assert_believed(3, (const char *const[]){"025h", "125m", "225m", NULL}, "lll", &common_slowdown);
}

/* A finding depends on most of its steps. */
static void most_of_its_steps(void **state)
{
    struct common_slowdown common_slowdown;
    assert_believed(4, (const char *const[]){"015h", "123m", "223h", NULL}, "hll", &common_slowdown);
    assert_believed(4, (const char *const[]){"014h", "123m", "223h", NULL}, "hll", &common_slowdown);
    assert_quiet(&first_read, RULE_CROWD);
    assert_believed(4, (const char *const[]){"013h", "123m", "223h", NULL}, "lll", &common_slowdown);
    assert_speaks(&first_read, RULE_CROWD);
    assert_int_equal(common_slowdown.ranks, 3);
    assert_int_equal(common_slowdown.first_step, 2);
    assert_int_equal(common_slowdown.last_step, 3);
}

/* A rank with two findings counts once, and findings that are not believed do not count. */
static void who_counts(void **state)
{
    struct common_slowdown common_slowdown;
    assert_believed(4, (const char *const[]){"025h", "125h", "025m", "125m", NULL}, "hhmm", &common_slowdown);
    assert_believed(4, (const char *const[]){"025h", "125h", "025m", NULL}, "hhm", &common_slowdown);
    assert_believed(4, (const char *const[]){"025h", "125h", "225l", NULL}, "hhl", &common_slowdown);
}

/* For networks: rank, first and last step, their total slowness, and the confidence. */
struct slow {
    int32_t rank, first_step, last_step;
    int64_t slow_ns;
    enum confidence confidence;
};

/* The confidence of the first. */
static enum confidence believed_of(enum finding_kind first, const struct slow *slow, size_t count,
                                   enum finding_kind others, struct common_slowdown *common_slowdown)
{
    const struct job job = {.step_count = STEPS};
    struct findings findings = {0};
    for (size_t i = 0; i < count; i++) {
        struct finding *finding = findings_add(&findings);
        assert_non_null(finding);
        finding->kind = i ? others : first;
        finding->rank = slow[i].rank;
        finding->first_step = slow[i].first_step;
        finding->last_step = slow[i].last_step;
        finding->slow_ns = slow[i].slow_ns;
        finding->confidence = slow[i].confidence;
    }
    assert_int_equal(findings_check_shared(&findings, &job), 0);
    enum confidence confidence = findings.items[0].confidence;
    for (size_t i = 1; i < count; i++)
        assert_int_equal(findings.items[i].confidence, slow[i].confidence);
    *common_slowdown = findings.common_slowdown;
    first_read = findings.items[0].rule_results;
    findings_release(&findings);
    return confidence;
}

static enum confidence believed(const struct slow *slow, size_t count, enum finding_kind others,
                                struct common_slowdown *common_slowdown)
{
    return believed_of(FINDING_NETWORK, slow, count, others, common_slowdown);
}

/*
 * A third or more, of at least two others that were slow at the same time, counted in common steps; those of
 * believed networks do not count.
 */
static void networks_that_were_slow_at_once(void **state)
{
    struct slow slow[] = {
        {0, 2, 5, 300, CONFIDENCE_HIGH}, {1, 3, 5, 60, CONFIDENCE_LOW}, {2, 3, 6, 56, CONFIDENCE_LOW}};
    struct common_slowdown common_slowdown;
    assert_int_equal(believed(slow, 3, FINDING_NETWORK, &common_slowdown), CONFIDENCE_LOW);
    assert_int_equal(common_slowdown.findings, 1);
    assert_int_equal(common_slowdown.ranks, 3);
    assert_int_equal(common_slowdown.first_step, 3);
    assert_int_equal(common_slowdown.last_step, 5);
    assert_int_equal(believed(slow, 3, FINDING_COMPUTE, &common_slowdown), CONFIDENCE_HIGH);
    assert_int_equal(believed_of(FINDING_COMPUTE, slow, 3, FINDING_NETWORK, &common_slowdown),
                     CONFIDENCE_HIGH);
    assert_int_equal(common_slowdown.findings, 0);
    slow[2].slow_ns = 52;
    assert_int_equal(believed(slow, 3, FINDING_NETWORK, &common_slowdown), CONFIDENCE_HIGH);
    slow[2].slow_ns = 400;
    slow[2].confidence = CONFIDENCE_MEDIUM;
    assert_int_equal(believed(slow, 3, FINDING_NETWORK, &common_slowdown), CONFIDENCE_HIGH);
}

/*
 * With one other, or two one after the other, each may have its own fault; a moment proves nothing about
 * several steps.
 */
static void networks_that_were_slow_alone(void **state)
{
    struct slow slow[] = {
        {0, 2, 5, 300, CONFIDENCE_HIGH}, {1, 2, 3, 900, CONFIDENCE_LOW}, {2, 4, 5, 900, CONFIDENCE_LOW}};
    struct common_slowdown common_slowdown;
    assert_int_equal(believed(slow, 2, FINDING_NETWORK, &common_slowdown), CONFIDENCE_HIGH);
    assert_int_equal(believed(slow, 3, FINDING_NETWORK, &common_slowdown), CONFIDENCE_HIGH);
    slow[2].first_step = slow[2].last_step = 3;
    assert_int_equal(believed(slow, 3, FINDING_NETWORK, &common_slowdown), CONFIDENCE_HIGH);
    assert_limit(LIMIT_SHARED_STEPS, 2);
    /* Both in one of its steps, then in two. */
    slow[0].last_step = 3;
    assert_int_equal(believed(slow, 3, FINDING_NETWORK, &common_slowdown), CONFIDENCE_HIGH);
    slow[2].first_step = 2;
    assert_int_equal(believed(slow, 3, FINDING_NETWORK, &common_slowdown), CONFIDENCE_LOW);
}

/*
 * Two others were slow in both of its first steps, by almost nothing, and one by far more in one step: with
 * three or more steps that is a moment, with two it is half.
 */
static void a_moment_of_another_network(void **state)
{
    struct slow slow[] = {{0, 2, 4, 300, CONFIDENCE_HIGH},
                          {1, 2, 3, 10, CONFIDENCE_LOW},
                          {2, 2, 3, 10, CONFIDENCE_LOW},
                          {3, 3, 3, 900, CONFIDENCE_LOW}};
    struct common_slowdown common_slowdown;
    assert_int_equal(believed(slow, 4, FINDING_NETWORK, &common_slowdown), CONFIDENCE_HIGH);
    /* What goes on after its last step is one of its, too. */
    slow[3] = (struct slow){3, 4, 9, 5400, CONFIDENCE_LOW};
    assert_int_equal(believed(slow, 4, FINDING_NETWORK, &common_slowdown), CONFIDENCE_HIGH);
    slow[3].first_step = 3;
    assert_int_equal(believed(slow, 4, FINDING_NETWORK, &common_slowdown), CONFIDENCE_LOW);
    slow[3] = (struct slow){3, 3, 3, 900, CONFIDENCE_LOW};
    slow[0].last_step = 3;
    assert_int_equal(believed(slow, 4, FINDING_NETWORK, &common_slowdown), CONFIDENCE_LOW);
}

/* Exactly a third is enough; for a single step, two others in that step. */
static void networks_that_were_slow_by_a_third(void **state)
{
    struct slow slow[] = {
        {0, 4, 4, 300, CONFIDENCE_HIGH}, {1, 4, 4, 50, CONFIDENCE_LOW}, {2, 4, 4, 50, CONFIDENCE_LOW}};
    struct common_slowdown common_slowdown;
    assert_int_equal(believed(slow, 3, FINDING_NETWORK, &common_slowdown), CONFIDENCE_LOW);
    assert_speaks(&first_read, RULE_SHARED_NETWORK);
    assert_int_equal(common_slowdown.first_step, 4);
    assert_int_equal(common_slowdown.last_step, 4);
    slow[2].slow_ns = 49;
    assert_int_equal(believed(slow, 3, FINDING_NETWORK, &common_slowdown), CONFIDENCE_HIGH);
    assert_quiet(&first_read, RULE_SHARED_NETWORK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(more_than_half_of_the_ranks),
                                       cmocka_unit_test(networks_that_were_slow_at_once),
                                       cmocka_unit_test(networks_that_were_slow_alone),
                                       cmocka_unit_test(a_moment_of_another_network),
                                       cmocka_unit_test(networks_that_were_slow_by_a_third),
                                       cmocka_unit_test(two_ranks),
                                       cmocka_unit_test(most_of_its_steps),
                                       cmocka_unit_test(who_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
