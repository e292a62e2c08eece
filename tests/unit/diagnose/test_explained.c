#include "base/base.h"
#include "diagnose/diagnose.h"

#include "support/cmocka_all.h"
#include "support/slow_ranks.h"
#include "support/spoken.h"

#include <stdlib.h>

/* From explanations to findings, and the values that rules measure. */

/* The value of a rule that compares certainty with odds of 20 or 200 to 1, or requires a slow clock. */
static struct rule_results of(enum rule_id rule, double reading)
{
    struct rule_results rule_results = {0};
    rule_results_add(&rule_results, FINDING_COMPUTE, rule, reading);
    return rule_results;
}

static void odds(void **state)
{
    struct rule_results less = of(RULE_CERTAINTY, 2.99), twenty = of(RULE_CERTAINTY, 3);
    struct rule_results almost = of(RULE_CERTAINTY_SURE, 5.29), sure = of(RULE_CERTAINTY_SURE, 5.3);
    assert_speaks(&less, RULE_CERTAINTY);
    assert_quiet(&twenty, RULE_CERTAINTY);
    assert_speaks(&almost, RULE_CERTAINTY_SURE);
    assert_quiet(&sure, RULE_CERTAINTY_SURE);
    assert_int_equal(allowed_confidence(&less), CONFIDENCE_LOW);
    assert_int_equal(allowed_confidence(&almost), CONFIDENCE_MEDIUM);
}

static void design(void **state)
{
    struct rule_results less = of(RULE_BY_DESIGN, 0.49), half = of(RULE_BY_DESIGN, 0.5);
    assert_speaks(&less, RULE_BY_DESIGN);
    assert_quiet(&half, RULE_BY_DESIGN);
    assert_int_equal(allowed_confidence(&less), CONFIDENCE_LOW);
}

/*
 * What the recorder of the job leaves out; and the end of a tree, whose leaf is rank 5; or how the clock of
 * the upper half of the ranks differs, and in the last case, who waited in the first operation of a step.
 */
enum leaves_out {
    NOTHING,
    PAIRS,
    A_FILE,
    A_PROCESS,
    CALLS,
    ENDS,
    ENDS_AND_CLOCKS,
    UNFINISHED,
    UNFINISHED_AND_END_OF_LEAF,
    UNFINISHED_AND_CLOCKS,
    UNFINISHED_CLOCKS_AND_WAITS
};

/* The kernel of the leaf stops before the others, by this much. */
enum { EARLIER_NS = 900 };

static void end_early(struct slow_job *played, int rank)
{
    for (int number = 0; number < INSTANCES; number++) {
        struct job_operation *operation = &played->operations[rank * INSTANCES + number];
        operation->end_ns -= EARLIER_NS;
        operation->enqueued_ns -= EARLIER_NS;
        operation->own_ns += number ? EARLIER_NS : 0;
    }
}

static void put_on_two_clocks(struct slow_job *played, int is_wait_told)
{
    for (int rank = RANKS / 2; rank < RANKS; rank++) {
        played->ranks[rank].clock = 1;
        played->ranks[rank].clock_uncertainty_ns = 9000;
    }
    for (int number = 0; !is_wait_told && number < INSTANCES; number += EACH) {
        played->instances[number].function = FUNCTION_BROADCAST;
        for (int rank = 0; rank < RANKS; rank++)
            played->operations[rank * INSTANCES + number].function = FUNCTION_BROADCAST;
    }
}

/* What steps take: as long as their operations, all as long as the slow ones, or by turns up to 4000 more. */
enum lengths { AS_THEY_ARE, EQUAL, UNEVEN };

static void take_of(struct slow_job *played, const struct slow_ranks *slow, enum lengths lengths,
                    enum leaves_out leaves_out, struct findings *findings)
{
    struct error error = ERROR_INIT;
    int64_t cost_ns[STEPS + 1] = {0};
    const struct diagnose_options options = {.min_gain = 0.03, .sigmas = 6};
    struct replay replay;
    slow_job_init(played, slow);
    played->job.blind_to_pairs = leaves_out == PAIRS;
    played->job.finished_only = leaves_out >= UNFINISHED;
    played->ranks[2].may_lack_file = leaves_out == A_FILE;
    played->ranks[2].is_part = leaves_out == A_PROCESS;
    for (size_t i = 0; leaves_out == CALLS && i < played->job.operation_count; i++)
        played->operations[i].enqueued_ns = TIME_UNKNOWN;
    int is_estimated = leaves_out == ENDS || leaves_out == ENDS_AND_CLOCKS;
    for (size_t i = 0; is_estimated && i < played->job.operation_count; i++)
        played->operations[i].ends = ENDS_ESTIMATED;
    for (int32_t i = 0; is_estimated && i < (int32_t)played->job.rank_count; i++) {
        played->ranks[i].clock = i;
        played->ranks[i].clock_uncertainty_ns = 9000;
        played->ranks[i].clock_doubt_ns = leaves_out == ENDS_AND_CLOCKS ? 1500 : 500;
    }
    if (leaves_out == UNFINISHED_AND_END_OF_LEAF)
        end_early(played, 5);
    if (leaves_out >= UNFINISHED_AND_CLOCKS)
        put_on_two_clocks(played, leaves_out == UNFINISHED_AND_CLOCKS);
    for (int32_t step = 0; lengths != AS_THEY_ARE && step + 1 < STEPS; step++)
        played->baseline.step_ns[step] =
            FIRST_NS + SECOND_NS + 2 * LASTS_NS + 2000 + (lengths == UNEVEN ? step % 3 * 2000 : 0);
    assert_int_equal(replay_init(&replay, &played->job, &played->baseline.excess, played->transfers, &error),
                     0);
    assert_int_equal(findings_take_explanations(findings, cost_ns, &played->job, &played->baseline,
                                                &played->edges, played->transfers, &replay, &options, &error),
                     0);
    replay_release(&replay);
}

static void take(struct slow_job *played, const struct slow_ranks *slow, struct findings *findings)
{
    take_of(played, slow, AS_THEY_ARE, NOTHING, findings);
}

/* However certain: a rank whose steps were not longer cost nothing. */
static void its_steps_have_to_be_longer(void **state)
{
    for (int longer = 0; longer < 2; longer++) {
        struct slow_ranks slow = {.is_hosts = 0};
        struct slow_job played;
        struct findings findings = {0};
        slow_ranks_add(&slow, 2, 1, 9, 13, 1, 2000);
        take_of(&played, &slow, longer ? AS_THEY_ARE : EQUAL, NOTHING, &findings);
        assert_int_equal(findings.count, 1);
        assert_int_equal(findings.items[0].confidence, longer ? CONFIDENCE_HIGH : CONFIDENCE_LOW);
        if (longer)
            assert_quiet(&findings.items[0].rule_results, RULE_NOT_IN_STEPS);
        else
            assert_speaks(&findings.items[0].rule_results, RULE_NOT_IN_STEPS);
        findings_release(&findings);
        slow_job_release(&played);
    }
}

/*
 * Steps that vary may hide what a rank cost. Where no times of calls are recorded, the others may have been
 * as late while they waited for it: then they have to show it.
 */
static void steps_have_to_show_what_calls_do_not(void **state)
{
    for (int calls = 0; calls < 2; calls++) {
        struct slow_ranks slow = {.is_hosts = 0};
        struct slow_job played;
        struct findings findings = {0};
        slow_ranks_add(&slow, 2, 1, 9, 11, 1, 2000);
        take_of(&played, &slow, UNEVEN, calls ? NOTHING : CALLS, &findings);
        assert_int_equal(findings.count, 1);
        if (calls)
            assert_quiet(&findings.items[0].rule_results, RULE_NOT_IN_STEPS);
        else
            assert_speaks(&findings.items[0].rule_results, RULE_NOT_IN_STEPS);
        findings_release(&findings);
        slow_job_release(&played);
    }
}

static void a_block_is_one_finding(void **state)
{
    struct slow_ranks slow = {.is_hosts = 0};
    struct slow_job played;
    struct findings findings = {0};
    slow_ranks_add(&slow, 4, 4, 9, 13, 1, 1500);
    take(&played, &slow, &findings);
    assert_int_equal(findings.count, 1);
    assert_int_equal(findings.items[0].kind, FINDING_COMPUTE);
    assert_int_equal(findings.items[0].rank, 4);
    assert_int_equal(findings.items[0].rank_count, 4);
    assert_int_equal(findings.items[0].confidence, CONFIDENCE_HIGH);
    assert_quiet(&findings.items[0].rule_results, RULE_CERTAINTY_SURE);
    findings_release(&findings);
    slow_job_release(&played);
}

/* At one place of the step only, but the last of eight ranks of its role there, in every step. */
static void no_design_makes_one_rank_the_last(void **state)
{
    struct slow_ranks slow = {.is_hosts = 0};
    struct slow_job played;
    struct findings findings = {0};
    for (int step = 0; step < STEPS; step++)
        slow.second_ns[5][step] = 1600;
    take(&played, &slow, &findings);
    assert_int_equal(findings.count, 1);
    assert_int_equal(findings.items[0].rank, 5);
    assert_int_equal(findings.items[0].confidence, CONFIDENCE_HIGH);
    assert_false(findings.items[0].rule_results.asked[RULE_BY_DESIGN]);
    findings_release(&findings);
    slow_job_release(&played);
}

/*
 * Rank 2 is slow, in some steps or in all: what the record lacks limits the confidence, whatever the
 * certainty. Clocks that may be off by more than the 2000 that rank 2 is slow may make ends that are
 * estimated too early.
 */
static void what_the_record_lacks(void **state)
{
    static const struct {
        enum leaves_out leaves_out;
        enum rule_id rule;
        enum confidence most;
        int last;
    } cases[] = {{A_FILE, RULE_LOST_RECORDS, CONFIDENCE_LOW, 13},
                 {A_PROCESS, RULE_SHARED_PROCESS, CONFIDENCE_LOW, 13},
                 {CALLS, RULE_ESTIMATED, CONFIDENCE_MEDIUM, 13},
                 {ENDS, RULE_ESTIMATED, CONFIDENCE_MEDIUM, 13},
                 {ENDS, RULE_ESTIMATED, CONFIDENCE_MEDIUM, STEPS - 1},
                 {ENDS_AND_CLOCKS, RULE_EARLY_ENDS, CONFIDENCE_LOW, 13},
                 {ENDS_AND_CLOCKS, RULE_EARLY_ENDS, CONFIDENCE_LOW, STEPS - 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int lacks = 0; lacks < 2; lacks++) {
            struct slow_ranks slow = {.is_hosts = 0};
            struct slow_job played;
            struct findings findings = {0};
            slow_ranks_add(&slow, 2, 1, cases[i].last < STEPS - 1 ? 9 : 0, cases[i].last, 1, 2000);
            take_of(&played, &slow, AS_THEY_ARE, lacks ? cases[i].leaves_out : NOTHING, &findings);
            assert_int_equal(findings.count, 1);
            assert_int_equal(rule_results_fail(&findings.items[0].rule_results, cases[i].rule), lacks);
            assert_int_equal(findings.items[0].confidence, lacks ? cases[i].most : CONFIDENCE_HIGH);
            findings_release(&findings);
            slow_job_release(&played);
        }
}

static void limits_of_the_record(void **state)
{
    struct rule_results one = of(RULE_SHARED_PROCESS, 1), none = of(RULE_SHARED_PROCESS, 0);
    struct rule_results more = of(RULE_LOST_RECORDS, 0.51), half = of(RULE_LOST_RECORDS, 0.5);
    struct rule_results all = of(RULE_EARLY_ENDS, 0.51), fewer = of(RULE_EARLY_ENDS, 0.5);
    struct rule_results no_calls = of(RULE_ESTIMATED, 1), calls = of(RULE_ESTIMATED, 0);
    assert_speaks(&no_calls, RULE_ESTIMATED);
    assert_quiet(&calls, RULE_ESTIMATED);
    assert_speaks(&one, RULE_SHARED_PROCESS);
    assert_quiet(&none, RULE_SHARED_PROCESS);
    assert_speaks(&more, RULE_LOST_RECORDS);
    assert_quiet(&half, RULE_LOST_RECORDS);
    assert_speaks(&all, RULE_EARLY_ENDS);
    assert_quiet(&fewer, RULE_EARLY_ENDS);
    struct rule_results receive = of(RULE_HIDDEN_WAIT, 0.51), rest = of(RULE_HIDDEN_WAIT, 0.5);
    assert_speaks(&receive, RULE_HIDDEN_WAIT);
    assert_quiet(&rest, RULE_HIDDEN_WAIT);
    assert_limit(LIMIT_HIDDEN_PAIR, 3);
    assert_limit(LIMIT_RANKS_OF_ROLE, 3);
    assert_limit(LIMIT_AHEAD_MANY, 5);
}

/* One rank is far later than all others in a step here and there. */
static void single_steps(void **state)
{
    struct slow_ranks slow = {.is_hosts = 1};
    struct slow_job played;
    struct findings findings = {0};
    slow_ranks_add(&slow, 2, 1, 5, 5, 1, 4000);
    slow_ranks_add(&slow, 2, 1, 16, 17, 1, 4000);
    take(&played, &slow, &findings);
    assert_int_equal(findings.count, 1);
    assert_int_equal(findings.items[0].rank, 2);
    assert_int_equal(findings.items[0].kind, FINDING_HOST);
    assert_int_equal(findings.items[0].confidence, CONFIDENCE_HIGH);
    assert_int_equal(findings.items[0].step_count, 3);
    assert_true(finding_has_step(&findings.items[0], 16));
    assert_false(finding_has_step(&findings.items[0], 6));
    findings_release(&findings);
    slow_job_release(&played);
}

/* In the steps of a greater fault, what another rank shows may be an effect. */
static void single_steps_of_a_fault(void **state)
{
    struct slow_ranks slow = {.is_hosts = 1};
    struct slow_job played;
    struct findings findings = {0};
    slow_ranks_add(&slow, 2, 1, 10, 16, 1, 8000);
    slow_ranks_add(&slow, 5, 1, 12, 12, 1, 4000);
    take(&played, &slow, &findings);
    assert_int_equal(findings.count, 1);
    assert_int_equal(findings.items[0].rank, 2);
    findings_release(&findings);
    slow_job_release(&played);
}

/*
 * Where sends and receives are not recorded, four ranks that vary together may have waited for one of them.
 * Those that vary separately have not.
 */
static void several_that_vary_together(void **state)
{
    for (int together = 0; together < 2; together++) {
        struct slow_ranks slow = {.is_hosts = 0};
        struct slow_job played;
        struct findings findings = {0};
        slow_ranks_add(&slow, 4, 4, 9, 13, 1, 1500);
        for (int step = 9; together && step <= 13; step++)
            slow_ranks_add(&slow, 4, 4, step, step, 1, 100 * (step % 3));
        take_of(&played, &slow, AS_THEY_ARE, PAIRS, &findings);
        assert_int_equal(findings.count, 1);
        assert_int_equal(findings.items[0].rank_count, 4);
        if (together)
            assert_speaks(&findings.items[0].rule_results, RULE_HIDDEN_WAIT);
        else
            assert_quiet(&findings.items[0].rule_results, RULE_HIDDEN_WAIT);
        assert_int_equal(findings.items[0].confidence, together ? CONFIDENCE_LOW : CONFIDENCE_HIGH);
        findings_release(&findings);
        slow_job_release(&played);
    }
}

/* A trace of finished operations only tells as much, unless the rank seems late because it ended early. */
static void finished_operations_only(void **state)
{
    for (int is_leaf = 0; is_leaf < 2; is_leaf++) {
        struct slow_ranks slow = {.is_hosts = 0};
        struct slow_job played;
        struct findings findings = {0};
        if (!is_leaf)
            slow_ranks_add(&slow, 5, 1, 0, STEPS - 1, 1, EARLIER_NS);
        take_of(&played, &slow, AS_THEY_ARE, is_leaf ? UNFINISHED_AND_END_OF_LEAF : UNFINISHED, &findings);
        assert_int_equal(findings.count, 1);
        assert_int_equal(findings.items[0].rank, 5);
        assert_int_equal(findings.items[0].confidence, is_leaf ? CONFIDENCE_LOW : CONFIDENCE_HIGH);
        if (is_leaf)
            assert_speaks(&findings.items[0].rule_results, RULE_EARLY_ENDS);
        else
            assert_quiet(&findings.items[0].rule_results, RULE_EARLY_ENDS);
        findings_release(&findings);
        slow_job_release(&played);
    }
}

/*
 * Rank 5 is late, and the clocks do not show whether ranks of the other host had arrived when it left the
 * AllReduce before. That they waited for it in the next operation shows it.
 */
static void clocks_that_do_not_show_who_left_first(void **state)
{
    for (int is_hidden = 0; is_hidden < 2; is_hidden++) {
        struct slow_ranks slow = {.is_hosts = 0};
        struct slow_job played;
        struct findings findings = {0};
        slow_ranks_add(&slow, 5, 1, 9, 13, 1, 3 * LASTS_NS);
        take_of(&played, &slow, AS_THEY_ARE, is_hidden ? UNFINISHED_CLOCKS_AND_WAITS : UNFINISHED_AND_CLOCKS,
                &findings);
        assert_int_equal(findings.count, 1);
        assert_int_equal(findings.items[0].rank, 5);
        assert_int_equal(findings.items[0].confidence, is_hidden ? CONFIDENCE_LOW : CONFIDENCE_HIGH);
        if (is_hidden)
            assert_speaks(&findings.items[0].rule_results, RULE_EARLY_ENDS);
        else
            assert_quiet(&findings.items[0].rule_results, RULE_EARLY_ENDS);
        findings_release(&findings);
        slow_job_release(&played);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(odds),
                                       cmocka_unit_test(design),
                                       cmocka_unit_test(a_block_is_one_finding),
                                       cmocka_unit_test(its_steps_have_to_be_longer),
                                       cmocka_unit_test(steps_have_to_show_what_calls_do_not),
                                       cmocka_unit_test(no_design_makes_one_rank_the_last),
                                       cmocka_unit_test(what_the_record_lacks),
                                       cmocka_unit_test(limits_of_the_record),
                                       cmocka_unit_test(single_steps),
                                       cmocka_unit_test(single_steps_of_a_fault),
                                       cmocka_unit_test(several_that_vary_together),
                                       cmocka_unit_test(finished_operations_only),
                                       cmocka_unit_test(clocks_that_do_not_show_who_left_first)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
